import { type Clock, checkComponents } from '@node-agent/async';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import { type EventRecorder, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { LoopDevices } from '../block/loop-devices.ts';
import type { LocalDevices } from '../claims/local-staging.ts';
import type { VolumePlugin } from '../manager/plugin.ts';
import { UnansweredCalls } from '../manager/unanswered-calls.ts';
import type { Mounter } from '../mount/mounter.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import type { VolumeSecrets } from '../projected/sources.ts';
import { DiskBlockPlugin } from './disk-block-plugin.ts';
import { DiskConnections } from './disk-connections.ts';
import { DiskPlugin } from './disk-plugin.ts';
import type { DiskTools } from './disk-tools.ts';
import { FcDisks } from './fc/fc-disks.ts';
import { IscsiDisks } from './iscsi/iscsi-disks.ts';
import type { NetworkDisks } from './network-disk.ts';

/** Dependencies of {@link networkDiskPlugins}. */
export interface NetworkDiskComponents {
  readonly fs: Pick<
    FileSystem,
    | 'open'
    | 'mkdir'
    | 'readdir'
    | 'exists'
    | 'lstat'
    | 'remove'
    | 'removeAll'
    | 'realpath'
    | 'readlink'
    | 'symlink'
    | 'writeFile'
    | 'writeFileAtomic'
    | 'giveToGroup'
  >;
  /** File operations on the volumes' own file systems, which may hang (W6). */
  readonly foreignFiles: Pick<ForeignFiles, 'stat' | 'statfs' | 'isDeviceInUse'>;
  /**
   * Mounter for these volumes only. The mounter should not be shared, because it refuses all commands if too many
   * commands hang on a disk.
   */
  readonly mounter: Pick<Mounter, 'mountPoints' | 'mountsOfSame' | 'bind' | 'rebind' | 'unmount'>;
  /** Formats and mounts connected disks. */
  readonly devices: Pick<LocalDevices, 'formatAndMount'>;
  readonly paths: PodPaths;
  readonly tools: DiskTools;
  /** Loop devices, which hold block volumes open. If absent, block volumes are refused. */
  readonly loops?: LoopDevices;
  /** Reads secrets with CHAP credentials of iSCSI targets; absent without an API server. */
  readonly secrets?: VolumeSecrets;
  /**
   * Whether an attach/detach controller decides which node may use a disk. Default: true. A node without an API server
   * has no controller, and connects disks at once; upstream's pods wait for the controller forever.
   */
  readonly hasController?: boolean;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly recorder?: EventRecorder;
}

/** Returns the plugins for disks of other machines: iSCSI and Fibre Channel. */
export function networkDiskPlugins(given: NetworkDiskComponents): readonly VolumePlugin[] {
  checkComponents('networkDiskPlugins', given, { tools: ['run', 'write'] });
  const components = withDefaults(given);
  return [
    // The directories are named `iface-NAME/PORTAL-IQN-lun-LUN`: depth 2.
    ...diskPlugins(components, new IscsiDisks(components), 2),
    // The directories are named `WWN-lun-LUN` or `WWID`: depth 1.
    ...diskPlugins(components, new FcDisks(components), 1),
  ];
}

/**
 * Returns the plugins for disks of one kind: for mounted volumes and, with loop devices, for block volumes.
 * @param depth number of directories between the plugin's directory and the directory of a disk
 */
export function diskPlugins(
  components: WithDefaults<Omit<NetworkDiskComponents, 'tools' | 'secrets'>>,
  disks: NetworkDisks,
  depth: number,
): readonly VolumePlugin[] {
  const { loops, clock } = components;
  const calls = new UnansweredCalls(clock);
  const connections = new DiskConnections({ ...components, disks, calls });
  const parts = { ...components, disks, calls, connections };
  const mounted = new DiskPlugin(parts, depth);
  return loops === undefined ? [mounted] : [mounted, new DiskBlockPlugin({ ...parts, loops }, depth)];
}
