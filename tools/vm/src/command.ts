import { type SpawnOptions, spawn } from 'node:child_process';

/** Runs a program to its end and discards its output. @throws Error with its error output if it fails */
export async function run(file: string, args: readonly string[], options: SpawnOptions = {}): Promise<void> {
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`run ${file} ${args[0] ?? ''}: exit code ${code}: ${errors}`);
}

/** Runs a shell script that stops at the first failing command. */
export async function shell(script: string, environment: Readonly<Record<string, string>>): Promise<void> {
  await run('bash', ['-euo', 'pipefail', '-c', script], { env: { ...process.env, ...environment } });
}
