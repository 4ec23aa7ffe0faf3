import { spawn } from 'node:child_process';

/** Options for running a program. */
export interface RunOptions {
  readonly cwd?: string;
  /** Variables in addition to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input. */
  readonly input?: string;
}

/** Exit code and output of a program that has ended. */
export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end and returns its result. @throws Error if the program cannot be started */
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
    // A program may exit before it has read its whole input; the error of the write is ignored.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/**
 * Runs a program that must succeed. @returns its standard output
 * @throws Error with its output if it fails
 */
export async function run(file: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const ended = await attempt(file, args, options);
  if (ended.exitCode === 0) return ended.stdout;
  throw new Error(`run ${file} ${args.join(' ')}: exit code ${ended.exitCode}: ${ended.stderr || ended.stdout}`);
}
