import type { SnapshotRecord } from '../state/records.ts';
import { type Refusal, refusal } from './refusal.ts';

/** Returns the snapshots of a group. */
export function groupOf(snapshots: readonly SnapshotRecord[], groupId: string): readonly SnapshotRecord[] {
  return snapshots.filter((snapshot) => snapshot.groupId === groupId);
}

/**
 * Rejects a group that already has snapshots of other volumes. An incomplete group is accepted, because the repeated
 * call completes the group.
 */
export function groupProblem(
  existing: readonly SnapshotRecord[],
  sourceVolumeIds: readonly string[],
): Refusal | undefined {
  const others = existing.filter(({ sourceVolumeId }) => !sourceVolumeIds.includes(sourceVolumeId));
  if (others.length === 0) return undefined;
  return refusal('ALREADY_EXISTS', `the group exists with volume ${others[0]?.sourceVolumeId}`);
}
