import { spawn } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { errorCode } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';

/** Result of running `flock`: exit code and standard error, or the error if `flock` could not be run. */
export type FlockEnd = { readonly code: number | null; readonly stderr: string } | { readonly error: Error };

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
 *
 * The lock is a kernel lock (flock(2)) that belongs to the open file, so the lock stays after the `flock` program has
 * exited.
 * @throws Error naming the process that holds the lock
 * @throws Error if the lock file cannot be opened or written
 */
export async function lockRootDirectory(
  { logger, flock = runFlock }: RootLockComponents,
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

/** Interprets the result of `flock -n`: exit code 1 without output means that another process holds the lock. */
export function lockOutcome(
  end: FlockEnd,
): { readonly result: 'locked' | 'taken' } | { readonly result: 'unknown'; readonly because: string } {
  if ('error' in end) {
    const isMissing = errorCode(end.error) === 'ENOENT';
    return { result: 'unknown', because: isMissing ? 'flock program not found' : errorText(end.error) };
  }
  const { code, stderr } = end;
  if (code === 0) return { result: 'locked' };
  if (code === 1 && stderr.trim() === '') return { result: 'taken' };
  return { result: 'unknown', because: `flock exited with ${code}: ${stderr.trim()}` };
}

async function takenText(file: FileHandle, rootDir: string): Promise<string> {
  const [pid = ''] = /^\d+/.exec((await file.read({ buffer: Buffer.alloc(32), position: 0 })).buffer.toString()) ?? [];
  const owner = pid === '' ? 'another kubelet' : `another kubelet (process ${pid})`;
  return `lock root directory ${rootDir}: ${owner} uses it; each kubelet needs its own --root-dir and --cert-dir`;
}

async function runFlock(fd: number): Promise<FlockEnd> {
  const child = spawn('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'pipe', fd] });
  const ended = new Promise<FlockEnd>((resolve) => {
    child.once('error', (error) => resolve({ error }));
    child.once('close', async (code) => resolve({ code, stderr: await stderr }));
  });
  const stderr = child.stderr === null ? Promise.resolve('') : text(child.stderr).catch(errorText);
  return await ended;
}
