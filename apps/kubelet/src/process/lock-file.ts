import { open, stat } from 'node:fs/promises';
import { type Clock, sleep } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { isMissing } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { lockOutcome, runFlock } from './flock.ts';

/** Interval at which the kernel's list of locks is read for waiting processes, in ms. */
const PERIOD_MS = 1000;

/** Identity of a locked file. */
export interface LockedFile {
  readonly dev: number;
  readonly ino: number;
}

/** The lock of `--lock-file`, held until the process exits or the lock is disposed. */
export interface FileLock extends AsyncDisposable, LockedFile {
  readonly path: string;
}

/**
 * Acquires the lock of `--lock-file`. Waits while another process holds it, as upstream does
 * (`pkg/util/flock/flock_unix.go: Acquire`).
 * @throws Error if the file cannot be opened or locked; the signal's reason
 */
export async function acquireLockFile(
  { logger, flock = runFlock }: { readonly logger: Pick<Logger, 'info'>; readonly flock?: typeof runFlock },
  path: string,
  signal: AbortSignal,
): Promise<FileLock> {
  logger.info({ path }, 'Acquiring file lock');
  const file = await open(path, 'a+', 0o600);
  try {
    const outcome = lockOutcome(await flock(file.fd, { waits: true }, signal));
    signal.throwIfAborted();
    if (outcome.result !== 'locked') {
      const because = outcome.result === 'unknown' ? outcome.because : 'another process holds it';
      throw new Error(`acquire file lock on ${path}: ${because}`);
    }
    const { dev, ino } = await file.stat();
    return { path, dev, ino, [Symbol.asyncDispose]: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Resolves with the reason when another process waits for the lock, or the file is removed or replaced
 * (`--exit-on-lock-contention`, `cmd/kubelet/app/server_linux.go: watchForLockfileContention`). Upstream also reacts to
 * a process that only opens the file: Node.js does not report that.
 * @throws the signal's reason
 */
export async function lockContention(
  { fs, clock }: { readonly fs: Pick<FileSystem, 'readFile'>; readonly clock: Clock },
  lock: Pick<FileLock, 'path' | 'dev' | 'ino'>,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    const found = await stat(lock.path).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (found === undefined || found.ino !== lock.ino) return 'the lock file was removed';
    if (hasWaiter(new TextDecoder().decode(await fs.readFile('/proc/locks')), lock)) {
      return 'another process waits for the lock';
    }
    await sleep(clock, PERIOD_MS, signal);
  }
}

/**
 * Returns whether a process waits for the flock(2) lock of a file, according to `/proc/locks`. In `/proc/locks`, the
 * line of a waiting process has an arrow: `1: -> FLOCK ADVISORY WRITE 30901 fe:00:9979792 0 EOF`.
 */
export function hasWaiter(locks: string, { dev, ino }: LockedFile): boolean {
  const file = `${hex(majorOf(dev))}:${hex(minorOf(dev))}:${ino}`;
  return locks.split('\n').some((line) => {
    const [, arrow, kind, , , , id] = line.trim().split(/\s+/);
    return arrow === '->' && kind === 'FLOCK' && id === file;
  });
}

/**
 * Returns the major part of a device number; `minorOf` returns the minor part (`gnu_dev_major`, `gnu_dev_minor` of
 * glibc).
 */
function majorOf(dev: number): number {
  return Number((BigInt(dev) >> 8n) & 0xfffn);
}

function minorOf(dev: number): number {
  const all = BigInt(dev);
  return Number((all & 0xffn) | ((all >> 12n) & 0xfff00n));
}

function hex(value: number): string {
  return value.toString(16).padStart(2, '0');
}
