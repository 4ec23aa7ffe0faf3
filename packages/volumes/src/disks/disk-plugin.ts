import { type Clock, checkComponents, KeyedMutex } from '@node-agent/async';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { type EventRecorder, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { optionsFor } from '../claims/claim-rule.ts';
import type { LocalDevices } from '../claims/local-staging.ts';
import { VolumeError } from '../errors.ts';
import type {
  MountedVolume,
  NodeVolumePlugin,
  UnansweredCall,
  VolumeMeasurement,
  VolumePlugin,
} from '../manager/plugin.ts';
import type { NodeVolume, ResolvedVolume, VolumeSpec } from '../manager/resolved-volume.ts';
import type { UnansweredCalls } from '../manager/unanswered-calls.ts';
import { tryGiveToGroup } from '../mount/fs-group.ts';
import { mountAt } from '../mount/mount-at.ts';
import type { MountContext } from '../mount/mount-context.ts';
import { isMountPoint, type Mounter } from '../mount/mounter.ts';
import { statfsUsage } from '../mount/statfs-usage.ts';
import { takeAway } from '../mount/take-away.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import type { DiskConnections } from './disk-connections.ts';
import { DiskStaging, type DiskStagingComponents } from './disk-staging.ts';
import { diskVolume, isOnDisk } from './disk-volume.ts';
import type { NetworkDisks } from './network-disk.ts';

/** Dependencies of {@link DiskPlugin}. */
export interface DiskPluginComponents {
  readonly fs: DiskStagingComponents['fs'] & Pick<FileSystem, 'giveToGroup'>;
  /** File operations on the volumes' own file systems, which may hang (W6). */
  readonly foreignFiles: Pick<ForeignFiles, 'stat' | 'statfs'>;
  readonly mounter: Pick<Mounter, 'mountPoints' | 'mountsOfSame' | 'bind' | 'rebind' | 'unmount'>;
  readonly devices: Pick<LocalDevices, 'formatAndMount'>;
  readonly paths: Pick<PodPaths, 'pluginDataDir' | 'volumeDir' | 'podDir'>;
  readonly disks: NetworkDisks;
  readonly connections: DiskConnections;
  readonly calls: UnansweredCalls;
  /** See `NetworkDiskComponents`. Default: true. */
  readonly hasController?: boolean;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly recorder?: EventRecorder;
}

/**
 * Plugin for disks of other machines (`pkg/volume/iscsi`, `pkg/volume/fc`): a disk is connected and mounted once for
 * the node, and the mount is bound into each pod. The attach/detach controller does not connect the disk; it only
 * decides whether this node may use it.
 */
export class DiskPlugin implements VolumePlugin {
  readonly name: string;
  readonly takesMountOptions = true;
  readonly measuresElsewhere = true;
  readonly node: NodeVolumePlugin;
  readonly #components: WithDefaults<DiskPluginComponents>;
  readonly #staging: DiskStaging;
  readonly #calls: UnansweredCalls;
  /** Serializes the set-ups of one volume for several pods, because each set-up changes the group of the same files. */
  readonly #volumes = new KeyedMutex<string>();

  /** @param depth number of directories between the plugin's directory and the mount of a disk */
  constructor(given: DiskPluginComponents, depth: number) {
    checkComponents('DiskPlugin', given, {
      fs: ['open', 'mkdir', 'readdir', 'remove', 'removeAll', 'realpath', 'writeFileAtomic', 'giveToGroup'],
      foreignFiles: ['stat', 'statfs'],
      mounter: ['mountPoints', 'mountsOfSame', 'bind', 'rebind', 'unmount'],
      devices: ['formatAndMount'],
      paths: ['pluginDataDir', 'volumeDir', 'podDir'],
      disks: ['source', 'connect', 'disconnect'],
    });
    const components = withDefaults(given);
    this.#components = components;
    this.name = components.disks.plugin;
    this.#calls = components.calls;
    this.#staging = new DiskStaging(components, depth);
    this.node = this.#staging;
  }

  canSupport(spec: VolumeSpec): boolean {
    return spec.persistent?.spec?.volumeMode !== 'Block' && isOnDisk(this.#components.disks, spec);
  }

  supportsSelinuxMount(): boolean {
    return true;
  }

  async resolve(pod: Pod, spec: VolumeSpec): Promise<ResolvedVolume> {
    const { connections, hasController = true } = this.#components;
    return diskVolume(this.name, connections, hasController, pod, spec);
  }

  unanswered(_podUid: string, _directoryName: string, node: NodeVolume | undefined): UnansweredCall | undefined {
    return node && this.#calls.of(node.uniqueName);
  }

  async setUp(pod: Pod, volume: ResolvedVolume, context: MountContext, signal: AbortSignal): Promise<MountedVolume> {
    const { mounter, paths } = this.#components;
    const source = this.#components.connections.sourceOf(volume);
    const { readOnly } = source;
    const staged = this.#staging.directoryOf(source);
    const path = paths.volumeDir(pod.metadata.uid, this.name, volume.directoryName);
    if (!(await isMountPoint(this.#components, path))) {
      if (!(await isMountPoint(this.#components, staged))) {
        throw new VolumeError('MountFailed', `the disk is not mounted at ${staged} any more`);
      }
      await mountAt(this.#components, path, () => mounter.bind(staged, path, signal), signal);
    }
    const options = optionsFor({ ...volume, readOnly });
    if (options.length > 0) await mounter.rebind(staged, path, options, signal);
    const { fsGroup } = context;
    if (fsGroup !== undefined && !readOnly) {
      const shownAs = path.slice(paths.podDir(pod.metadata.uid).length + 1);
      const give = (): Promise<void> => tryGiveToGroup(this.#components, { pod, path, shownAs }, fsGroup, signal);
      await this.#volumes.run(source.uniqueName, give, signal);
    }
    return { hostPath: path, readOnly, selinuxRelabel: !readOnly && volume.selinuxLabel === undefined, foreign: true };
  }

  async tearDown(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    await takeAway(this.#components, this.#components.paths.volumeDir(podUid, this.name, directoryName), signal);
  }

  /** Returns the usage of the volume's whole file system (upstream: `NewMetricsStatFS`). */
  async usage({ hostPath }: MountedVolume): Promise<VolumeMeasurement> {
    return await statfsUsage(this.#components.foreignFiles, hostPath);
  }

  isRemoving(): boolean {
    return false;
  }
}
