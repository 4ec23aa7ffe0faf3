import { spawn } from 'node:child_process';

/** A program and its inputs. */
export interface ProgramRun {
  /** Program path; looked up in PATH if it has no slash. */
  readonly command: string;
  readonly args: readonly string[];
  /** Complete environment of the program. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Input of the program. If absent, the program has no input. */
  readonly stdin?: string;
  /** Length of stdout, in UTF-16 units, above which the program is killed. */
  readonly maxStdoutLength: number;
}

/** Output and exit code of a program. */
export interface ProgramResult {
  /** Exit code of the program; 128 if a signal ended the program. */
  readonly exitCode: number;
  readonly stdout: string;
  /** The last 8192 UTF-16 units of stderr. */
  readonly stderr: string;
}

const STDERR_LENGTH = 8192;

/**
 * Runs a program until it exits. Kills the program if it prints too much or `signal` is aborted.
 * @throws if the program cannot be started (`ENOENT` if it does not exist) or prints too much
 * @throws the signal's reason
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
      // The program's own children may keep the pipes open and go on printing; that output must not be buffered.
      for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
      reject(reason);
    };
    const onAbort = (): void => fail(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    child.on('error', fail);
    // Node creates no pipes if no file descriptor is left for them.
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.length > maxStdoutLength)
        fail(new Error(`the program printed more than ${maxStdoutLength} characters`));
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_LENGTH);
    });
    // The program need not read its input; only its output and exit code matter.
    child.stdin?.on('error', () => {});
    child.stdin?.end(stdin);
    child.on('close', (code) => {
      signal?.removeEventListener('abort', onAbort);
      // A program killed by a signal has no exit code; a shell would report 128 or more.
      resolve({ exitCode: code ?? 128, stdout, stderr });
    });
  });
}
