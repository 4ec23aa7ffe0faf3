import type { DriverState, SnapshotRecord } from '../state/records.ts';
import { type Refusal, refusal } from './refusal.ts';
import { copyProblem } from './volumes.ts';

/**
 * Returns the existing snapshot of a name if the request is a repetition, or `undefined` if the snapshot
 * must be created.
 */
export function planSnapshot(
  state: DriverState,
  name: string,
  sourceVolumeId: string,
): SnapshotRecord | undefined | Refusal {
  const existing = state.snapshots.find((snapshot) => snapshot.name === name);
  if (existing !== undefined) {
    if (existing.sourceVolumeId === sourceVolumeId) return existing;
    return refusal('ALREADY_EXISTS', `snapshot ${JSON.stringify(name)} exists of volume ${existing.sourceVolumeId}`);
  }
  const volume = state.volumes.find(({ id }) => id === sourceVolumeId);
  if (volume === undefined) return refusal('NOT_FOUND', `source volume ${sourceVolumeId} does not exist`);
  return copyProblem(volume);
}

/** Returns the snapshots that a list request selects; empty filters select all. */
export function selectSnapshots(
  snapshots: readonly SnapshotRecord[],
  filter: { readonly snapshotId: string; readonly sourceVolumeId: string },
): readonly SnapshotRecord[] {
  return snapshots.filter(
    ({ id, sourceVolumeId }) =>
      (filter.snapshotId === '' || filter.snapshotId === id) &&
      (filter.sourceVolumeId === '' || filter.sourceVolumeId === sourceVolumeId),
  );
}
