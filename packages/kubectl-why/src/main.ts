import { runWhy } from './command.ts';
import { ownVersion } from './own-version.ts';

/** Runs the command in this process. */
export async function main(argv: readonly string[]): Promise<void> {
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  // The reader of the output has closed it, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  process.exitCode = await runWhy(argv, {
    ...{ out: process.stdout, err: process.stderr, version: ownVersion() },
    signal: ending.signal,
  });
  // A credential plugin may still be running, so the process exits explicitly.
  if (ending.signal.aborted) process.exit();
}
