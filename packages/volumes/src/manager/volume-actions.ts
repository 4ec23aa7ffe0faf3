import { metricPluginName } from '../csi/csi-names.ts';
import { VolumeError } from '../errors.ts';
import type { ExpandOnNode, VolumeExpander } from '../expand/volume-expander.ts';
import { mountContext } from '../mount/mount-context.ts';
import { removeEmptyVolume } from '../paths/orphaned-pod.ts';
import type { SubPathMounts } from '../paths/sub-path-mounts.ts';
import type { VolumeOnDisk } from '../paths/volumes-on-disk.ts';
import type { StagedVolume } from './node-volumes.ts';
import { type NodeVolumePlugin, type VolumePlugin, volumeType } from './plugin.ts';
import type { NodeVolume, VolumeSpec } from './resolved-volume.ts';
import type { VolumeActions } from './volume-entry.ts';
import type { VolumeMetrics } from './volume-metrics.ts';

/** Components that the operations of all volumes share. */
export interface ActionHelpers {
  readonly subPaths: Pick<SubPathMounts, 'clean'>;
  readonly expander: Pick<VolumeExpander, 'expand'>;
  readonly metrics: Pick<VolumeMetrics, 'operation'>;
}

/** Identifies a volume of a pod. */
export interface VolumeOfPod {
  readonly podUid: string;
  /** Name of the volume's directories in the pod's directory. */
  readonly directoryName: string;
  /** Plugin of the volume; `undefined` if this kubelet does not support the type. */
  readonly plugin: VolumePlugin | undefined;
  readonly node?: NodeVolume | undefined;
  /** Name of the driver; present only for an inline CSI volume whose spec is known. */
  readonly inlineDriver?: string | undefined;
}

/**
 * Returns the operations of a volume. The operations are those of the plugin, but `tearDown` unmounts subPaths first.
 */
export function volumeActions(
  { subPaths, expander, metrics }: ActionHelpers,
  { podUid, directoryName, plugin, node, inlineDriver }: VolumeOfPod,
): VolumeActions {
  const pluginName = plugin === undefined ? 'N/A' : metricPluginName(plugin.name, inlineDriver, node?.uniqueName);
  const onChanged = (succeeded: boolean, durationMs: number): void =>
    metrics.operation(pluginName, 'volume_apply_access_control', { succeeded, durationMs });
  return {
    pluginName,
    refreshes: plugin?.refreshes ?? false,
    isBlock: plugin?.isBlock ?? false,
    ...(node && plugin?.node && { node: stagedVolume(node, plugin, plugin.node) }),
    ...(plugin?.expand && {
      async expand(pod, volume, mounted, signal) {
        const onNode: ExpandOnNode = async (persistent, bytes, ending, formerBytes) =>
          await plugin.expand?.(mounted, { ...volume, persistent }, bytes, ending, formerBytes);
        await expander.expand(pod, volume, onNode, signal);
      },
    }),
    republishes: (volume) => plugin?.requiresRepublish?.(volume) ?? false,
    unanswered: () => plugin?.unanswered?.(podUid, directoryName, node),
    async setUp(pod, volume, state, signal) {
      if (plugin === undefined) throw new VolumeError('UnsupportedVolume', unsupportedType(volume));
      return await plugin.setUp(pod, volume, mountContext(pod, onChanged), signal, state);
    },
    async tearDown(signal, pod) {
      await subPaths.clean(podUid, directoryName, signal);
      await plugin?.tearDown(podUid, directoryName, signal, pod);
    },
  };
}

/** Returns a node volume with the plugin that stages it. */
export function stagedVolume(
  volume: NodeVolume,
  { name, isBlock = false }: VolumePlugin,
  plugin: NodeVolumePlugin,
): StagedVolume {
  return { volume, pluginName: metricPluginName(name, undefined, volume.uniqueName), isBlock, plugin };
}

/**
 * Returns the operations of a volume directory without a plugin, which another program created. An empty directory is
 * removed; otherwise the directory is kept and reported.
 */
export function foreignActions(
  components: Parameters<typeof removeEmptyVolume>[0],
  podUid: string,
  volume: VolumeOnDisk,
): VolumeActions {
  return {
    pluginName: 'N/A',
    refreshes: false,
    republishes: () => false,
    unanswered: () => undefined,
    setUp: (_pod, { directoryName }) =>
      Promise.reject(new VolumeError('UnsupportedVolume', `volume ${directoryName} has no plugin`)),
    tearDown: () => removeEmptyVolume(components, podUid, volume),
  };
}

/** Returns the message for an unsupported volume type. */
export function unsupportedType({ volume }: VolumeSpec): string {
  return `volume ${volume.name}: type ${volumeType(volume)} is not supported by this kubelet`;
}
