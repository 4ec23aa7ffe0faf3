import type { CsiNodeCapabilities, CsiVolumeStats, CsiVolumeUsage } from '@node-agent/contracts';
import { labelValueProblem, qualifiedNameProblem } from '@node-agent/pod-spec';
import type { NodeGetInfoResponse, NodeGetVolumeStatsResponse, NodeServiceCapability } from '../generated/types.ts';
import { NodeServiceCapabilityRPCType, VolumeUsageUnit } from '../generated/types.ts';

/** Facts about the node that a driver reports (`NodeGetInfo`). */
export interface CsiDriverNodeInfo {
  /** ID of the node in the driver's storage system. The ID is never empty. */
  readonly nodeId: string;
  /** Largest number of volumes that can be attached to the node; 0: not limited by the driver. */
  readonly maxVolumes: number;
  /** Values of topology keys, as labels of the node. */
  readonly topology: Readonly<Record<string, string>>;
}

/** Maximum volume limit, `math.MaxInt32`: a larger number does not fit into CSINode. */
const MAX_VOLUMES = 0x7fff_ffff;
/** Maximum length of a node ID in bytes, from the CSI specification. */
const MAX_NODE_ID_BYTES = 256;
/** Maximum number of topology keys, because every key becomes a label of the Node object. */
const MAX_TOPOLOGY_KEYS = 64;
/** Longest description of a volume's condition that is kept, in UTF-16 code units. */
const MAX_CONDITION = 1024;

const { STAGE_UNSTAGE_VOLUME, GET_VOLUME_STATS, EXPAND_VOLUME, VOLUME_CONDITION } = NodeServiceCapabilityRPCType;
const { SINGLE_NODE_MULTI_WRITER, VOLUME_MOUNT_GROUP } = NodeServiceCapabilityRPCType;

/** Returns the driver's capabilities; unknown ones are ignored. */
export function capabilitiesOf(reported: readonly NodeServiceCapability[]): CsiNodeCapabilities {
  const types = new Set<number>(reported.flatMap(({ rpc }) => (rpc === null ? [] : [rpc.type])));
  return {
    stageUnstage: types.has(STAGE_UNSTAGE_VOLUME),
    volumeStats: types.has(GET_VOLUME_STATS),
    expandVolume: types.has(EXPAND_VOLUME),
    volumeCondition: types.has(VOLUME_CONDITION),
    singleNodeMultiWriter: types.has(SINGLE_NODE_MULTI_WRITER),
    volumeMountGroup: types.has(VOLUME_MOUNT_GROUP),
  };
}

/**
 * Returns the usage and condition of a volume (`pkg/volume/csi/csi_client.go: NodeGetVolumeStats`). Of several entries
 * with one unit the last counts; entries of an unknown unit and negative numbers are ignored.
 * @returns a text with the reason if the response cannot be used
 */
export function volumeStatsOf(
  { usage, volumeCondition }: NodeGetVolumeStatsResponse,
  capabilities: Pick<CsiNodeCapabilities, 'volumeCondition'>,
): CsiVolumeStats | string {
  if (!capabilities.volumeCondition && usage.length === 0) return 'failed to get usage from response. usage is nil';
  const byUnit = new Map<CsiVolumeUsage['unit'], CsiVolumeUsage>();
  for (const { unit, available, total, used } of usage) {
    if (unit !== VolumeUsageUnit.BYTES && unit !== VolumeUsageUnit.INODES) continue;
    const name = unit === VolumeUsageUnit.BYTES ? 'bytes' : 'inodes';
    byUnit.set(name, {
      unit: name,
      ...(available >= 0n && { available }),
      ...(total >= 0n && { total }),
      ...(used >= 0n && { used }),
    });
  }
  if (!capabilities.volumeCondition) return { usage: [...byUnit.values()] };
  const { abnormal = false, message = '' } = volumeCondition ?? {};
  return { usage: [...byUnit.values()], condition: { abnormal, message: message.slice(0, MAX_CONDITION) } };
}

/** Returns what the driver reports about the node. @returns a text with the reason if the response cannot be used */
export function nodeInfoOf(response: NodeGetInfoResponse): CsiDriverNodeInfo | string {
  const { nodeId, maxVolumesPerNode, accessibleTopology } = response;
  if (nodeId === '') return 'error adding CSI driver node info: driverNodeID must not be empty';
  const bytes = Buffer.byteLength(nodeId);
  if (bytes > MAX_NODE_ID_BYTES) return `node ID has ${bytes} bytes: must be no more than ${MAX_NODE_ID_BYTES} bytes`;
  const topology = accessibleTopology?.segments ?? {};
  const problem = topologyProblem(topology);
  if (problem !== undefined) return problem;
  return { nodeId, maxVolumes: volumeLimit(maxVolumesPerNode), topology };
}

/**
 * Returns the volume limit of a node. As upstream, a negative limit counts as none, and a large one is reduced to
 * `math.MaxInt32`.
 */
function volumeLimit(reported: bigint): number {
  if (reported <= 0n) return 0;
  return reported > BigInt(MAX_VOLUMES) ? MAX_VOLUMES : Number(reported);
}

function topologyProblem(topology: Readonly<Record<string, string>>): string | undefined {
  const entries = Object.entries(topology);
  if (entries.length > MAX_TOPOLOGY_KEYS)
    return `topology has ${entries.length} keys: at most ${MAX_TOPOLOGY_KEYS} are allowed`;
  for (const [key, value] of entries) {
    const [problem] = [...qualifiedNameProblem(key), ...labelValueProblem(value)];
    if (problem !== undefined) return `topology ${JSON.stringify(shortened(key))}: ${problem}`;
  }
  return undefined;
}

function shortened(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 100)}...`;
}
