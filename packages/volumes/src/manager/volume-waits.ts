import type { UnansweredCall } from './plugin.ts';
import type { UnsettledVolume } from './volume-outcomes.ts';

/** An operation of a volume that has not finished. */
export interface VolumeWait {
  /** Name of the volume in the pod. */
  readonly volume: string;
  /**
   * Description of the operation, such as `NodeStageVolume of driver hostpath.csi.k8s.io has not answered for 42 s`.
   */
  readonly what: string;
  /** Start of the wait, in milliseconds since the Unix epoch; absent if unknown. */
  readonly sinceMs?: number;
}

/** Describes a call that a driver has not answered, with the time that has passed. */
function callText({ what, sinceMs }: UnansweredCall, nowMs: number): string {
  return `${what} has not answered for ${Math.floor((nowMs - sinceMs) / 1000)} s`;
}

/** Describes for what a volume waits; `undefined` if that is not known. */
export function waitText(
  { isUnattached, isOtherwise = false, unanswered }: Omit<UnsettledVolume, 'name'>,
  nowMs: number,
): string | undefined {
  if (isUnattached) return 'waits until a controller has attached it to this node';
  if (isOtherwise)
    return 'waits until the volume, mounted with another SELinux label, is unmounted for a pod that has ended';
  return unanswered && callText(unanswered, nowMs);
}

/** Returns the error message for a volume whose operation did not finish in time. */
export function timedOut(
  { isOtherwise = false, unanswered }: Pick<UnsettledVolume, 'isOtherwise' | 'unanswered'>,
  nowMs: number,
): string {
  const deadline = 'context deadline exceeded';
  const what = waitText({ isUnattached: false, isOtherwise, unanswered }, nowMs);
  return what === undefined ? deadline : `${deadline}: ${what}`;
}
