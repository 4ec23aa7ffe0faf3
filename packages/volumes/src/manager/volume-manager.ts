import { type Clock, checkComponents, checkOptions, StartOnce, untilAborted, withTimeout } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { type Container, type Device, type Mount, type Pod, podReference, type Volume } from '@node-agent/pod-spec';
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
import { VolumeExpander } from '../expand/volume-expander.ts';
import type { Mounter } from '../mount/mounter.ts';
import { PodDirectories } from '../paths/pod-directories.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { type MountVariable, subPathOf } from '../paths/sub-path.ts';
import { type SubPathForeignFiles, SubPathMounts } from '../paths/sub-path-mounts.ts';
import { subPathVolumesOnDisk, volumesOnDisk } from '../paths/volumes-on-disk.ts';
import { containerDevices, containerMounts, mountedVolume, type SubPathPlace } from './container-mounts.ts';
import { Leftovers } from './leftovers.ts';
import { failedExpandMessage, failedMapMessage, failedMountMessage, mismatchMessage } from './mount-messages.ts';
import type { VolumePlugin } from './plugin.ts';
import { mountedVolumes } from './pod-volumes.ts';
import type { ResolvedVolume } from './resolved-volume.ts';
import { type ActionHelpers, volumeActions } from './volume-actions.ts';
import { type AttachedVolumes, VolumeAttachments } from './volume-attachments.ts';
import { VolumeMetrics } from './volume-metrics.ts';
import { earliestRetry, type UnsettledVolume, VolumeOperations, type VolumeOutcome } from './volume-operations.ts';
import { isRefusal, VolumeResolver, volumeId } from './volume-resolver.ts';
import { type VolumeUsage, VolumeUsages } from './volume-usage.ts';
import { callText, timedOut, type VolumeWait } from './volume-waits.ts';

/** Dependencies of {@link VolumeManager}. */
export interface VolumeManagerComponents {
  readonly fs: Pick<
    FileSystem,
    'mkdir' | 'readdir' | 'writeFile' | 'remove' | 'removeAll' | 'realpath' | 'lstat' | 'holdBeneath'
  >;
  /** Access to file systems that may never answer; subPaths of host paths are resolved through it. */
  readonly foreignFiles: SubPathForeignFiles;
  readonly mounter: Mounter;
  readonly paths: PodPaths;
  /** Plugins of the supported volume types; the first that supports a volume is used. */
  readonly plugins: readonly VolumePlugin[];
  /**
   * Source of PVCs. Absent without an API server; volumes with a PVC are then refused with a message that names them.
   */
  readonly claims?: ClaimSource;
  /**
   * The node's status in the API server. If absent, volumes that a controller attaches never become ready; no other
   * volumes need it.
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
  /** Called when {@link VolumeManager.volumesInUse} has changed, so that the node's status can be written now. */
  readonly onVolumesInUseChanged?: () => void;
}

export interface VolumeManagerOptions {
  /** Returns whether the pod's runtime supports recursive read-only mounts (KEP-3857). Default: no pod's does. */
  readonly supportsRecursiveReadOnly?: (pod: Pod) => boolean;
}

/** Maximum wait of a pod for an operation that does not finish, in milliseconds. */
const WAIT_MS = 123_000;
/** Minimum time between two comparisons of a ready volume's size with its PVC, in milliseconds. */
const COMPARE_MS = 30_000;

/**
 * Sets up and tears down the volumes of pods (`pkg/kubelet/volumemanager`). Volumes of one pod are set up in parallel
 * and independently of each other (C7); a failed volume is retried with its own back-off. Volumes of a former process
 * are found on disk, so no other state must survive a restart (K1).
 */
