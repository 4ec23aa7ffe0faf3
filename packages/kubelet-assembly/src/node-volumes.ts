import { type Pod, parseQuantity } from '@node-agent/pod-spec';
import {
  EmptyDirPlugin,
  HostPathPlugin,
  ImageVolumePlugin,
  LocalVolumePlugin,
  PodPaths,
  projectionPlugins,
  VolumeManager,
} from '@node-agent/volumes';
import type { ClusterObjects } from './cluster-objects.ts';
import type { PartComponents } from './cluster-ports.ts';
import type { NodeView } from './node-view.ts';
import type { PodLinks } from './pod-links.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** What volumes need of the other parts. */
export interface VolumeParts {
  readonly pods: Pick<PodLinks, 'wake'>;
  readonly node: Pick<NodeView, 'allocatable' | 'labels'>;
  /** Absent where there is no API server: secrets, configMaps, tokens and claims are refused by name then. */
  readonly objects: Pick<ClusterObjects, 'volumeSources' | 'claims'> | undefined;
  readonly supportsRecursiveReadOnly: (pod: Pod) => boolean;
}

/** The volumes of pods, with every type that this kubelet has. */
export function nodeVolumes(
  child: (component: string) => PartComponents,
  ports: Pick<NodePorts, 'fs' | 'foreignFiles' | 'mounter' | 'localDevices' | 'clock' | 'random'>,
  { rootDirectory, nodeAllocatable, node }: AssemblySettings,
  parts: VolumeParts,
): VolumeManager {
  const { fs, foreignFiles, mounter, localDevices: devices, clock, random } = ports;
  const paths = new PodPaths(rootDirectory);
  // What is kept back of the machine's memory is not for volumes either.
  const allocatableMemoryBytes = nodeAllocatable?.memory
    ? Number(parseQuantity(nodeAllocatable.memory).value())
    : node.resources.memoryCapacityBytes;
  const sources = { ...parts.objects?.volumeSources, nodeAllocatable: () => parts.node.allocatable() };
  const plugins = [
    new EmptyDirPlugin({ fs, mounter, paths, clock }, { allocatableMemoryBytes }),
    new HostPathPlugin({ foreignFiles }),
    new ImageVolumePlugin(),
    ...(devices ? [new LocalVolumePlugin({ ...child('volumes'), fs, foreignFiles, mounter, devices, paths })] : []),
    ...projectionPlugins({ fs, mounter, paths, clock, random, sources }, { allocatableMemoryBytes }),
  ];
  const claims = parts.objects && { ...parts.objects.claims, nodeLabels: () => parts.node.labels() };
  return new VolumeManager(
    {
      ...child('volumes'),
      ...{ fs, foreignFiles, mounter, paths, plugins },
      ...(claims && { claims }),
      onVolumeReady: (uid) => parts.pods.wake(uid),
    },
    { supportsRecursiveReadOnly: parts.supportsRecursiveReadOnly },
  );
}
