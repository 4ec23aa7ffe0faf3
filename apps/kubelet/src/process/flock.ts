import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { errorCode } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';

/** Result of running `flock`: exit code and standard error, or the error if `flock` could not be run. */
export type FlockEnd = { readonly code: number | null; readonly stderr: string } | { readonly error: Error };

/**
 * Runs util-linux's `flock` program on an open file. The lock is a kernel lock (flock(2)) that belongs to the open file,
 * so the lock stays after the program has exited.
 * @param waits whether to wait while another process holds the lock
 * @param signal ends the wait
 */
export async function runFlock(
  fd: number,
  { waits }: { readonly waits: boolean },
  signal?: AbortSignal,
): Promise<FlockEnd> {
  const child = spawn('flock', [...(waits ? [] : ['-n']), '3'], {
    stdio: ['ignore', 'ignore', 'pipe', fd],
    ...(signal && { signal }),
  });
  const ended = new Promise<FlockEnd>((resolve) => {
    child.once('error', (error) => resolve({ error }));
    child.once('close', async (code) => resolve({ code, stderr: await stderr }));
  });
  const stderr = child.stderr === null ? Promise.resolve('') : text(child.stderr).catch(errorText);
  return await ended;
}

/** Interprets the result of `flock`: exit code 1 without output means that another process holds the lock. */
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
