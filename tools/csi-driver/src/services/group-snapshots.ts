import { createHash } from 'node:crypto';
import { GrpcError } from '@node-agent/grpc';
import type * as wire from '../generated/types.ts';
import { GroupControllerServiceCapabilityRPCType as Rpc } from '../generated/types.ts';
import { groupOf, groupProblem } from '../rules/groups.ts';
import type { SnapshotRecord } from '../state/records.ts';
import { type Call, check } from './call.ts';
import type { Parts } from './parts.ts';
import type { SnapshotService } from './snapshots.ts';
import { wireSnapshot } from './wire.ts';

/** Handlers of the GroupController service: snapshots of several volumes that belong together. */
export class GroupSnapshotService {
  readonly #parts: Parts;
  readonly #snapshots: SnapshotService;

  constructor(parts: Parts, snapshots: SnapshotService) {
    this.#parts = parts;
    this.#snapshots = snapshots;
  }

  async groupControllerGetCapabilities(): Promise<object> {
    return { capabilities: [{ rpc: { type: Rpc.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT } }] };
  }

  async createVolumeGroupSnapshot(request: wire.CreateVolumeGroupSnapshotRequest, call: Call): Promise<object> {
    const { name, sourceVolumeIds } = request;
    if (name === '' || sourceVolumeIds.length === 0) throw invalid('name and source_volume_ids are required');
    const groupId = `group-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
    check(groupProblem(groupOf(this.#parts.store.state.snapshots, groupId), sourceVolumeIds));
    const taken: SnapshotRecord[] = [];
    for (const sourceVolumeId of sourceVolumeIds) {
      taken.push(await this.#snapshots.take(`${groupId}/${sourceVolumeId}`, sourceVolumeId, call, groupId));
    }
    return { groupSnapshot: wireGroup(groupId, taken) };
  }

  async getVolumeGroupSnapshot({ groupSnapshotId }: wire.GetVolumeGroupSnapshotRequest): Promise<object> {
    if (groupSnapshotId === '') throw invalid('group_snapshot_id is required');
    const members = groupOf(this.#parts.store.state.snapshots, groupSnapshotId);
    if (members.length > 0) return { groupSnapshot: wireGroup(groupSnapshotId, members) };
    throw new GrpcError({ code: 'NOT_FOUND', details: `group snapshot ${groupSnapshotId} does not exist` });
  }

  async deleteVolumeGroupSnapshot({ groupSnapshotId }: wire.DeleteVolumeGroupSnapshotRequest): Promise<object> {
    if (groupSnapshotId === '') throw invalid('group_snapshot_id is required');
    for (const { id } of groupOf(this.#parts.store.state.snapshots, groupSnapshotId)) await this.#snapshots.remove(id);
    return {};
  }
}

function wireGroup(groupSnapshotId: string, members: readonly SnapshotRecord[]): object {
  const snapshots = members.map(wireSnapshot);
  return { groupSnapshotId, snapshots, creationTime: snapshots[0]?.creationTime, readyToUse: true };
}

function invalid(details: string): GrpcError {
  return new GrpcError({ code: 'INVALID_ARGUMENT', details });
}
