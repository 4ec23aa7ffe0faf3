import { runWhy } from './command.ts';
import { ownVersion } from './own-version.ts';

/** Runs the command in this process. */
export async function main(argv: readonly string[]): Promise<void> {
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  // The reader has gone: `kubectl why ... | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  process.exitCode = await runWhy(argv, {
    ...{ out: process.stdout, err: process.stderr, version: ownVersion() },
    signal: ending.signal,
  });
  // A plugin for credentials may go on.
  if (ending.signal.aborted) process.exit();
}
