import { spawn } from 'node:child_process';

/** Result of a program. */
export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end and returns its result. @throws Error if the program cannot be started */
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

/**
 * Runs a program that must succeed. @returns its standard output
 * @throws Error with its output if it fails
 */
export async function run(file: string, args: readonly string[], options: { cwd?: string } = {}): Promise<string> {
  const ended = await attempt(file, args, options);
  if (ended.exitCode === 0) return ended.stdout;
  throw new Error(`run ${file} ${args.join(' ')}: exit code ${ended.exitCode}: ${ended.stderr || ended.stdout}`);
}

/** Runs steps one after another, even if earlier ones fail. @throws the first failure after all steps */
export async function eachOf(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
