import type { FileSystem } from '@node-agent/host';
import type { Container, Mount, Pod, Volume } from '@node-agent/pod-spec';
import {
  type EventRecorder,
  eventReasons,
  type Gauge,
  type LogFields,
  type Logger,
  type Metrics,
} from '@node-agent/telemetry';
import { containerMounts, unsupportedMounts } from './container-mounts.ts';
import { VolumeError } from './errors.ts';
import type { Mounter } from './mounter.ts';
import { removeEmptyVolume, removeOrphanedPod } from './orphaned-pod.ts';
import { type MountedVolume, type VolumePlugin, volumeType } from './plugin.ts';
import type { PodPaths } from './pod-paths.ts';
import { mountedVolumes } from './pod-volumes.ts';
import { isOfPlugin, podsOnDisk, volumesOnDisk } from './volumes-on-disk.ts';

/** What {@link VolumeManager} works with. */
export interface VolumeManagerComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readdir' | 'remove' | 'removeAll' | 'realpath'>;
  readonly mounter: Mounter;
  readonly paths: PodPaths;
  /** The types of volumes that there are; a volume goes to the first that can support it. */
  readonly plugins: readonly VolumePlugin[];
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
}

export interface VolumeManagerOptions {
  /** Whether the runtime of a pod can make submounts read-only too (KEP-3857); no by default. */
  readonly supportsRecursiveReadOnly?: (pod: Pod) => boolean;
}

/**
 * Sets the volumes of pods up and takes them away (`pkg/kubelet/volumemanager`). Volumes of one pod are set up side by
 * side, and no pod waits for another one's (C7). What a former process left is found on the disk, so nothing has to be
 * remembered across a restart (K1).
 */
export class VolumeManager {
  readonly #components: VolumeManagerComponents;
  readonly #supportsRecursiveReadOnly: (pod: Pod) => boolean;
  /** What is ready: by pod UID, then by volume name. */
  readonly #mounted = new Map<string, Map<string, MountedVolume>>();
  /** Pods whose directories were asked for since the last sweep began: the sweep's caller may not know of them yet. */
  readonly #wanted = new Set<string>();
  /** Pods whose directories are being removed. */
  readonly #removals = new Map<string, Promise<void>>();
  readonly #orphans: Gauge;
  readonly #orphanErrors: Gauge;

