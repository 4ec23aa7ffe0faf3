import { type Pod, parseQuantity } from '@node-agent/pod-spec';
import {
  type AttachedVolumes,
  CsiPlugin,
  type CsiPluginComponents,
  EmptyDirPlugin,
  HostPathPlugin,
  ImageVolumePlugin,
  LocalBlockPlugin,
  LocalVolumePlugin,
  PodPaths,
  projectionPlugins,
  VolumeManager,
} from '@node-agent/volumes';
import type { ClusterObjects } from './cluster-objects.ts';
import type { PartComponents } from './cluster-ports.ts';
import { networkVolumes } from './network-volumes.ts';
import type { NodeView } from './node-view.ts';
import type { PodLinks } from './pod-links.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** Components of the node that volumes need besides ports and settings. */
export interface VolumeParts {
  readonly pods: Pick<PodLinks, 'wake'>;
  readonly node: Pick<NodeView, 'allocatable' | 'labels'>;
  /**
   * Objects from the API server. `undefined` if there is no API server. Volumes of Secrets, ConfigMaps, tokens and
   * PersistentVolumeClaims are then rejected.
   */
  readonly objects: Pick<ClusterObjects, 'volumeSources' | 'claims' | 'csi'> | undefined;
  /** CSI drivers, with the API server data that they need. If absent, volumes of CSI drivers are rejected. */
  readonly csi?: Pick<CsiPluginComponents, 'drivers' | 'objects' | 'tokens' | 'refreshLimit'>;
  readonly attachedVolumes: AttachedVolumes['attachedVolumes'];
  /** Returns the device path of an attached volume, or `undefined`. */
  readonly devicePath: (uniqueName: string) => string | undefined;
  /** Called when the set of volumes in use has changed. The node's status lists these volumes. */
  readonly onVolumesInUseChanged: () => void;
  readonly supportsRecursiveReadOnly: (pod: Pod) => boolean;
}

/** Creates the volume manager with all volume plugins. */
export function nodeVolumes(
  child: (component: string) => PartComponents,
  ports: Pick<
    NodePorts,
    | 'fs'
    | 'foreignFiles'
    | 'mounter'
    | 'networkMounter'
    | 'networkDevices'
    | 'flexPrograms'
    | 'diskTools'
    | 'localDevices'
    | 'loopDevices'
    | 'clock'
    | 'random'
  >,
  settings: AssemblySettings,
  parts: VolumeParts,
): VolumeManager {
  const { rootDirectory, nodeName, nodeAllocatable, node, volumeHealth = false } = settings;
  const { fs, foreignFiles, mounter, localDevices: devices, loopDevices: loops, clock, random } = ports;
  const paths = new PodPaths(rootDirectory);
  // Volumes in memory are limited by the allocatable memory, because they must not use the machine's reserved memory.
  const allocatableMemoryBytes = nodeAllocatable?.memory
    ? Number(parseQuantity(nodeAllocatable.memory).value())
    : node.resources.memoryCapacityBytes;
  const sources = { ...parts.objects?.volumeSources, nodeAllocatable: () => parts.node.allocatable() };
  const csi =
    parts.csi &&
    new CsiPlugin(
      {
        ...{ ...child('csi'), ...parts.csi, fs, foreignFiles, mounter, paths },
        ...(loops && { loops }),
        ...(parts.objects && { volumes: parts.objects.claims }),
      },
      { nodeName, showsHealth: volumeHealth },
    );
  const network = networkVolumes(child, ports, settings, { ...parts, paths });
  const plugins = [
    new EmptyDirPlugin({ fs, mounter, paths, clock }, { allocatableMemoryBytes }),
    new HostPathPlugin({ foreignFiles }),
    new ImageVolumePlugin(),
    ...(devices ? [new LocalVolumePlugin({ ...child('volumes'), fs, foreignFiles, mounter, devices, paths })] : []),
    ...(loops ? [new LocalBlockPlugin({ fs, foreignFiles, mounter, loops, paths })] : []),
    ...network.plugins,
    ...(csi ? [csi] : []),
    ...(csi?.block ? [csi.block] : []),
    ...projectionPlugins({ fs, mounter, paths, clock, random, sources }, { allocatableMemoryBytes }),
  ];
  const claims = parts.objects && { ...parts.objects.claims, nodeLabels: () => parts.node.labels() };
  return new VolumeManager(
    {
      ...child('volumes'),
      ...{ fs, foreignFiles, mounter, paths, plugins },
      ...(claims && { claims }),
      ...(network.morePlugins && { morePlugins: network.morePlugins }),
      attachments: { attachedVolumes: parts.attachedVolumes },
      onVolumesInUseChanged: parts.onVolumesInUseChanged,
      onVolumeReady: (uid) => parts.pods.wake(uid),
    },
    {
      supportsRecursiveReadOnly: parts.supportsRecursiveReadOnly,
      ...(settings.selinuxVolumes && { selinux: settings.selinuxVolumes }),
    },
  );
}
