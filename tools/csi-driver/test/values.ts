import type { CsiAccessMode, CsiVolumeCapability } from '@node-agent/contracts';
import type { SnapshotRecord, VolumeRecord } from '../src/state/records.ts';

/** Returns the capability of a mounted volume. */
export function mountCapability(
  fsType = '',
  accessMode: CsiAccessMode = 'SINGLE_NODE_WRITER',
  mountFlags: readonly string[] = [],
): CsiVolumeCapability {
  return { access: { type: 'mount', fsType, mountFlags }, accessMode };
}

/** Returns the capability of a block device. */
export function blockCapability(accessMode: CsiAccessMode = 'SINGLE_NODE_WRITER'): CsiVolumeCapability {
  return { access: { type: 'block' }, accessMode };
}

/** Returns a volume that is not used. */
export function volumeRecord(more: Partial<VolumeRecord> = {}): VolumeRecord {
  return {
    ...{ id: 'v1', name: 'one', sequence: 1, sizeBytes: 100, backing: 'directory', fsType: '', kind: '' },
    ...{ parameters: {}, mutableParameters: {}, isEphemeral: false, isFormatted: false, mustGrow: false },
    ...{ staged: [], published: [] },
    ...more,
  };
}

/** Returns a snapshot of the volume `v1`. */
export function snapshotRecord(more: Partial<SnapshotRecord> = {}): SnapshotRecord {
  return {
    ...{ id: 's1', name: 'snap', sequence: 2, sourceVolumeId: 'v1', sizeBytes: 100, backing: 'directory', fsType: '' },
    ...{ isFormatted: false, createdAtMs: 0 },
    ...more,
  };
}
