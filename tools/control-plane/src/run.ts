import { spawn } from 'node:child_process';

/** How a program is run. */
export interface RunOptions {
  readonly cwd?: string;
  /** Beside this process's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it reads. */
  readonly input?: string;
}

/** How a program ended. */
export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, whatever that is. @throws where it cannot be started */
export function attempt(file: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { cwd, env, input = '' } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], cwd, env: { ...process.env, ...env } });
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
    // It need not read what it is given.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** Runs a program that has to succeed; resolves with what it printed. @throws Error with what it said */
export async function run(file: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const ended = await attempt(file, args, options);
  if (ended.exitCode === 0) return ended.stdout;
  throw new Error(`${file} ${args.join(' ')} ended with ${ended.exitCode}: ${ended.stderr || ended.stdout}`);
}
