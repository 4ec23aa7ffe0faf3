import { createHash } from 'node:crypto';
import { VolumeError } from '../errors.ts';

/** Name of the CSI plugin in upstream's kubelet. */
export const CSI_PLUGIN = 'kubernetes.io/csi';

/** Separates driver and handle in a volume's unique name. Driver names cannot contain this character. */
const SEPARATOR = '^';

/** Identifies a CSI volume: its driver, and the volume ID of that driver. */
export interface CsiIdentity {
  readonly driver: string;
  readonly handle: string;
}

/** Returns the name of a persistent volume in the node's status: upstream's `UniqueVolumeName` (`GetVolumeName`). */
export function csiUniqueName({ driver, handle }: CsiIdentity): string {
  return `${CSI_PLUGIN}/${driver}${SEPARATOR}${handle}`;
}

/**
 * Returns the driver and the volume ID in a unique name; reverts {@link csiUniqueName}. @throws VolumeError
 * `InvalidSource`
 */
export function csiIdentity(uniqueName: string): CsiIdentity {
  const start = CSI_PLUGIN.length + 1;
  const at = uniqueName.indexOf(SEPARATOR);
  if (!uniqueName.startsWith(`${CSI_PLUGIN}/`) || at <= start || at === uniqueName.length - 1) {
    throw new VolumeError('InvalidSource', `${JSON.stringify(uniqueName)} must be the unique name of a CSI volume`);
  }
  return { driver: uniqueName.slice(start, at), handle: uniqueName.slice(at + 1) };
}

/**
 * Returns the plugin name of a volume in metrics. The name of a CSI volume's plugin includes the driver, if it is known
 * (`GetFullQualifiedPluginNameForVolume`, `pkg/volume/util/metrics.go`).
 * @param driver driver of an inline volume
 * @param uniqueName unique name of a volume with a node-level part
 */
export function metricPluginName(plugin: string, driver: string | undefined, uniqueName: string | undefined): string {
  if (plugin !== CSI_PLUGIN) return plugin;
  const known = driver ?? (uniqueName === undefined ? undefined : csiIdentity(uniqueName).driver);
  return known === undefined ? plugin : `${plugin}:${known}`;
}

/** Returns the name of the VolumeAttachment of a volume on a node (`getAttachmentName`). */
export function attachmentName({ driver, handle }: CsiIdentity, nodeName: string): string {
  return `csi-${sha256(`${handle}${driver}${nodeName}`)}`;
}

/** Returns the volume ID of an inline volume of a pod (`makeVolumeHandle`). */
export function inlineHandle(podUid: string, volumeName: string): string {
  return `csi-${sha256(`${podUid}${volumeName}`)}`;
}

/** Returns the name of the directory in which a volume is staged (`makeDeviceMountPath`). */
export function handleHash(handle: string): string {
  return sha256(handle);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
