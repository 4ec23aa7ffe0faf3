import { spawn } from 'node:child_process';
import { ownCommand } from './own-commands.ts';

/** Message of a detached command to the command that started it. */
export type DetachedMessage = { readonly line: string } | { readonly ready: true };

/**
 * Starts the same command as a background process and waits until its cluster is ready.
 * @returns the exit code: 0 if the cluster is ready, else that of the background process
 */
export function startDetached(say: (line: string) => void): Promise<number> {
  const [file = '', ...args] = ownCommand(process.argv.slice(2));
  const child = spawn(file, args, {
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
