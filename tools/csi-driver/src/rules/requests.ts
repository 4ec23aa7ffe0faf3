import type { CsiVolumeCapability } from '@node-agent/contracts';
import { type Refusal, refusal } from './refusal.ts';

/** Fields of CSI requests that are validated before a request is handled. Absent fields have the proto's default. */
export interface RequestFields {
  readonly name?: string;
  readonly volumeId?: string;
  readonly nodeId?: string;
  readonly sourceVolumeId?: string;
  readonly snapshotId?: string;
  readonly stagingTargetPath?: string;
  readonly targetPath?: string;
  readonly volumePath?: string;
  readonly capability?: CsiVolumeCapability | Refusal;
  readonly capabilities?: readonly (CsiVolumeCapability | Refusal)[];
  readonly maxEntries?: number;
}

type Field = keyof RequestFields;

/** Fields that each RPC requires. RPCs that are not listed require none. */
const REQUIRED: Readonly<Record<string, readonly Field[]>> = {
  CreateVolume: ['name', 'capabilities'],
  DeleteVolume: ['volumeId'],
  ControllerPublishVolume: ['volumeId', 'nodeId', 'capability'],
  ControllerUnpublishVolume: ['volumeId'],
  ValidateVolumeCapabilities: ['volumeId', 'capabilities'],
  CreateSnapshot: ['sourceVolumeId', 'name'],
  DeleteSnapshot: ['snapshotId'],
  ControllerExpandVolume: ['volumeId'],
  ControllerGetVolume: ['volumeId'],
  ControllerModifyVolume: ['volumeId'],
  NodeStageVolume: ['volumeId', 'stagingTargetPath', 'capability'],
  NodeUnstageVolume: ['volumeId', 'stagingTargetPath'],
  NodePublishVolume: ['volumeId', 'targetPath', 'capability'],
  NodeUnpublishVolume: ['volumeId', 'targetPath'],
  NodeGetVolumeStats: ['volumeId', 'volumePath'],
  NodeExpandVolume: ['volumeId', 'volumePath'],
};

/** Field names of the proto file, for messages. */
const PROTO_NAMES: Readonly<Record<Field, string>> = {
  name: 'name',
  volumeId: 'volume_id',
  nodeId: 'node_id',
  sourceVolumeId: 'source_volume_id',
  snapshotId: 'snapshot_id',
  stagingTargetPath: 'staging_target_path',
  targetPath: 'target_path',
  volumePath: 'volume_path',
  capability: 'volume_capability',
  capabilities: 'volume_capabilities',
  maxEntries: 'max_entries',
};

/** Size limits in bytes: the specification's limit for strings, its limit for node IDs, and the kernel's for paths. */
const MAX_BYTES: Partial<Readonly<Record<Field, number>>> = {
  name: 128,
  volumeId: 128,
  nodeId: 256,
  sourceVolumeId: 128,
  snapshotId: 128,
  stagingTargetPath: 4095,
  targetPath: 4095,
  volumePath: 4095,
};

/** Paths that the driver creates or unmounts. `volume_path` is only compared with these. */
const OWNED_PATHS: readonly Field[] = ['stagingTargetPath', 'targetPath'];

/** Checks presence, size and form of the fields of a request. Returns `undefined` if the request is well-formed. */
export function requestProblem(rpc: string, fields: RequestFields): Refusal | undefined {
  const required = REQUIRED[rpc] ?? [];
  for (const field of required) {
    const value = fields[field];
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) {
      return refusal('INVALID_ARGUMENT', `${rpc}: ${PROTO_NAMES[field]} is required`);
    }
  }
  for (const [field, maxBytes] of Object.entries(MAX_BYTES) as [Field, number][]) {
    const value = fields[field];
    if (typeof value === 'string' && Buffer.byteLength(value) > maxBytes) {
      return refusal('INVALID_ARGUMENT', `${rpc}: ${PROTO_NAMES[field]} must have at most ${maxBytes} bytes`);
    }
  }
  for (const field of OWNED_PATHS) {
    const value = fields[field];
    if (typeof value === 'string' && value !== '' && !isPlainPath(value)) {
      return refusal('INVALID_ARGUMENT', `${rpc}: ${PROTO_NAMES[field]} must be an absolute path without ..`);
    }
  }
  if ((fields.maxEntries ?? 0) < 0) return refusal('INVALID_ARGUMENT', `${rpc}: max_entries must not be negative`);
  const capabilities = [
    ...(fields.capability === undefined ? [] : [fields.capability]),
    ...(fields.capabilities ?? []),
  ];
  for (const capability of capabilities) {
    if ('code' in capability) return refusal(capability.code, `${rpc}: ${capability.details}`);
  }
  return undefined;
}

function isPlainPath(path: string): boolean {
  return path.startsWith('/') && !path.split('/').includes('..') && !path.includes('\0');
}
