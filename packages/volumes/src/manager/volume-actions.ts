import { VolumeError } from '../errors.ts';
import { mountContext } from '../mount/mount-context.ts';
import { removeEmptyVolume } from '../paths/orphaned-pod.ts';
import type { SubPathMounts } from '../paths/sub-path-mounts.ts';
import type { VolumeOnDisk } from '../paths/volumes-on-disk.ts';
import { type VolumePlugin, volumeType } from './plugin.ts';
import type { NodeVolume, VolumeSpec } from './resolved-volume.ts';
import type { VolumeActions } from './volume-entry.ts';

/** Whose volume it is that something is done to. */
export interface VolumeOfPod {
  readonly podUid: string;
  /** What its directories in the pod's are called. */
  readonly directoryName: string;
  /** `undefined` for a type that this kubelet has not got. */
  readonly plugin: VolumePlugin | undefined;
  readonly node?: NodeVolume | undefined;
}

/** What is done to a volume: by its type, but for parts of it that containers see, which go before it. */
export function volumeActions(
  subPaths: Pick<SubPathMounts, 'clean'>,
  { podUid, directoryName, plugin, node }: VolumeOfPod,
): VolumeActions {
  return {
    pluginName: plugin?.name ?? 'N/A',
    refreshes: plugin?.refreshes ?? false,
    ...(node && plugin?.node && { node: { volume: node, pluginName: plugin.name, plugin: plugin.node } }),
    async setUp(pod, volume, signal) {
      if (plugin === undefined) throw new VolumeError('UnsupportedVolume', unsupportedType(volume));
      return await plugin.setUp(pod, volume, mountContext(pod), signal);
    },
    async tearDown(signal) {
      await subPaths.clean(podUid, directoryName, signal);
      await plugin?.tearDown(podUid, directoryName, signal);
    },
  };
}

/** What no plugin knows, another program put there: it is told of, and stays, unless it is empty. */
export function foreignActions(
  components: Parameters<typeof removeEmptyVolume>[0],
  podUid: string,
  volume: VolumeOnDisk,
): VolumeActions {
  return {
    pluginName: 'N/A',
    refreshes: false,
    setUp: (_pod, { directoryName }) =>
      Promise.reject(new VolumeError('UnsupportedVolume', `volume ${directoryName} has no plugin`)),
    tearDown: () => removeEmptyVolume(components, podUid, volume),
  };
}

/** What is said of a volume of a type that there is not. */
export function unsupportedType({ volume }: VolumeSpec): string {
  return `volume ${volume.name}: type ${volumeType(volume)} is not supported by this kubelet`;
}
