import { type Clock, checkComponents } from '@node-agent/async';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { MountedVolume, UnansweredCall, VolumeMeasurement, VolumePlugin } from '../manager/plugin.ts';
import type { ResolvedVolume, VolumeSpec } from '../manager/resolved-volume.ts';
import { UnansweredCalls } from '../manager/unanswered-calls.ts';
import { mountAt } from '../mount/mount-at.ts';
import type { MountContext } from '../mount/mount-context.ts';
import { isMountPoint, type Mounter } from '../mount/mounter.ts';
import { statfsUsage } from '../mount/statfs-usage.ts';
import { takeAway } from '../mount/take-away.ts';
import { unmountInTime } from '../mount/unmount-in-time.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { nfsSource } from './nfs-source.ts';

const NFS = 'kubernetes.io/nfs';

/** Dependencies of {@link NfsPlugin}. */
export interface NfsComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'remove' | 'realpath'>;
  /** File operations on the volumes' own file systems, which may hang (W6). */
  readonly foreignFiles: Pick<ForeignFiles, 'statfs'>;
  /**
   * Mounts network file systems. Should not be shared with other volumes: a server that does not answer may leave
   * commands that cannot be killed.
   */
  readonly mounter: Pick<Mounter, 'mountPoints' | 'mount' | 'unmount'>;
  readonly paths: Pick<PodPaths, 'volumeDir'>;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/**
 * Plugin for exports of NFS servers (`pkg/volume/nfs`): each pod has its own mount, made by mount(8) and `mount.nfs`.
 * The files keep their group and SELinux labels. A mounted file system is never accessed in this process (W6).
 */
export class NfsPlugin implements VolumePlugin {
  readonly name: string = NFS;
  readonly takesMountOptions = true;
  readonly measuresElsewhere = true;
  readonly #components: WithDefaults<NfsComponents>;
  readonly #calls: UnansweredCalls;

  constructor(given: NfsComponents) {
    checkComponents('NfsPlugin', given, {
      fs: ['mkdir', 'remove', 'realpath'],
      foreignFiles: ['statfs'],
      mounter: ['mountPoints', 'mount', 'unmount'],
      paths: ['volumeDir'],
    });
    this.#components = withDefaults(given);
    this.#calls = new UnansweredCalls(this.#components.clock);
  }

  canSupport({ volume, persistent }: VolumeSpec): boolean {
    return (persistent === undefined ? volume.nfs : persistent.spec?.nfs) !== undefined;
  }

  unanswered(podUid: string, directoryName: string): UnansweredCall | undefined {
    return this.#calls.of(this.#directoryOf(podUid, directoryName));
  }

  async setUp(pod: Pod, volume: ResolvedVolume, _context: MountContext, signal: AbortSignal): Promise<MountedVolume> {
    const { mounter } = this.#components;
    const { source, readOnly, options } = nfsSource(volume);
    const directory = this.#directoryOf(pod.metadata.uid, volume.directoryName);
    if (!(await isMountPoint(this.#components, directory))) {
      const mount = (): Promise<void> => mounter.mount(source, directory, 'nfs', options, signal);
      const call = (): Promise<void> => this.#calls.during(directory, `mount of NFS export ${source}`, mount);
      await mountAt({ ...this.#components, mounter: this.#timed }, directory, call, signal);
    }
    return { hostPath: directory, readOnly, selinuxRelabel: false, foreign: true };
  }

  async tearDown(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    const directory = this.#directoryOf(podUid, directoryName);
    await takeAway({ ...this.#components, mounter: this.#timed }, directory, signal);
  }

  /** Returns the usage of the whole export (upstream: `NewMetricsStatFS`). */
  async usage({ hostPath }: MountedVolume): Promise<VolumeMeasurement> {
    return await statfsUsage(this.#components.foreignFiles, hostPath);
  }

  isRemoving(): boolean {
    return false;
  }

  /** Returns a mounter that unmounts by force if the server does not respond. */
  get #timed(): Pick<Mounter, 'mountPoints' | 'unmount'> {
    const { mounter } = this.#components;
    return {
      mountPoints: () => mounter.mountPoints(),
      unmount: (target, signal, options) =>
        this.#calls.during(target, 'unmount of an NFS export', () =>
          unmountInTime(this.#components, target, signal, options),
        ),
    };
  }

  #directoryOf(podUid: string, directoryName: string): string {
    return this.#components.paths.volumeDir(podUid, NFS, directoryName);
  }
}
