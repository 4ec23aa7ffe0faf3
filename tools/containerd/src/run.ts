import { spawn } from 'node:child_process';

/** How a program ended. */
export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, whatever that is. @throws where it cannot be started */
export function attempt(file: string, args: readonly string[], options: { cwd?: string } = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
}

/** Runs a program that has to succeed; resolves with what it printed. @throws Error with what it said */
export async function run(file: string, args: readonly string[], options: { cwd?: string } = {}): Promise<string> {
  const ended = await attempt(file, args, options);
  if (ended.exitCode === 0) return ended.stdout;
  throw new Error(`${file} ${args.join(' ')} ended with ${ended.exitCode}: ${ended.stderr || ended.stdout}`);
}

/** Does one thing after another, whether or not those before have succeeded. @throws the first failure, when all are done */
export async function eachOf(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
