import { spawn } from 'node:child_process';

/** A program, and what it is started with. */
export interface ProgramRun {
  /** Looked up in PATH where it has no slash. */
  readonly command: string;
  readonly args: readonly string[];
  /** All of its environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What it may read; it has no input where absent. */
  readonly stdin?: string;
  /** Above this much on stdout it is killed, in UTF-16 units. */
  readonly maxStdoutLength: number;
}

/** What a program has printed, and how it ended. */
export interface ProgramResult {
  /** 128 where a signal ended it. */
  readonly exitCode: number;
  readonly stdout: string;
  /** The last 8192 UTF-16 units of it. */
  readonly stderr: string;
}

const STDERR_LENGTH = 8192;

/**
 * Runs a program to its end, or kills it: where it prints too much, or `signal` is aborted.
 * @throws where it cannot be started, `ENOENT` where it is not there; where it prints too much; the signal's reason
 */
export async function runProgram(
  { command, args, environment, stdin, maxStdoutLength }: ProgramRun,
  signal?: AbortSignal,
): Promise<ProgramResult> {
  signal?.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const input = stdin === undefined ? 'ignore' : 'pipe';
    const child = spawn(command, args, { env: { ...environment }, stdio: [input, 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    const fail = (reason: unknown): void => {
      signal?.removeEventListener('abort', onAbort);
      child.kill('SIGKILL');
      // What it has started itself may go on printing, which nobody is to hold.
      for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
      reject(reason);
    };
    const onAbort = (): void => fail(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    child.on('error', fail);
    // Node makes no pipes where there is no file descriptor left for them.
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.length > maxStdoutLength) fail(new Error(`it printed more than ${maxStdoutLength} characters`));
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_LENGTH);
    });
    // It need not read what it is given: what it prints, and how it ends, counts.
    child.stdin?.on('error', () => {});
    child.stdin?.end(stdin);
    child.on('close', (code) => {
      signal?.removeEventListener('abort', onAbort);
      // A signal's death has no exit code; a shell would say 128 and more.
      resolve({ exitCode: code ?? 128, stdout, stderr });
    });
  });
}
