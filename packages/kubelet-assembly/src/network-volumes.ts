import {
  FlexVolumePlugins,
  NfsPlugin,
  networkDiskPlugins,
  type PodPaths,
  type SecretData,
  type VolumeManagerComponents,
} from '@node-agent/volumes';
import type { ClusterObjects } from './cluster-objects.ts';
import type { PartComponents } from './cluster-ports.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** Components of the node that {@link networkVolumes} needs besides ports and settings. */
export interface NetworkVolumeParts {
  readonly paths: PodPaths;
  readonly objects: Pick<ClusterObjects, 'csi'> | undefined;
  /** Returns the device path of an attached volume, or `undefined`. */
  readonly devicePath: (uniqueName: string) => string | undefined;
}

/** Creates the plugins for network file systems, for disks of other machines, and for flexVolume drivers. */
export function networkVolumes(
  child: (component: string) => PartComponents,
  ports: Pick<
    NodePorts,
    'fs' | 'foreignFiles' | 'networkMounter' | 'networkDevices' | 'loopDevices' | 'flexPrograms' | 'diskTools'
  >,
  { flexVolumeDirectory: directory }: Pick<AssemblySettings, 'flexVolumeDirectory'>,
  { paths, objects, devicePath }: NetworkVolumeParts,
): Pick<VolumeManagerComponents, 'plugins' | 'morePlugins'> {
  const { fs, foreignFiles, networkMounter: mounter, networkDevices: devices } = ports;
  const { flexPrograms: programs, diskTools: tools, loopDevices: loops } = ports;
  if (mounter === undefined) return { plugins: [] };
  const getSecret = (namespace: string, name: string, signal: AbortSignal): Promise<SecretData | undefined> =>
    objects?.csi.objects.getSecret(namespace, name, signal) ?? Promise.resolve(undefined);
  const secrets = objects && { secrets: getSecret };
  const hasController = objects !== undefined;
  const common = { ...child('volumes'), fs, foreignFiles, mounter, paths, hasController };
  return {
    plugins: [
      new NfsPlugin(common),
      ...(tools && devices
        ? networkDiskPlugins({ ...common, ...secrets, devices, tools, ...(loops && { loops }) })
        : []),
    ],
    ...(programs &&
      directory && {
        morePlugins: new FlexVolumePlugins(
          { ...common, ...secrets, programs, devicePath, ...(devices && { devices }) },
          { directory },
        ),
      }),
  };
}