  constructor(components: VolumeManagerComponents, options: VolumeManagerOptions = {}) {
    this.#components = components;
    this.#supportsRecursiveReadOnly = options.supportsRecursiveReadOnly ?? (() => false);
    this.#orphans = components.metrics.gauge({
      name: 'kubelet_orphan_pod_cleaned_volumes',
      help: 'The total number of orphaned Pods whose volumes were cleaned in the last periodic sweep.',
    });
    this.#orphanErrors = components.metrics.gauge({
      name: 'kubelet_orphan_pod_cleaned_volumes_errors',
      help: 'The number of orphaned Pods whose volumes failed to be cleaned in the last periodic sweep.',
    });
  }

  /** Ends the removals that a former process began, then waits until `signal` is aborted: all else is done when asked for. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#finishRemovals(signal);
    if (signal.aborted) return;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }

  /** What a pod asks for and this kubelet has not got, one line for each; a pod with any of it cannot run here. */
  unsupported(pod: Pod): readonly string[] {
    const volumes = mountedVolumes(pod).map((volume) => this.#unsupportedVolume(volume));
    return [...volumes.filter((message) => message !== undefined), ...unsupportedMounts(pod)];
  }

  /**
   * Makes the directories that each pod has, of mode 0750: its own, `volumes` and `plugins`. Where a sweep is about to
   * remove them it waits for that: a static pod that comes back has the UID that it had.
   */
  async makePodDataDirs(uid: string): Promise<void> {
    const { fs, paths } = this.#components;
    this.#wanted.add(uid);
    await this.#removals.get(uid);
    for (const directory of [paths.podsDir, paths.podDir(uid), paths.volumesDir(uid), paths.pluginsDir(uid)]) {
      await fs.mkdir(directory, { mode: 0o750 });
    }
  }

  /**
   * Sets up all volumes that the pod's containers mount; those that are ready stay as they are, except that what the
   * kubelet fills is brought up to date. Each that fails has an
   * event of its own, and the others are set up all the same: a later call goes on from there.
   * @throws VolumeError `NotMounted`, naming each volume that is missing, and why
   */
  async waitForAttachAndMount(pod: Pod, signal: AbortSignal): Promise<void> {
    const unsupported = mountedVolumes(pod).filter((volume) => this.#unsupportedVolume(volume) !== undefined);
    const failures = await Promise.all(mountedVolumes(pod).map((volume) => this.#setUp(pod, volume, signal)));
    signal.throwIfAborted();
    const failed = failures.filter((failure) => failure !== undefined);
    if (failed.length === 0) return;
    const names = failed.map(({ volume }) => volume.name).sort();
    const unprocessed = unsupported.map(({ name }) => name).sort();
    const reasons = failed.map(({ error }) => error.message).join('; ');
    throw new VolumeError(
      'NotMounted',
      `unmounted volumes=[${names.join(' ')}], unattached volumes=[], failed to process volumes=[${unprocessed.join(' ')}]: ${reasons}`,
      failed[0]?.error,
    );
  }

  /**
   * Takes all volumes of a pod away that has no container any more, those that a former process set up among them.
   * @throws VolumeError `StillMounted`, naming each volume that is left, and why
   */
  async waitForUnmount(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.#tearDown(pod.metadata.uid, signal);
  }

  /**
   * What of the pod's volumes shows in a container; see {@link waitForAttachAndMount} for when they are ready.
   * @throws VolumeError `NotMounted`, `UnsupportedMount`
   */
  async containerMounts(pod: Pod, container: Container): Promise<readonly Mount[]> {
    const volumes = this.#mounted.get(pod.metadata.uid) ?? new Map<string, MountedVolume>();
    return containerMounts(container, volumes, this.#supportsRecursiveReadOnly(pod));
  }

  /** Where a volume of a pod is that is ready; `undefined` where it is not. */
  volumePath(pod: Pod, volumeName: string): string | undefined {
    return this.#mounted.get(pod.metadata.uid)?.get(volumeName)?.hostPath;
  }

  /** Whether anything of the pod's volumes is left, or may be: where the disk does not tell, it is. */
  async podVolumesExist(uid: string): Promise<boolean> {
    if ((this.#mounted.get(uid)?.size ?? 0) > 0) return true;
    const { fs, paths, logger } = this.#components;
    try {
      return (await volumesOnDisk(fs, paths, uid)).length > 0;
    } catch (err) {
      logger.error({ err, podUid: uid }, 'Volumes of a pod cannot be looked up on disk');
      return true;
    }
  }

  /**
   * Takes away what is on the disk of pods that nobody knows: first their volumes, then their directories.
   * @param isKnown whether a pod is wanted, or has anything that runs; asked right before its directory is touched
   * @throws VolumeError `StillMounted` after all others were cleaned, naming each pod that could not be
   */
  async cleanupOrphanedPodDirs(isKnown: (uid: string) => boolean, signal?: AbortSignal): Promise<void> {
    const { fs, paths } = this.#components;
    const failures: string[] = [];
    let orphans = 0;
    this.#wanted.clear();
    for (const uid of await podsOnDisk(fs, paths)) {
      if (signal?.aborted || isKnown(uid) || this.#wanted.has(uid)) continue;
      orphans++;
      const removal = this.#removeOrphan(uid, signal ?? new AbortController().signal).catch((error: unknown) => {
        failures.push(VolumeError.from(error).message);
      });
      this.#removals.set(uid, removal);
      await removal;
      this.#removals.delete(uid);
    }
    this.#orphans.set({}, orphans);
    this.#orphanErrors.set({}, failures.length);
    if (failures.length > 0) throw new VolumeError('StillMounted', failures.join('; '));
  }

  async #removeOrphan(uid: string, signal: AbortSignal): Promise<void> {
    await this.#tearDown(uid, signal);
    await removeOrphanedPod(this.#components, uid);
  }

  /** What cannot be looked at or removed now is taken away with the rest of its pod: no reason not to start. */
  async #finishRemovals(signal: AbortSignal): Promise<void> {
    const { fs, paths, plugins, logger } = this.#components;
    const attempt = async (fields: LogFields, work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (err) {
        if (!signal.aborted) logger.warn({ err, ...fields }, 'Removals that had been cut short are not ended');
      }
    };
    await attempt({}, async () => {
      for (const podUid of await podsOnDisk(fs, paths)) {
        await attempt({ podUid }, async () => {
          for (const { name, ...volume } of await volumesOnDisk(fs, paths, podUid)) {
            const plugin = plugins.find((candidate) => isOfPlugin({ name, ...volume }, candidate));
            if (signal.aborted || !plugin?.isRemoving(name)) continue;
            await attempt({ podUid, volume: name }, async () => {
              await plugin.tearDown(podUid, name, signal);
              logger.info({ podUid, volume: name }, 'Volume is removed whose removal had been cut short');
            });
          }
        });
      }
    });
  }

  #plugin(volume: Volume): VolumePlugin | undefined {
    return this.#components.plugins.find((plugin) => plugin.canSupport(volume));
  }

  #unsupportedVolume(volume: Volume): string | undefined {
    const plugin = this.#plugin(volume);
    return plugin === undefined ? unsupportedType(volume) : plugin.unsupported?.(volume);
  }

  async #setUp(
    pod: Pod,
    volume: Volume,
    signal: AbortSignal,
  ): Promise<{ readonly volume: Volume; readonly error: VolumeError } | undefined> {
    const { uid, name, namespace } = pod.metadata;
    const plugin = this.#plugin(volume);
    try {
      if (plugin === undefined) throw new VolumeError('UnsupportedVolume', unsupportedType(volume));
      const mounted = await plugin.setUp(pod, volume, signal);
      const ofPod = this.#mounted.get(uid) ?? new Map<string, MountedVolume>();
      this.#mounted.set(uid, ofPod.set(volume.name, mounted));
      return undefined;
    } catch (thrown) {
      const error = VolumeError.from(thrown);
      if (!signal.aborted) {
        this.#components.recorder.event(
          { kind: 'Pod', apiVersion: 'v1', namespace, name, uid },
          'Warning',
          eventReasons.failedMountVolume,
          `MountVolume.SetUp failed for volume "${volume.name}" : ${error.message}`,
        );
      }
      // Containers that run keep the content that they have: only a volume that was never ready stops its pod.
      const stays = plugin?.refreshes === true && this.#mounted.get(uid)?.has(volume.name) === true;
      return stays ? undefined : { volume, error };
    }
  }

  async #tearDown(uid: string, signal: AbortSignal): Promise<void> {
    const { fs, paths, plugins } = this.#components;
    const failures: string[] = [];
    this.#mounted.delete(uid);
    for (const volume of await volumesOnDisk(fs, paths, uid)) {
      signal.throwIfAborted();
      const plugin = plugins.find((candidate) => isOfPlugin(volume, candidate));
      try {
        // What no plugin knows, another program put there: it is told of, and stays, unless it is empty.
        if (plugin === undefined) await removeEmptyVolume(this.#components, uid, volume);
        else await plugin.tearDown(uid, volume.name, signal);
      } catch (error) {
        failures.push(`${volume.plugin}/${volume.name}: ${VolumeError.from(error).message}`);
      }
    }
    if (failures.length === 0) return;
    throw new VolumeError('StillMounted', `mounted volumes of pod ${uid}: ${failures.join('; ')}`);
  }
}

function unsupportedType(volume: Volume): string {
  return `volume ${volume.name}: type ${volumeType(volume)} is not supported by this kubelet`;
}
