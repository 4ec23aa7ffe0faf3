import { type Clock, checkComponents } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import type { ClaimSource } from '../claims/claim-source.ts';
import type { Mounter } from '../mount/mounter.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import type { SubPathForeignFiles } from '../paths/sub-path-mounts.ts';
import type { SelinuxSettings } from '../selinux/selinux-labels.ts';
import type { VolumePlugin } from './plugin.ts';
import type { PluginSource } from './plugin-set.ts';
import type { AttachedVolumes } from './volume-attachments.ts';

/** Dependencies of `VolumeManager`. */
export interface VolumeManagerComponents {
  readonly fs: Pick<
    FileSystem,
    'mkdir' | 'readdir' | 'writeFile' | 'remove' | 'removeAll' | 'realpath' | 'lstat' | 'holdBeneath'
  >;
  /** File operations on file systems that may hang, for the subPaths of host paths. */
  readonly foreignFiles: SubPathForeignFiles;
  readonly mounter: Mounter;
  readonly paths: PodPaths;
  /** Plugins of the supported volume types; the first that supports a volume is used. */
  readonly plugins: readonly VolumePlugin[];
  /** Plugins that come and go while the kubelet runs. Default: none. */
  readonly morePlugins?: PluginSource;
  /** Source of PVCs; absent without an API server. If absent, volumes with a PVC are refused. */
  readonly claims?: ClaimSource;
  /**
   * The node's status in the API server. If absent, volumes that a controller attaches never become ready; all other
   * volumes are not affected.
   */
  readonly attachments?: AttachedVolumes;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** Default: no events. */
  readonly recorder?: EventRecorder;
  /** Called when a volume became ready after its pod had stopped waiting, so that the pod can be synced now. */
  readonly onVolumeReady?: (podUid: string) => void;
  /** Called when `VolumeManager.volumesInUse` has changed, so that the node's status can be written now. */
  readonly onVolumesInUseChanged?: () => void;
}

export interface VolumeManagerOptions {
  /** SELinux on this node. If absent, volumes are mounted without SELinux labels. */
  readonly selinux?: SelinuxSettings;
  /** Returns whether the runtime of a pod supports recursive read-only mounts (KEP-3857). Default: returns false. */
  readonly supportsRecursiveReadOnly?: (pod: Pod) => boolean;
}

/** Checks the components that a caller without types passed. @throws an error that names what is missing */
export function checkVolumeManager(given: VolumeManagerComponents): void {
  checkComponents('VolumeManager', given, {
    fs: ['mkdir', 'readdir', 'remove', 'writeFile', 'removeAll', 'realpath', 'lstat', 'holdBeneath'],
    foreignFiles: ['lstat', 'holdBeneath'],
    mounter: ['mountPoints', 'mount', 'bind', 'rebind', 'unmount'],
    paths: [
      'stagedDir',
      'stagedVolumeDir',
      'podDir',
      'volumesDir',
      'volumeDevicesDir',
      'pluginsDir',
      'subPathsDir',
      'subPathDir',
      'volumeDir',
      'pluginDir',
    ],
    plugins: 'list',
  });
}
