import { spawn } from 'node:child_process';

/** Message of a detached command to the command that started it. */
export type DetachedMessage = { readonly line: string } | { readonly ready: true };

/**
 * Starts the same command as a background process and waits until its cluster is ready.
 * @param program file of the command
 * @returns the exit code: 0 if the cluster is ready, else that of the background process
 */
export function startDetached(program: string, args: readonly string[], say: (line: string) => void): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, program, ...args], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  return new Promise((resolve) => {
    child.on('message', (message: DetachedMessage) => {
      if ('line' in message) {
        say(message.line);
        return;
      }
      child.disconnect();
      child.unref();
      resolve(0);
    });
    child.on('error', () => resolve(1));
    child.on('exit', (code) => resolve(code ?? 1));
  });
}
