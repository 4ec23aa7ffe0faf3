import { type Clock, withTimeout } from '@node-agent/async';
import { errorCode } from '@node-agent/host';
import type { Mounter } from './mounter.ts';

/** Dependencies of {@link unmountInTime}. */
export interface UnmountInTimeComponents {
  readonly clock: Clock;
  readonly mounter: Pick<Mounter, 'unmount'>;
}

/** Time after which an unmount is forced, in milliseconds (`unMountTimeout` of `pkg/volume/nfs`). */
const TIMEOUT_MS = 60_000;

/**
 * Unmounts a network file system. If the server does not respond for one minute, the unmount is forced
 * (`CleanupMountWithForce` of `k8s.io/mount-utils`). @throws VolumeError `MountFailed`
 */
export async function unmountInTime(
  { clock, mounter }: UnmountInTimeComponents,
  target: string,
  signal: AbortSignal,
  options?: Parameters<Mounter['unmount']>[2],
): Promise<void> {
  try {
    await withTimeout(clock, TIMEOUT_MS, (linked) => mounter.unmount(target, linked, options), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (errorCode(error) !== 'Timeout') throw error;
    await mounter.unmount(target, signal, { force: true });
  }
}
