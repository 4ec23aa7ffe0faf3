import { runNodectl } from './command.ts';
import { ownVersion } from './own-version.ts';

/** Runs the program in this process. */
export async function main(argv: readonly string[]): Promise<void> {
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  // The reader of stdout may close its end: `nodectl logs ... | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  process.exitCode = await runNodectl(argv, {
    ...{ stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, version: ownVersion() },
    signal: ending.signal,
    nowMs: Date.now,
  });
  // Standard input that was passed to a command would keep the process alive.
  process.stdin.destroy();
}
