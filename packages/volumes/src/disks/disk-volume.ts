import type { Pod } from '@node-agent/pod-spec';
import { isReadWriteOncePod } from '../claims/claim-rule.ts';
import { type NodeVolume, podVolume, type ResolvedVolume, type VolumeSpec } from '../manager/resolved-volume.ts';
import type { DiskConnections } from './disk-connections.ts';
import type { NetworkDisks } from './network-disk.ts';

/** Returns whether a volume is of the type that `disks` connects, for example iSCSI. */
export function isOnDisk(disks: Pick<NetworkDisks, 'source'>, spec: VolumeSpec): boolean {
  try {
    return disks.source(spec) !== undefined;
  } catch {
    // `source` throws only for a volume of its type that is invalid; `resolve` reports that error.
    return true;
  }
}

/**
 * Returns a pod's volume on a disk that is connected once for the node.
 * @param attachable whether a controller decides when this node may connect the disk
 * @throws VolumeError
 */
export function diskVolume(
  plugin: string,
  connections: Pick<DiskConnections, 'sourceOf'>,
  attachable: boolean,
  { metadata }: Pod,
  spec: VolumeSpec,
): ResolvedVolume {
  const resolved = podVolume(spec);
  const node: NodeVolume = {
    ...{ uniqueName: `${plugin}/${connections.sourceOf(spec).uniqueName}`, name: resolved.directoryName, spec },
    ...{ exclusive: isReadWriteOncePod(spec), attachable, namespace: metadata.namespace },
  };
  return { ...resolved, node };
}