export class VolumeManager {
  readonly #components: WithDefaults<VolumeManagerComponents>;
  readonly #supportsRecursiveReadOnly: (pod: Pod) => boolean;
  readonly #operations: VolumeOperations;
  readonly #resolver: VolumeResolver;
  readonly #leftovers: Leftovers;
  readonly #subPaths: SubPathMounts;
  readonly #expander: VolumeExpander;
  readonly #helpers: ActionHelpers;
  /** Monotonic time at which each ready volume was last compared with its PVC, by pod UID and volume name. */
  readonly #comparedAtMs = new Map<string, Map<string, number>>();
  readonly #usages: VolumeUsages;
  readonly #directories: PodDirectories;
  readonly #attachments: VolumeAttachments;
  /** Whether all volumes of a former process are registered. */
  #isTakenIn = false;
  /** Monotonic time since when each pod waits for failed volumes, or of the last event about that. */
  readonly #waitingSince = new Map<string, number>();
  readonly #life = new AbortController();
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
        'volumeDevicesDir',
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
    this.#expander = new VolumeExpander({ ...components, claims: components.claims });
    this.#helpers = { subPaths: this.#subPaths, expander: this.#expander };
    this.#resolver = new VolumeResolver({
      ...components,
      onRefused: (pod, { message }) => this.#tellFailedMount(pod, message),
    });
    this.#attachments = new VolumeAttachments(components.attachments);
    this.#operations = new VolumeOperations({
      ...components,
      metrics,
      attachments: this.#attachments,
      onInUseChange: () => components.onVolumesInUseChanged?.(),
      onForgotten: (uniqueName) => this.#expander.forget(uniqueName),
      onFailure: (pod, volume, error, step) => {
        if (step === 'expand') {
          const message = failedExpandMessage(volume.directoryName, error);
          components.recorder.event(podReference(pod), 'Warning', eventReasons.volumeResizeFailed, message);
          return;
        }
        if (error.code === 'FileSystemMismatch') this.#tellMismatch(volume, error);
        if (volume.persistent?.spec?.volumeMode === 'Block') {
          const message = failedMapMessage(volume.directoryName, error, step);
          components.recorder.event(podReference(pod), 'Warning', eventReasons.failedMapVolume, message);
        } else this.#tellFailedMount(pod, failedMountMessage(volume.directoryName, error, step));
      },
      onReady: (podUid) => components.onVolumeReady?.(podUid),
    });
    this.#leftovers = new Leftovers({
      ...components,
      metrics,
      operations: this.#operations,
      helpers: this.#helpers,
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

  /**
   * Registers volumes that a former process left, finishes the removals that it began, and runs until `signal` is
   * aborted.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    // `takeIn` never rejects. Shutdown must not wait for a disk that hangs.
    void this.#leftovers.takeIn(signal).then(() => {
      this.#isTakenIn = true;
      this.#components.onVolumesInUseChanged?.();
    });
    await untilAborted(signal);
    this.#life.abort(signal.reason);
    this.#operations.close(signal.reason);
  }

  /**
   * Returns one message for each volume of the pod that this kubelet does not support. A pod with any of them cannot run
   * here.
   */
  unsupported(pod: Pod): readonly string[] {
    const volumes = mountedVolumes(pod).map((volume) => this.#resolver.unsupported(pod, volume));
    return volumes.filter((message) => message !== undefined);
  }

  /**
   * Creates the pod's own directory, `volumes` and `plugins`, with mode 0750. If a clean-up is removing these
   * directories, the call waits for it: a recreated static pod has the same UID as before.
   */
  async makePodDataDirs(uid: string): Promise<void> {
    await this.#directories.make(uid);
  }

  /**
   * Sets up all volumes that the pod's containers mount. Ready volumes stay as they are; the content of projected
   * volumes is updated in the background. Each failed volume gets its own event, and the other volumes are still set
   * up. A volume that failed recently is not retried before its back-off has passed; the error contains that time.
   * @throws VolumeError `NotMounted`, naming each missing volume and the reason
   */
  async waitForAttachAndMount(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const startMs = this.#components.clock.monotonic();
    const volumes = mountedVolumes(pod);
    /** Volumes whose identity could not be determined. */
    const unknown = new Set<string>();
    const outcomes = await this.#inTime(
      signal,
      async (linked) => {
        const failures = await Promise.all(volumes.map((volume) => this.#want(pod, volume, unknown, linked)));
        const known = await this.#operations.settled(uid, linked);
        return [...failures.filter((failure) => failure !== undefined), ...known];
      },
      () => [
        ...[...unknown].map((name) => ({ name, isUnattached: false, unanswered: undefined })),
        ...this.#operations.unsettled(uid),
      ],
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
    const unattached = this.#operations.unsettled(uid).filter(({ isUnattached }) => isUnattached);
    throw new VolumeError(
      'NotMounted',
      `unmounted volumes=[${names.join(' ')}], unattached volumes=[${unattached
        .map(({ name }) => name)
        .sort()
        .join(' ')}], failed to process volumes=[${unprocessed
        .map(({ name }) => name)
        .sort()
        .join(' ')}]: ${reasons}`,
      failed[0]?.failure,
      { retryAtMs: earliestRetry(failed), isReported: this.#isReported(uid, startMs) && unknown.size === 0 },
    );
  }

  /**
   * Returns whether an event for the pod as a whole is not due yet. Each volume gets an event when it fails; the pod
   * gets one after it has waited for the maximum time.
   */
  #isReported(uid: string, startMs: number): boolean {
    const nowMs = this.#components.clock.monotonic();
    const sinceMs = this.#waitingSince.get(uid) ?? startMs;
    const isReported = nowMs - sinceMs < WAIT_MS;
    this.#waitingSince.set(uid, isReported ? sinceMs : nowMs);
    return isReported;
  }

  /**
   * Updates the content of the pod's volumes after a change of a secret, a configMap or another source. Volumes that
   * failed because of a missing source are retried now.
   */
  refresh(podUid: string): void {
    this.#operations.refresh(podUid);
  }

  /**
   * Returns the names of the volumes that a controller attaches and that this node uses, or may use, for
   * `status.volumesInUse` (upstream: `GetVolumesInUse`). A volume is listed before it is mounted and until it is
   * unmounted. Returns `undefined` while the volumes of a former process are not known; the status must then keep its
   * list.
   */
  volumesInUse(): readonly string[] | undefined {
    return this.#isTakenIn ? this.#operations.attachableInUse() : undefined;
  }

  /** Records that the API server has the node's status with these `volumesInUse`. */
  volumesReported(names: readonly string[]): void {
    this.#attachments.reported(names);
    this.#operations.attachmentsChanged();
  }

  /** Continues with volumes that wait to be attached, because the Node object may have changed. */
  attachmentsChanged(): void {
    this.#operations.attachmentsChanged();
  }

  /**
   * Retries operations now that failed because a CSI driver was not registered. Call this when a driver has registered;
   * upstream waits for the back-off, up to 122 s.
   */
  csiDriverRegistered(): void {
    this.#operations.retryNow('DriverNotFound');
  }

  /** Returns what the volumes of a pod wait for, for explanations; only unfinished operations are listed. */
  volumeWaits(podUid: string): readonly VolumeWait[] {
    const { clock } = this.#components;
    const nowMs = clock.monotonic();
    return this.#operations.unsettled(podUid).flatMap(({ name: volume, isUnattached, unanswered }) => {
      if (isUnattached) return [{ volume, what: 'waits until a controller has attached it to this node' }];
      if (unanswered === undefined) return [];
      return [{ volume, what: callText(unanswered, nowMs), sinceMs: clock.now() - (nowMs - unanswered.sinceMs) }];
    });
  }

  /**
   * Tears down all volumes of a pod that has no containers any more, including volumes that a former process set up.
   * @throws VolumeError `StillMounted`, naming each remaining volume and the reason
   */
  async waitForUnmount(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.#tearDown(pod.metadata.uid, signal);
  }

  /**
   * Returns the mounts of a container; the volumes must be ready, see {@link waitForAttachAndMount}. SubPaths are
   * mounted by this call and stay mounted until the pod's volumes are torn down.
   * @param environment the container's environment variables, from which `subPathExpr` is expanded
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
   * Returns the block devices of a container; the volumes must be ready, see {@link waitForAttachAndMount}.
   * @throws VolumeError `NotMounted`, `InvalidPath`
   */
  containerDevices({ metadata }: Pod, container: Pick<Container, 'name' | 'volumeDevices'>): readonly Device[] {
    return containerDevices(container, this.#operations.allMounted(metadata.uid));
  }

  /**
   * Returns the usage of the pod's ready volumes, except host paths. The volumes are measured now; a volume that cannot
   * be measured is left out and logged.
   */
  volumeUsage(pod: Pod, signal: AbortSignal): Promise<readonly VolumeUsage[]> {
    return this.#usages.of(pod, signal);
  }

  /**
   * Returns the groups that the pod's ready persistent volumes request, except those in the pod's own supplemental
   * groups (upstream: `GetExtraSupplementalGroupsForPod`).
   */
  extraSupplementalGroups({ metadata, spec }: Pod): readonly number[] {
    const own = spec.securityContext?.supplementalGroups ?? [];
    const ready = [...this.#operations.allMounted(metadata.uid).values()];
    const asked = ready.map(({ resolved: { persistent } }) => persistent && volumeGid(persistent));
    return [...new Set(asked.filter((gid) => gid !== undefined))].filter((gid) => !own.includes(gid));
  }

  /** Returns the host path of a ready volume; `undefined` if the volume is not ready, or is an image volume. */
  volumePath(pod: Pod, volumeName: string): string | undefined {
    return this.#operations.mounted(pod.metadata.uid, volumeName)?.hostPath || undefined;
  }

  /** Returns whether any volume of the pod is left, or may be left because the disk could not be read. */
  async podVolumesExist(uid: string): Promise<boolean> {
    if (this.#operations.allMounted(uid).size > 0) return true;
    const { fs, paths, logger } = this.#components;
    try {
      if ((await subPathVolumesOnDisk(fs, paths, uid)).length > 0) return true;
      return (await volumesOnDisk(fs, paths, uid)).length > 0;
    } catch (err) {
      logger.error({ err, podUid: uid }, 'Failed to look up the volumes of a pod on disk');
      return true;
    }
  }

  /**
   * Removes the volumes and then the directories of orphaned pods from disk. Pods are cleaned up in parallel, so that a
   * slow pod does not delay others (W6). Pods that an earlier call is still cleaning up are skipped.
   * @param isKnown returns whether a pod is wanted or has anything running; called just before the pod's directory is
   * changed
   * @throws VolumeError `StillMounted`, naming each pod that failed, after all others were cleaned up
   */
  async cleanupOrphanedPodDirs(isKnown: (uid: string) => boolean, signal?: AbortSignal): Promise<void> {
    await this.#directories.removeOrphans(isKnown, signal);
  }

  /**
   * Requests a volume. A ready volume is not resolved again, so that its pod keeps working while the API server is
   * unavailable (K3).
   * @param unknown contains the volume's name until the volume's identity is known
   * @returns why the identity is unknown
   */
  async #want(pod: Pod, volume: Volume, unknown: Set<string>, signal: AbortSignal): Promise<VolumeOutcome | undefined> {
    const { uid } = pod.metadata;
    const { name } = volume;
    let typed = this.#resolver.known(pod, volume);
    if (typed === undefined && this.#operations.renew(pod, name)) {
      void this.#compareSize(uid, name);
      return undefined;
    }
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
    const actions = volumeActions(this.#helpers, { podUid: uid, directoryName, plugin, node });
    this.#operations.want(pod, resolved, volumeId(typed), actions);
    return undefined;
  }

  /**
   * Expands a ready volume whose controller has expanded it. The pod does not wait for that. Upstream reads the PVC and
   * its persistent volume at every sync. Never rejects.
   */
  async #compareSize(uid: string, name: string): Promise<void> {
    const resolved = this.#operations.expandable(uid, name);
    const nowMs = this.#components.clock.monotonic();
    const ofPod = this.#comparedAtMs.get(uid) ?? new Map<string, number>();
    if (resolved?.claim === undefined || nowMs - (ofPod.get(name) ?? Number.NEGATIVE_INFINITY) < COMPARE_MS) return;
    this.#comparedAtMs.set(uid, ofPod.set(name, nowMs));
    if (await this.#expander.isDue(resolved, this.#life.signal)) this.#operations.expand(uid, name);
  }

  #tellFailedMount(pod: Pod, message: string): void {
    this.#components.recorder.event(podReference(pod), 'Warning', eventReasons.failedMountVolume, message);
  }

  /** Sends the event to the PersistentVolume, because its creator must fix it. */
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
    this.#comparedAtMs.delete(uid);
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

  /** Waits for volumes; a volume whose operation does not finish in time counts as failed. */
  async #inTime(
    signal: AbortSignal,
    outcomes: (linked: AbortSignal) => Promise<readonly VolumeOutcome[]>,
    unsettled: () => readonly UnsettledVolume[],
  ): Promise<readonly VolumeOutcome[]> {
    try {
      return await withTimeout(this.#components.clock, WAIT_MS, outcomes, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const nowMs = this.#components.clock.monotonic();
      return unsettled().map(({ name, unanswered }) => ({
        ...{ name, retryAtMs: undefined },
        failure: new VolumeError('TimedOut', timedOut(unanswered, nowMs), cause),
      }));
    }
  }
}
