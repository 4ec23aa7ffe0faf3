import { GrpcError } from '@node-agent/grpc';
import type * as wire from '../generated/types.ts';
import { pageOf } from '../rules/paging.ts';
import { planSnapshot, selectSnapshots } from '../rules/snapshots.ts';
import type { SnapshotRecord } from '../state/records.ts';
import { accepted, type Call } from './call.ts';
import type { Parts } from './parts.ts';
import { wireSnapshot } from './wire.ts';

/** Handlers of the Controller service that manage snapshots. A snapshot is a copy of the volume's content. */
export class SnapshotService {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async createSnapshot({ name, sourceVolumeId }: wire.CreateSnapshotRequest, call: Call): Promise<object> {
    return { snapshot: wireSnapshot(await this.take(name, sourceVolumeId, call)) };
  }

  /** Returns the snapshot of a name, and creates the snapshot if it does not exist. */
  async take(name: string, sourceVolumeId: string, call: Call, groupId?: string): Promise<SnapshotRecord> {
    const { store, content, newId, now } = this.#parts;
    const existing = accepted(planSnapshot(store.state, name, sourceVolumeId));
    const volume = store.volume(sourceVolumeId);
    if (existing !== undefined || volume === undefined) return existing as SnapshotRecord;
    const { sizeBytes, backing, fsType, isFormatted } = volume;
    const own = { id: newId(), name, sequence: store.nextSequence(), sourceVolumeId, createdAtMs: now() };
    const snapshot = { ...own, sizeBytes, backing, fsType, isFormatted, ...(groupId !== undefined && { groupId }) };
    await content.createSnapshot(snapshot, sourceVolumeId);
    await call.middle();
    await store.putSnapshot(snapshot);
    return snapshot;
  }

  async deleteSnapshot({ snapshotId }: wire.DeleteSnapshotRequest): Promise<object> {
    const snapshot = this.#parts.store.state.snapshots.find(({ id }) => id === snapshotId);
    if (snapshot?.groupId !== undefined) {
      const details = `snapshot ${snapshotId} belongs to the group snapshot ${snapshot.groupId}`;
      throw new GrpcError({ code: 'INVALID_ARGUMENT', details });
    }
    if (snapshot !== undefined) await this.remove(snapshotId);
    return {};
  }

  /** Removes a snapshot and its content. */
  async remove(snapshotId: string): Promise<void> {
    const { store, content } = this.#parts;
    await content.remove('snapshots', snapshotId);
    await store.removeSnapshot(snapshotId);
  }

  async listSnapshots(request: wire.ListSnapshotsRequest): Promise<object> {
    const selected = selectSnapshots(this.#parts.store.state.snapshots, request);
    const { entries, nextToken } = accepted(pageOf(selected, request.maxEntries, request.startingToken));
    return { nextToken, entries: entries.map((snapshot) => ({ snapshot: wireSnapshot(snapshot) })) };
  }
}
