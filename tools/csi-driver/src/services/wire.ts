import type { CsiAccessMode, CsiVolumeCapability } from '@node-agent/contracts';
import type { Init } from '@node-agent/grpc';
import {
  type Snapshot,
  type Topology,
  type Volume,
  type VolumeCapability,
  VolumeCapabilityAccessModeMode,
  type VolumeContentSource,
  type CapacityRange as WireRange,
} from '../generated/types.ts';
import type { CapacityRange } from '../rules/capacity.ts';
import { type Refusal, refusal } from '../rules/refusal.ts';
import type { ContentSource, SnapshotRecord, VolumeRecord } from '../state/records.ts';

/** Key of the topology segment; the host path driver's, because upstream's suites may name it. */
const TOPOLOGY_KEY = 'topology.hostpath.csi/node';

/** Names of the access modes by their numbers. */
const MODES: ReadonlyMap<number, CsiAccessMode> = new Map(
  Object.entries(VolumeCapabilityAccessModeMode)
    .filter(([name]) => name !== 'UNKNOWN')
    .map(([name, number]) => [number, name as CsiAccessMode]),
);

/** Converts a volume capability of a request, or returns a refusal that names what the capability lacks. */
export function capabilityOf({ block, mount, accessMode }: VolumeCapability): CsiVolumeCapability | Refusal {
  const mode = MODES.get(accessMode?.mode ?? 0);
  if (mode === undefined) return refusal('INVALID_ARGUMENT', 'volume_capability.access_mode is required');
  if (block !== null) return { access: { type: 'block' }, accessMode: mode };
  if (mount === null) return refusal('INVALID_ARGUMENT', 'volume_capability must have block or mount');
  const { fsType, mountFlags, volumeMountGroup } = mount;
  const access = { type: 'mount', fsType, mountFlags, ...(volumeMountGroup !== '' && { volumeMountGroup }) } as const;
  return { access, accessMode: mode };
}

/** Converts a capacity range of a request; `undefined` if the request has none. */
export function rangeOf(range: WireRange | null): CapacityRange | undefined {
  return range ?? undefined;
}

/** Converts the content source of a new volume. */
export function sourceOf(source: VolumeContentSource | null): ContentSource | undefined | Refusal {
  if (source === null) return undefined;
  if (source.snapshot !== null) return { type: 'snapshot', id: source.snapshot.snapshotId };
  if (source.volume !== null) return { type: 'volume', id: source.volume.volumeId };
  return refusal('INVALID_ARGUMENT', 'volume_content_source must have snapshot or volume');
}

/** Returns the topology of a node. */
export function topologyOf(nodeId: string): Topology {
  return { segments: { [TOPOLOGY_KEY]: nodeId } };
}

/** Returns whether a topology contains this node. */
export function isTopologyOf({ segments }: Topology, nodeId: string): boolean {
  return segments[TOPOLOGY_KEY] === undefined || segments[TOPOLOGY_KEY] === nodeId;
}

/** Converts a volume for responses. @param topology absent without topology */
export function wireVolume(volume: VolumeRecord, topology: Topology | undefined): Init<Volume> {
  const { source } = volume;
  return {
    volumeId: volume.id,
    capacityBytes: volume.sizeBytes,
    volumeContext: volume.parameters,
    contentSource: source && {
      ...(source.type === 'snapshot' && { snapshot: { snapshotId: source.id } }),
      ...(source.type === 'volume' && { volume: { volumeId: source.id } }),
    },
    accessibleTopology: topology === undefined ? [] : [topology],
  };
}

/** Converts a snapshot for responses. Snapshots are complete when they exist. */
export function wireSnapshot(snapshot: SnapshotRecord): Init<Snapshot> {
  const { createdAtMs } = snapshot;
  return {
    snapshotId: snapshot.id,
    sourceVolumeId: snapshot.sourceVolumeId,
    sizeBytes: snapshot.sizeBytes,
    creationTime: { seconds: Math.floor(createdAtMs / 1000), nanos: (createdAtMs % 1000) * 1_000_000 },
    readyToUse: true,
    ...(snapshot.groupId !== undefined && { groupSnapshotId: snapshot.groupId }),
  };
}
