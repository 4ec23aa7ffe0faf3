import type { ExecRunner } from './exec-credentials.ts';

/** Above this much on stdout a program is killed: credentials are small. */
const STDOUT_LIMIT_CHARS = 1 << 20;

/** Runs programs as child processes, with no input. What they print on stderr is kept for the error, should there be one. */
export const nodeExec: ExecRunner = async (command, args, environment, signal) => {
  const { spawn } = await import('node:child_process');
  signal?.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    const fail = (reason: unknown): void => {
      signal?.removeEventListener('abort', onAbort);
      child.kill('SIGKILL');
      reject(reason);
    };
    const onAbort = (): void => fail(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    let stdout = '';
    let stderr = '';
    child.on('error', fail);
    // Node makes no pipes where there is no file descriptor left for them.
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.length > STDOUT_LIMIT_CHARS) fail(new Error(`it printed more than ${STDOUT_LIMIT_CHARS} characters`));
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-8192);
    });
    child.on('close', (code) => {
      signal?.removeEventListener('abort', onAbort);
      // A signal's death has no exit code; a shell would say 128 and more.
      resolve({ exitCode: code ?? 128, stdout, stderr });
    });
  });
};
