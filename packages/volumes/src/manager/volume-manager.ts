import { type Clock, checkComponents, checkOptions, StartOnce, untilAborted, withTimeout } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { type Container, type Mount, type Pod, podReference, type Volume } from '@node-agent/pod-spec';
import {
  type EventRecorder,
  eventReasons,
  type Logger,
  type Metrics,
  type WithDefaults,
  withDefaults,
} from '@node-agent/telemetry';
import { volumeGid } from '../claims/claim-rule.ts';
import type { ClaimSource } from '../claims/claim-source.ts';
import { VolumeError } from '../errors.ts';
import type { Mounter } from '../mount/mounter.ts';
import { PodDirectories } from '../paths/pod-directories.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { type MountVariable, subPathOf } from '../paths/sub-path.ts';
import { type SubPathForeignFiles, SubPathMounts } from '../paths/sub-path-mounts.ts';
import { subPathVolumesOnDisk, volumesOnDisk } from '../paths/volumes-on-disk.ts';
import { containerMounts, mountedVolume, type SubPathPlace, unsupportedMounts } from './container-mounts.ts';
import { Leftovers } from './leftovers.ts';
import { failedMountMessage, mismatchMessage } from './mount-messages.ts';
import type { VolumePlugin } from './plugin.ts';
import { mountedVolumes } from './pod-volumes.ts';
import type { ResolvedVolume } from './resolved-volume.ts';
import { volumeActions } from './volume-actions.ts';
import { VolumeMetrics } from './volume-metrics.ts';
import { earliestRetry, VolumeOperations, type VolumeOutcome } from './volume-operations.ts';
import { isRefusal, VolumeResolver, volumeId } from './volume-resolver.ts';
import { type VolumeUsage, VolumeUsages } from './volume-usage.ts';

/** What {@link VolumeManager} works with. */
export interface VolumeManagerComponents {
  readonly fs: Pick<
    FileSystem,
    'mkdir' | 'readdir' | 'writeFile' | 'remove' | 'removeAll' | 'realpath' | 'lstat' | 'holdBeneath'
  >;
  /** Of file systems that may never answer: parts of host paths are found through it. */
  readonly foreignFiles: SubPathForeignFiles;
  readonly mounter: Mounter;
  readonly paths: PodPaths;
  /** The types of volumes that there are; a volume goes to the first that can support it. */
  readonly plugins: readonly VolumePlugin[];
  /** Absent where there is no API server: claims are refused by name then. */
  readonly claims?: ClaimSource;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** Nobody is told where absent. */
  readonly recorder?: EventRecorder;
  /** Told of a pod with a volume that became ready after its pod had given up waiting: its next sync need not wait. */
  readonly onVolumeReady?: (podUid: string) => void;
}

export interface VolumeManagerOptions {
  /** Whether the runtime of a pod can make submounts read-only too (KEP-3857); no by default. */
  readonly supportsRecursiveReadOnly?: (pod: Pod) => boolean;
}

/** How long a pod waits for an operation that does not end, in milliseconds. */
const WAIT_MS = 123_000;

/**
 * Sets the volumes of pods up and takes them away (`pkg/kubelet/volumemanager`). Volumes of one pod are set up side by
 * side, and none waits for another (C7); what fails is tried again with a back-off of its own. What a former process left
 * is found on the disk, so nothing has to be remembered across a restart (K1).
 */
export class VolumeManager {
  readonly #components: WithDefaults<VolumeManagerComponents>;
  readonly #supportsRecursiveReadOnly: (pod: Pod) => boolean;
  readonly #operations: VolumeOperations;
  readonly #resolver: VolumeResolver;
  readonly #leftovers: Leftovers;
  readonly #subPaths: SubPathMounts;
  readonly #usages: VolumeUsages;
  readonly #directories: PodDirectories;
  /** Since when pods wait for volumes that failed, or when that was told last, by the monotonic clock. */
  readonly #waitingSince = new Map<string, number>();
  readonly #startOnce = new StartOnce('VolumeManager');

