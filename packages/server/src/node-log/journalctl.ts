import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { NodeJournal } from './journal.ts';

/**
 * Returns a {@link NodeJournal} that runs the machine's `journalctl`.
 * @param program another program to run instead
 */
export function journalctl(program = 'journalctl'): NodeJournal {
  return { run: (args, signal) => run(program, args, signal) };
}

async function* run(
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, number | null, undefined> {
  signal.throwIfAborted();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  try {
    const closed = once(child, 'close');
    closed.catch(() => {});
    await once(child, 'spawn');
    // Errors on stderr are part of the output, at the place where they occur.
    const both = new PassThrough();
    child.stdout.pipe(both, { end: false });
    child.stderr.pipe(both, { end: false });
    closed.then(() => both.end()).catch(() => both.end());
    for await (const chunk of both) yield chunk;
    const [code] = await closed;
    return typeof code === 'number' ? code : null;
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
  }
}
