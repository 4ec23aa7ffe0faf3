import { type SpawnOptions, spawn } from 'node:child_process';

/** Runs a program to its end; its output goes nowhere, its errors into ours. @throws Error where it fails */
export async function run(file: string, args: readonly string[], options: SpawnOptions = {}): Promise<void> {
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`${file} ${args[0] ?? ''} ended with ${code}: ${said}`);
}

/** A shell script that ends at its first failure. */
export async function shell(script: string, environment: Readonly<Record<string, string>>): Promise<void> {
  await run('bash', ['-euo', 'pipefail', '-c', script], { env: { ...process.env, ...environment } });
}
