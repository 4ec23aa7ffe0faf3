import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@node-agent/telemetry';
import { type FlockEnd, lockOutcome, runFlock } from './flock.ts';

/** Components of {@link lockRootDirectory}. */
interface RootLockComponents {
  readonly logger: Pick<Logger, 'warn'>;
  /** Runs `flock` on an open file. Default: util-linux's `flock` program. */
  readonly flock?: (fd: number) => Promise<FlockEnd>;
}

/**
 * Locks the kubelet's root directory until the process exits (also by `kill -9`) or the lock is disposed. A second
 * kubelet with the same root directory would replace the sockets of the first and clean up the first one's pods. The Go
 * kubelet has no such lock; its `--lock-file` is off by default.
 * @throws Error naming the process that holds the lock
 * @throws Error if the lock file cannot be opened or written
 */
export async function lockRootDirectory(
  { logger, flock = (fd) => runFlock(fd, { waits: false }) }: RootLockComponents,
  rootDir: string,
): Promise<AsyncDisposable> {
  const path = join(rootDir, 'kubelet.lock');
  const file = await open(path, 'a+', 0o600);
  try {
    const outcome = lockOutcome(await flock(file.fd));
    if (outcome.result === 'taken') throw new Error(await takenText(file, rootDir));
    if (outcome.result === 'unknown') {
      const fields = { path, because: outcome.because };
      logger.warn(fields, 'Could not lock the root directory; a second kubelet would not be detected');
      return file;
    }
    await file.truncate();
    await file.write(`${process.pid}\n`);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function takenText(file: FileHandle, rootDir: string): Promise<string> {
  const [pid = ''] = /^\d+/.exec((await file.read({ buffer: Buffer.alloc(32), position: 0 })).buffer.toString()) ?? [];
  const owner = pid === '' ? 'another kubelet' : `another kubelet (process ${pid})`;
  return `lock root directory ${rootDir}: ${owner} uses it; each kubelet needs its own --root-dir and --cert-dir`;
}
