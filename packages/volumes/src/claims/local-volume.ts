import { type Clock, checkComponents, KeyedMutex } from '@node-agent/async';
import type { FileSystem, ForeignFiles, TreeUsage } from '@node-agent/host';
import { type Pod, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { MountedVolume, NodeVolumePlugin, VolumePlugin } from '../manager/plugin.ts';
import { podVolume, type ResolvedVolume, type VolumeSpec } from '../manager/resolved-volume.ts';
import { giveToGroup } from '../mount/fs-group.ts';
import { mountAt } from '../mount/mount-at.ts';
import type { FsGroup, MountContext } from '../mount/mount-context.ts';
import { isMountPoint, type Mounter, mountPointsWithin } from '../mount/mounter.ts';
import { statfsUsage } from '../mount/statfs-usage.ts';
import { takeAway } from '../mount/take-away.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { isReadWriteOncePod, optionsFor } from './claim-rule.ts';
import { type LocalDevices, LocalStaging } from './local-staging.ts';
import { LOCAL_VOLUME, localNodeVolume } from './local-volume-rule.ts';

/** File operations that the plugin needs on the file systems of local volumes. */
export type LocalVolumeFiles = Pick<ForeignFiles, 'stat' | 'statfs'>;

/** Dependencies of {@link LocalVolumePlugin}. */
export interface LocalVolumeComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readdir' | 'remove' | 'realpath' | 'giveToGroup'>;
  /** File operations on the volumes' own file systems, which may hang (W6). */
  readonly foreignFiles: LocalVolumeFiles;
  readonly mounter: Mounter;
  readonly devices: LocalDevices;
  readonly paths: PodPaths;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly recorder?: EventRecorder;
}

/**
 * Plugin for persistent volumes that are a directory or a disk of this machine (`local`, `pkg/volume/local`). A
 * directory is bind-mounted into each pod's directory. A disk is mounted once for the node, and the mount is bound into
 * pods. The data on the volume is never removed.
 */
export class LocalVolumePlugin implements VolumePlugin {
  readonly name: string = LOCAL_VOLUME;
  readonly takesMountOptions = true;
  readonly node: NodeVolumePlugin;
  readonly #components: WithDefaults<LocalVolumeComponents>;
  readonly #staging: LocalStaging;
  /** Serializes pods per volume: the first pod changes the volume's group ownership. */
  readonly #volumes = new KeyedMutex<string>();

  constructor(given: LocalVolumeComponents) {
    checkComponents('LocalVolumePlugin', given, {
      fs: ['mkdir', 'readdir', 'remove', 'realpath', 'giveToGroup'],
      foreignFiles: ['stat', 'statfs'],
      mounter: ['mountPoints', 'mount', 'bind', 'rebind', 'unmount'],
      devices: ['formatAndMount'],
      paths: [
        'stagedDir',
        'stagedVolumeDir',
        'podDir',
        'volumesDir',
        'pluginsDir',
        'subPathsDir',
        'subPathDir',
        'volumeDir',
        'pluginDir',
      ],
    });
    const components = withDefaults(given);
    this.#components = components;
    this.#staging = new LocalStaging(components);
    this.node = this.#staging;
  }

  canSupport({ persistent }: VolumeSpec): boolean {
    return persistent?.spec?.local !== undefined && persistent.spec.volumeMode !== 'Block';
  }

  async resolve(_pod: Pod, spec: VolumeSpec): Promise<ResolvedVolume> {
    const resolved = podVolume(spec);
    const node = { ...localNodeVolume(resolved.directoryName), spec, exclusive: isReadWriteOncePod(spec) };
    return { ...resolved, node };
  }

  async setUp(pod: Pod, volume: ResolvedVolume, context: MountContext, signal: AbortSignal): Promise<MountedVolume> {
    const { directoryName, readOnly = false } = volume;
    const directory = this.#components.paths.volumeDir(pod.metadata.uid, LOCAL_VOLUME, directoryName);
    const source = await this.#staging.sourceOf(volume, signal);
    await this.#volumes.run(
      directoryName,
      async () => {
        if (await isMountPoint(this.#components, directory)) return;
        // The ownership is changed before the mount. After a crash, an existing mount therefore shows that the
        // ownership is complete.
        if (context.fsGroup && !readOnly) await this.#giveToGroup(pod, volume, source, context.fsGroup, signal);
        const { mounter } = this.#components;
        await mountAt(this.#components, directory, () => mounter.bind(source, directory, signal), signal);
      },
      signal,
    );
    await this.#restrict(source, directory, volume, signal);
    return { hostPath: directory, readOnly, selinuxRelabel: !readOnly, foreign: true };
  }

  async expand(
    { hostPath }: MountedVolume,
    volume: ResolvedVolume,
    _bytes: bigint,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#staging.grow(volume, hostPath, signal);
  }

  async tearDown(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    await takeAway(this.#components, this.#components.paths.volumeDir(podUid, LOCAL_VOLUME, directoryName), signal);
  }

  /** Returns the usage of the volume's whole file system (upstream: `NewMetricsStatFS`). */
  async usage({ hostPath }: MountedVolume): Promise<TreeUsage> {
    return await statfsUsage(this.#components.foreignFiles, hostPath);
  }

  isRemoving(): boolean {
    return false;
  }

  /**
   * Applies the mount options, even if the directory is already mounted: after a crash between bind and remount, the
   * mount exists without its options.
   */
  async #restrict(source: string, directory: string, volume: ResolvedVolume, signal: AbortSignal): Promise<void> {
    const options = optionsFor(volume);
    if (options.length > 0) await this.#components.mounter.rebind(source, directory, options, signal);
  }

  /** Changes the group ownership if no other pod uses the volume; otherwise the other pods would lose access. */
  async #giveToGroup(
    pod: Pod,
    { directoryName }: ResolvedVolume,
    source: string,
    fsGroup: FsGroup,
    signal: AbortSignal,
  ): Promise<void> {
    const { foreignFiles, recorder, paths } = this.#components;
    const root = await foreignFiles.stat(source, signal);
    if (!(await this.#isInPods(directoryName))) {
      const shownAs = paths
        .volumeDir(pod.metadata.uid, LOCAL_VOLUME, directoryName)
        .slice(paths.podDir(pod.metadata.uid).length + 1);
      await giveToGroup(this.#components, { pod, path: source, root, shownAs }, fsGroup);
    } else if (root.gid !== fsGroup.gid) {
      const groups = `The requested fsGroup is ${fsGroup.gid}, but the volume ${directoryName} has GID ${root.gid}.`;
      const message = `${groups} The volume may not be shareable.`;
      recorder.event(podReference(pod), 'Warning', eventReasons.alreadyMountedVolume, message);
    }
  }

  async #isInPods(directoryName: string): Promise<boolean> {
    const { paths } = this.#components;
    const end = paths.volumeDir('uid', LOCAL_VOLUME, directoryName).slice(paths.podDir('uid').length);
    return (await mountPointsWithin(this.#components, paths.podsDir)).some((point) => point.endsWith(end));
  }
}
