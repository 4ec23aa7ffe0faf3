import { type Clock, checkComponents } from '@node-agent/async';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import { type EventRecorder, type Logger, withDefaults } from '@node-agent/telemetry';
import type { LocalDevices } from '../claims/local-staging.ts';
import type { VolumePlugin } from '../manager/plugin.ts';
import type { Mounter } from '../mount/mounter.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import type { VolumeSecrets } from '../projected/sources.ts';
import { DiskPlugin } from './disk-plugin.ts';
import type { DiskTools } from './disk-tools.ts';
import { FcDisks } from './fc/fc-disks.ts';
import { IscsiDisks } from './iscsi/iscsi-disks.ts';

/** Dependencies of {@link networkDiskPlugins}. */
export interface NetworkDiskComponents {
  readonly fs: Pick<
    FileSystem,
    'open' | 'mkdir' | 'readdir' | 'exists' | 'remove' | 'removeAll' | 'realpath' | 'writeFileAtomic' | 'giveToGroup'
  >;
  /** Access to the volumes' file systems, which may never answer (W6). */
  readonly foreignFiles: Pick<ForeignFiles, 'stat' | 'statfs'>;
  /** Should not be shared with other volumes: commands for a disk that does not answer cannot be killed. */
  readonly mounter: Pick<Mounter, 'mountPoints' | 'mountsOfSame' | 'bind' | 'rebind' | 'unmount'>;
  /** Mounts connected disks. */
  readonly devices: Pick<LocalDevices, 'formatAndMount'>;
  readonly paths: PodPaths;
  readonly tools: DiskTools;
  /** Secrets with CHAP credentials of iSCSI targets. Absent without an API server. */
  readonly secrets?: VolumeSecrets;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly recorder?: EventRecorder;
}

/** Returns the plugins for disks of other machines: iSCSI and Fibre Channel. */
export function networkDiskPlugins(given: NetworkDiskComponents): readonly VolumePlugin[] {
  checkComponents('networkDiskPlugins', given, { tools: ['run', 'write'] });
  const components = withDefaults(given);
  return [
    // Directories `iface-NAME/PORTAL-IQN-lun-LUN`.
    new DiskPlugin({ ...components, disks: new IscsiDisks(components) }, 2),
    // Directories `WWN-lun-LUN` or `WWID`.
    new DiskPlugin({ ...components, disks: new FcDisks(components) }, 1),
  ];
}