  constructor(given: VolumeManagerComponents, options: VolumeManagerOptions = {}) {
    checkOptions('VolumeManager', options, { supportsRecursiveReadOnly: 'function?' });
    checkComponents('VolumeManager', given, {
      fs: ['mkdir', 'readdir', 'remove', 'writeFile', 'removeAll', 'realpath', 'lstat', 'holdBeneath'],
      foreignFiles: ['lstat', 'holdBeneath'],
      mounter: ['mountPoints', 'mount', 'bind', 'rebind', 'unmount'],
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
      plugins: 'list',
    });
    const components = withDefaults(given);
    this.#components = components;
    this.#supportsRecursiveReadOnly = options.supportsRecursiveReadOnly ?? (() => false);
    const metrics = new VolumeMetrics(components.metrics);
    this.#subPaths = new SubPathMounts(components);
    this.#resolver = new VolumeResolver({
      ...components,
      onRefused: (pod, { message }) => this.#tellFailedMount(pod, message),
    });
    this.#operations = new VolumeOperations({
      ...components,
      metrics,
      onFailure: (pod, volume, error, step) => {
        if (error.code === 'FileSystemMismatch') this.#tellMismatch(volume, error);
        this.#tellFailedMount(pod, failedMountMessage(volume.directoryName, error, step));
      },
      onReady: (podUid) => components.onVolumeReady?.(podUid),
    });
    this.#leftovers = new Leftovers({
      ...components,
      metrics,
      operations: this.#operations,
      subPaths: this.#subPaths,
    });
    this.#usages = new VolumeUsages({
      ...components,
      allMounted: (podUid) => this.#operations.allMounted(podUid),
    });
    this.#directories = new PodDirectories({
      ...components,
      tearDown: (uid, signal) => this.#tearDown(uid, signal),
    });
  }

  /** Takes in what a former process left, and ends the removals that it began; runs until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    // It never rejects, and whoever ends waits for no disk that hangs.
    void this.#leftovers.takeIn(signal);
    await untilAborted(signal);
    this.#operations.close(signal.reason);
  }

  /** What a pod asks for and this kubelet has not got, one line for each; a pod with any of it cannot run here. */
  unsupported(pod: Pod): readonly string[] {
    const volumes = mountedVolumes(pod).map((volume) => this.#resolver.unsupported(pod, volume));
    return [...volumes.filter((message) => message !== undefined), ...unsupportedMounts(pod)];
  }

  /**
   * Makes the directories that each pod has, of mode 0750: its own, `volumes` and `plugins`. Where a sweep is about to
   * remove them it waits for that: a static pod that comes back has the UID that it had.
   */
  async makePodDataDirs(uid: string): Promise<void> {
    await this.#directories.make(uid);
  }

  /**
   * Sets up all volumes that the pod's containers mount. Those that are ready stay as they are; what the kubelet fills is
   * brought up to date, which is not waited for. Each that fails has an event of its own, and the others are set up all the
   * same. What has failed a moment ago is not tried at once: the error says when it will be.
   * @throws VolumeError `NotMounted`, naming each volume that is missing, and why
   */
  async waitForAttachAndMount(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const startMs = this.#components.clock.monotonic();
    const volumes = mountedVolumes(pod);
    /** Those of which it is not known what they are. */
    const unknown = new Set<string>();
    const outcomes = await this.#inTime(
      signal,
      async (linked) => {
        const failures = await Promise.all(volumes.map((volume) => this.#want(pod, volume, unknown, linked)));
        const known = await this.#operations.settled(uid, linked);
        return [...failures.filter((failure) => failure !== undefined), ...known];
      },
      () => [...unknown, ...this.#operations.unsettled(uid)],
    );
    const failed = outcomes.filter(({ failure }) => failure !== undefined);
    if (failed.length === 0) {
      this.#waitingSince.delete(uid);
      return;
    }
    const names = [...new Set(failed.map(({ name }) => name))].sort();
    const unprocessed = volumes.filter(
      (volume) => unknown.has(volume.name) || this.#resolver.unsupported(pod, volume) !== undefined,
    );
    const reasons = failed.map(({ failure }) => failure?.message).join('; ');
    throw new VolumeError(
      'NotMounted',
      `unmounted volumes=[${names.join(' ')}], unattached volumes=[], failed to process volumes=[${unprocessed
        .map(({ name }) => name)
        .sort()
        .join(' ')}]: ${reasons}`,
      failed[0]?.failure,
      { retryAtMs: earliestRetry(failed), isTold: this.#isTold(uid, startMs) && unknown.size === 0 },
    );
  }

  /** Each volume has an event when it fails; one of the pod as a whole follows when it has waited for as long as one waits. */
  #isTold(uid: string, startMs: number): boolean {
    const nowMs = this.#components.clock.monotonic();
    const sinceMs = this.#waitingSince.get(uid) ?? startMs;
    const isTold = nowMs - sinceMs < WAIT_MS;
    this.#waitingSince.set(uid, isTold ? sinceMs : nowMs);
    return isTold;
  }

  /**
   * A secret, a configMap or something else that the pod's volumes are filled with has changed: they are brought up to date
   * now, and those that could not be set up for want of it are tried again at once.
   */
  refresh(podUid: string): void {
    this.#operations.refresh(podUid);
  }

  /**
   * Takes all volumes of a pod away that has no container any more, those that a former process set up among them.
   * @throws VolumeError `StillMounted`, naming each volume that is left, and why
   */
  async waitForUnmount(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.#tearDown(pod.metadata.uid, signal);
  }

  /**
   * What of the pod's volumes shows in a container; see {@link waitForAttachAndMount} for when they are ready. Parts of volumes
   * (`subPath`) are mounted now, and stay until the pod's volumes are taken away.
   * @param environment what `subPathExpr` is expanded from: the container's variables
   * @throws VolumeError `NotMounted`, `UnsupportedMount`, `InvalidPath`, `SubPathFailed`
   */
  async containerMounts(
    pod: Pod,
    container: Container,
    environment: readonly MountVariable[],
    signal: AbortSignal,
  ): Promise<readonly Mount[]> {
    const { uid: podUid } = pod.metadata;
    const volumes = this.#operations.allMounted(podUid);
    const subPaths = new Map<number, SubPathPlace>();
    for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
      const path = subPathOf(mount, environment);
      if (path === '') continue;
      const volume = mountedVolume(container, mount, volumes);
      if (volume.isImage) {
        subPaths.set(index, { path });
        continue;
      }
      const { directoryName } = volume.resolved;
      const part = { podUid, container: container.name, volumeName: mount.name, directoryName, volume, index, path };
      subPaths.set(index, { path, hostPath: await this.#subPaths.prepare(part, signal) });
    }
    return containerMounts(container, volumes, this.#supportsRecursiveReadOnly(pod), subPaths);
  }

  /**
   * What the pod's volumes take that are ready, those of host paths left out. They are walked now, beside all else; one that
   * cannot be measured is left out and logged.
   */
  volumeUsage(pod: Pod, signal: AbortSignal): Promise<readonly VolumeUsage[]> {
    return this.#usages.of(pod, signal);
  }

  /** Groups that the pod's persistent volumes ask for beside its own (`GetExtraSupplementalGroupsForPod`); of those that are ready. */
  extraSupplementalGroups({ metadata, spec }: Pod): readonly number[] {
    const own = spec.securityContext?.supplementalGroups ?? [];
    const ready = [...this.#operations.allMounted(metadata.uid).values()];
    const asked = ready.map(({ resolved: { persistent } }) => persistent && volumeGid(persistent));
    return [...new Set(asked.filter((gid) => gid !== undefined))].filter((gid) => !own.includes(gid));
  }

  /** Where a volume of a pod is that is ready; `undefined` where it is not, and for one made from an image. */
  volumePath(pod: Pod, volumeName: string): string | undefined {
    return this.#operations.mounted(pod.metadata.uid, volumeName)?.hostPath || undefined;
  }

  /** Whether anything of the pod's volumes is left, or may be: where the disk does not tell, it is. */
  async podVolumesExist(uid: string): Promise<boolean> {
    if (this.#operations.allMounted(uid).size > 0) return true;
    const { fs, paths, logger } = this.#components;
    try {
      if ((await subPathVolumesOnDisk(fs, paths, uid)).length > 0) return true;
      return (await volumesOnDisk(fs, paths, uid)).length > 0;
    } catch (err) {
      logger.error({ err, podUid: uid }, 'Volumes of a pod cannot be looked up on disk');
      return true;
    }
  }

  /**
   * Takes away what is on the disk of pods that nobody knows: first their volumes, then their directories. Pods side by side,
   * so that one that takes its time keeps no other waiting (W6); of a pod that an earlier call is still busy with nothing is done.
   * @param isKnown whether a pod is wanted, or has anything that runs; asked right before its directory is touched
   * @throws VolumeError `StillMounted` after all others were cleaned, naming each pod that could not be
   */
  async cleanupOrphanedPodDirs(isKnown: (uid: string) => boolean, signal?: AbortSignal): Promise<void> {
    await this.#directories.removeOrphans(isKnown, signal);
  }

  /**
   * What is ready is known, and asked for no more: its pod goes on while the API server is away (K3).
   * @param unknown has the volume's name until it is known what that is
   * @returns why that is not known
   */
  async #want(pod: Pod, volume: Volume, unknown: Set<string>, signal: AbortSignal): Promise<VolumeOutcome | undefined> {
    const { uid } = pod.metadata;
    const { name } = volume;
    let typed = this.#resolver.known(pod, volume);
    if (typed === undefined && this.#operations.mounted(uid, name) !== undefined) return undefined;
    if (typed === undefined) {
      unknown.add(name);
      try {
        typed = await this.#resolver.resolve(pod, volume, signal);
      } catch (error) {
        signal.throwIfAborted();
        const failure = VolumeError.from(error);
        if (isRefusal(failure)) unknown.delete(name);
        return { name, failure, retryAtMs: failure.retryAtMs };
      }
      unknown.delete(name);
    }
    const { plugin, resolved } = typed;
    const { directoryName, node } = resolved;
    const actions = volumeActions(this.#subPaths, { podUid: uid, directoryName, plugin, node });
    this.#operations.want(pod, resolved, volumeId(typed), actions);
    return undefined;
  }

  #tellFailedMount(pod: Pod, message: string): void {
    this.#components.recorder.event(podReference(pod), 'Warning', eventReasons.failedMountVolume, message);
  }

  /** Of the persistent volume: whoever made it is the one to mend it. */
  #tellMismatch({ persistent, directoryName }: ResolvedVolume, error: VolumeError): void {
    if (persistent === undefined) return;
    const { name = directoryName, uid } = persistent.metadata;
    const volume = { kind: 'PersistentVolume', apiVersion: 'v1', name, ...(uid !== undefined && { uid }) };
    const message = mismatchMessage(directoryName, error);
    this.#components.recorder.event(volume, 'Warning', eventReasons.failedMountOnFilesystemMismatch, message);
  }

  async #tearDown(uid: string, signal: AbortSignal): Promise<void> {
    this.#operations.release(uid);
    this.#resolver.forget(uid);
    this.#waitingSince.delete(uid);
    await this.#leftovers.remove(uid);
    const outcomes = await this.#inTime(
      signal,
      (linked) => this.#operations.settled(uid, linked),
      () => this.#operations.unsettled(uid),
    );
    const failed = outcomes.filter(({ failure }) => failure !== undefined);
    if (failed.length === 0) return;
    const reasons = failed.map(({ name, failure }) => `${name}: ${failure?.message}`).join('; ');
    const message = `mounted volumes of pod ${uid}: ${reasons}`;
    throw new VolumeError('StillMounted', message, failed[0]?.failure, { retryAtMs: earliestRetry(failed) });
  }

  /** How volumes stand; those whose operation does not end in time have failed by that. */
  async #inTime(
    signal: AbortSignal,
    outcomes: (linked: AbortSignal) => Promise<readonly VolumeOutcome[]>,
    unsettled: () => readonly string[],
  ): Promise<readonly VolumeOutcome[]> {
    try {
      return await withTimeout(this.#components.clock, WAIT_MS, outcomes, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const failure = new VolumeError('TimedOut', 'context deadline exceeded', cause);
      return unsettled().map((name) => ({ name, failure, retryAtMs: undefined }));
    }
  }
}
