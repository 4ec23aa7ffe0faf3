import { checkOptions, StartOnce, sleep, untilAborted, withTimeout } from '@node-agent/async';
import type { Container, Device, Mount, Pod } from '@node-agent/pod-spec';
import { type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { VolumeExpander } from '../expand/volume-expander.ts';
import { PodDirectories } from '../paths/pod-directories.ts';
import type { MountVariable } from '../paths/sub-path.ts';
import { SubPathMounts } from '../paths/sub-path-mounts.ts';
import { isOnDisk, subPathVolumesOnDisk, volumesOnDisk } from '../paths/volumes-on-disk.ts';
import { SelinuxLabels } from '../selinux/selinux-labels.ts';
import { SelinuxMetrics } from '../selinux/selinux-metrics.ts';
import { ContainerVolumes } from './container-volumes.ts';
import { FailureEvents } from './failure-events.ts';
import { Leftovers } from './leftovers.ts';
import { attachLimitMessage, reasonsOf, unmountedMessage } from './mount-messages.ts';
import { PluginSet } from './plugin-set.ts';
import { mountedVolumes } from './pod-volumes.ts';
import { PodWaits } from './pod-waits.ts';
import { SizeComparisons } from './size-comparisons.ts';
import { VolumeAttachments } from './volume-attachments.ts';
import { VolumeEntries } from './volume-entries.ts';
import {
  checkVolumeManager,
  type VolumeManagerComponents,
  type VolumeManagerOptions,
} from './volume-manager-components.ts';
import { VolumeMetrics } from './volume-metrics.ts';
import { VolumeOperations } from './volume-operations.ts';
import { earliestRetry, type UnsettledVolume, type VolumeOutcome } from './volume-outcomes.ts';
import { VolumeRequests } from './volume-requests.ts';
import { VolumeResolver } from './volume-resolver.ts';
import { type VolumeUsage, VolumeUsages } from './volume-usage.ts';
import { type VolumeWait, waitText } from './volume-waits.ts';

/** Maximum time to determine why a volume is not attached, in milliseconds (`csiTimeout`). */
const LIMIT_CHECK_MS = 120_000;
/** Time after which volumes of a former process that could not be read are read again. */
const TAKE_IN_RETRY_MS = 60_000;

/**
 * Sets up and tears down the volumes of pods (`pkg/kubelet/volumemanager`). Volumes of one pod are set up in parallel
 * and independently of each other (C7); a failed volume is retried with its own back-off. Volumes of a former process
 * are found on disk, so no other state must survive a restart (K1).
 */
export class VolumeManager {
  readonly #components: WithDefaults<VolumeManagerComponents>;
  readonly #entries = new VolumeEntries();
  readonly #operations: VolumeOperations;
  readonly #resolver: VolumeResolver;
  readonly #requests: VolumeRequests;
  readonly #leftovers: Leftovers;
  readonly #sizes: SizeComparisons;
  readonly #containers: ContainerVolumes;
  readonly #usages: VolumeUsages;
  readonly #directories: PodDirectories;
  readonly #attachments: VolumeAttachments;
  readonly #waits: PodWaits;
  /** Volumes that a former process left: not registered yet, registered as far as they could be read, or all registered. */
  #takenIn: 'none' | 'readable' | 'all' = 'none';
  readonly #life = new AbortController();
  readonly #startOnce = new StartOnce('VolumeManager');

  constructor(given: VolumeManagerComponents, options: VolumeManagerOptions = {}) {
    checkOptions('VolumeManager', options, { supportsRecursiveReadOnly: 'function?', selinux: 'object?' });
    checkVolumeManager(given);
    const components = withDefaults(given);
    this.#components = components;
    const { supportsRecursiveReadOnly = () => false, selinux } = options;
    const entries = this.#entries;
    const plugins = new PluginSet(components.plugins, components.morePlugins);
    const metrics = new VolumeMetrics(components.metrics);
    const events = new FailureEvents(components.recorder);
    const subPaths = new SubPathMounts(components);
    const expander = new VolumeExpander({ ...components, claims: components.claims });
    const helpers = { subPaths, expander, metrics };
    this.#waits = new PodWaits(components.clock);
    this.#attachments = new VolumeAttachments(components.attachments);
    this.#resolver = new VolumeResolver({
      ...{ ...components, plugins },
      labels: selinux && new SelinuxLabels({ entries, metrics: new SelinuxMetrics(components.metrics) }, selinux),
      onRefused: (pod, { message }) => events.refused(pod, message),
    });
    this.#operations = new VolumeOperations({
      ...{ ...components, entries, metrics, attachments: this.#attachments },
      onInUseChange: () => components.onVolumesInUseChanged?.(),
      onForgotten: (name) => expander.forget(name),
      onFailure: (pod, volume, error, step) => events.failed(pod, volume, error, step),
      onReady: (podUid) => components.onVolumeReady?.(podUid),
    });
    const operations = this.#operations;
    this.#sizes = new SizeComparisons({ ...components, operations, expander });
    this.#requests = new VolumeRequests({
      ...{ resolver: this.#resolver, operations, sizes: this.#sizes, helpers, life: this.#life.signal },
    });
    this.#leftovers = new Leftovers({ ...components, plugins, metrics, operations, entries, helpers });
    this.#containers = new ContainerVolumes({ entries, subPaths, supportsRecursiveReadOnly });
    this.#usages = new VolumeUsages({ ...components, plugins, allMounted: (podUid) => entries.allMounted(podUid) });
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
    // The promise of `takeIn` never rejects, and is not awaited, because shutdown must not wait for a disk that hangs.
    void this.#takeIn(signal);
    await untilAborted(signal);
    this.#life.abort(signal.reason);
    this.#operations.close(signal.reason);
  }

  /** Registers the volumes that a former process left, until all are registered. Never rejects. */
  async #takeIn(signal: AbortSignal): Promise<void> {
    const { clock, onVolumesInUseChanged } = this.#components;
    while (this.#takenIn !== 'all' && !signal.aborted) {
      this.#takenIn = (await this.#leftovers.takeIn(signal)) ? 'all' : 'readable';
      onVolumesInUseChanged?.();
      if (this.#takenIn !== 'all') await sleep(clock, TAKE_IN_RETRY_MS, signal).catch(() => {});
    }
  }

  /**
   * Returns one message for each volume of the pod that this kubelet does not support. A pod with such a volume cannot
   * run here.
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
   * @throws VolumeError `NotMounted`, naming each missing volume and the reason; `AttachLimitExceeded` if the pod must be
   * rejected
   */
  async waitForAttachAndMount(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const startMs = this.#components.clock.monotonic();
    const volumes = mountedVolumes(pod);
    /** Names of volumes whose identity could not be determined. */
    const unknown = new Set<string>();
    /** Volumes whose identity could not be determined, or that this node cannot use. */
    const failures: VolumeOutcome[] = [];
    const outcomes = await this.#waits.inTime(
      signal,
      async (linked) => {
        const found = await Promise.all(volumes.map((volume) => this.#requests.want(pod, volume, unknown, linked)));
        for (const failure of found) if (failure !== undefined) failures.push(failure);
        // The pod is synced again when such a volume is due, although other volumes may still wait to be attached.
        const settled = (ending: AbortSignal): Promise<void> => this.#operations.settled(uid, ending);
        await this.#waits.until(earliestRetry(failures), settled, linked);
        return [...failures, ...this.#operations.outcomes(uid, (volume) => this.#unfinished(volume))];
      },
      (unfinished) => {
        const names = [...unknown].filter((name) => failures.every((failure) => failure.name !== name));
        const hanging = names.map((name) => ({
          ...{ name, failure: unfinished({ unanswered: undefined }), retryAtMs: undefined },
        }));
        return [...failures, ...hanging, ...this.#operations.outcomes(uid, unfinished)];
      },
    );
    const failed = outcomes.filter(({ failure }) => failure !== undefined);
    if (failed.length === 0) {
      this.#waits.forget(uid);
      return;
    }
    const unprocessed = volumes.filter(
      (volume) => unknown.has(volume.name) || this.#resolver.unsupported(pod, volume) !== undefined,
    );
    const unattached = this.#operations.unsettled(uid).filter(({ isUnattached }) => isUnattached);
    const message = unmountedMessage(failed, unattached, unprocessed);
    if (unattached.length > 0 && (await this.#isAttachLimitExceeded(uid, signal))) {
      throw new VolumeError('AttachLimitExceeded', attachLimitMessage(message), failed[0]?.failure);
    }
    throw new VolumeError('NotMounted', message, failed[0]?.failure, {
      retryAtMs: earliestRetry(failed),
      isReported: this.#waits.isReported(uid, startMs) && unknown.size === 0,
      explanation: reasonsOf(failed),
    });
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
   * list. As long as some of these volumes cannot be read, the volumes in the API server's list stay in the list.
   */
  volumesInUse(): readonly string[] | undefined {
    if (this.#takenIn === 'none') return undefined;
    const inUse = this.#operations.attachableInUse();
    return inUse === undefined || this.#takenIn === 'all' ? inUse : this.#attachments.withFormer(inUse);
  }

  /** Records that the API server has stored a node status with these `volumesInUse`. */
  volumesReported(names: readonly string[]): void {
    const isFirst = !this.#attachments.hasReport;
    this.#attachments.reported(names);
    this.#operations.attachmentsChanged();
    // The list was kept until now, because it was not known.
    if (isFirst && this.#takenIn === 'readable') this.#components.onVolumesInUseChanged?.();
  }

  /** Continues with volumes that wait to be attached, because the Node object may have changed. */
  attachmentsChanged(): void {
    this.#operations.attachmentsChanged();
  }

  /**
   * Continues with volumes that wait to be attached although their CSI driver does not require that any more. Call this
   * when a CSIDriver object has changed.
   */
  csiDriverChanged(): void {
    this.#operations.attachabilityChanged();
  }

  /**
   * Retries operations now that failed because a CSI driver was not registered. Call this when a driver has registered;
   * upstream waits for the back-off, up to 122 s.
   */
  csiDriverRegistered(): void {
    this.#operations.retryNow('DriverNotFound');
  }

  /**
   * Returns the volume operations for which a pod waits, to explain the pod's state. Finished operations are not
   * included.
   */
  volumeWaits(podUid: string): readonly VolumeWait[] {
    const { clock } = this.#components;
    const nowMs = clock.monotonic();
    return this.#operations.unsettled(podUid).flatMap((unsettled) => {
      const { name: volume, isUnattached, isOtherwise, unanswered } = unsettled;
      const what = waitText(unsettled, nowMs);
      if (what === undefined) return [];
      if (isUnattached || isOtherwise || unanswered === undefined) return [{ volume, what }];
      return [{ volume, what, sinceMs: clock.now() - (nowMs - unanswered.sinceMs) }];
    });
  }

  /**
   * Tears down all volumes of a pod that has no containers any more, including volumes that a former process set up.
   * @throws VolumeError `StillMounted`, naming each remaining volume and the reason
   */
  async waitForUnmount(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.#tearDown(pod.metadata.uid, signal, pod);
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
    return await this.#containers.mounts(pod, container, environment, signal);
  }

  /**
   * Returns the block devices of a container; the volumes must be ready, see {@link waitForAttachAndMount}.
   * @throws VolumeError `NotMounted`, `InvalidPath`
   */
  containerDevices(pod: Pod, container: Pick<Container, 'name' | 'volumeDevices'>): readonly Device[] {
    return this.#containers.devices(pod, container);
  }

  /**
   * Returns the usage of the pod's ready volumes, except host paths. The volumes are measured now; a volume that cannot
   * be measured is left out, and the reason is logged when it changes.
   */
  volumeUsage(pod: Pod, signal: AbortSignal): Promise<readonly VolumeUsage[]> {
    return this.#usages.of(pod, signal);
  }

  /**
   * Returns the groups that the pod's ready persistent volumes request, except those in the pod's own supplemental
   * groups (upstream: `GetExtraSupplementalGroupsForPod`).
   */
  extraSupplementalGroups(pod: Pod): readonly number[] {
    return this.#containers.supplementalGroups(pod);
  }

  /** Returns the host path of a ready volume; `undefined` if the volume is not ready, or is an image volume. */
  volumePath(pod: Pod, volumeName: string): string | undefined {
    return this.#containers.path(pod, volumeName);
  }

  /** Returns whether any volume of the pod is left, or may be left because the disk could not be read. */
  async podVolumesExist(uid: string): Promise<boolean> {
    if (this.#entries.allMounted(uid).size > 0) return true;
    const { fs, paths, logger } = this.#components;
    try {
      if (!(await isOnDisk(fs, paths, uid))) return false;
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
   * Returns whether a volume cannot be attached because the node has too many; false if the API server or the driver
   * does not respond in time.
   */
  async #isAttachLimitExceeded(uid: string, signal: AbortSignal): Promise<boolean> {
    const isExceeded = (linked: AbortSignal): Promise<boolean> => this.#operations.isAttachLimitExceeded(uid, linked);
    return await withTimeout(this.#components.clock, LIMIT_CHECK_MS, isExceeded, signal).catch(() => {
      signal.throwIfAborted();
      return false;
    });
  }

  #unfinished(volume: UnsettledVolume): VolumeError {
    const what = waitText(volume, this.#components.clock.monotonic());
    return new VolumeError('TimedOut', what ?? 'its operation has not finished');
  }

  async #tearDown(uid: string, signal: AbortSignal, pod?: Pod): Promise<void> {
    this.#operations.release(uid);
    this.#resolver.forget(uid);
    this.#waits.forget(uid);
    this.#sizes.forget(uid);
    await this.#leftovers.remove(uid, pod);
    const outcomes = await this.#waits.inTime(
      signal,
      async (linked) => {
        await this.#operations.settled(uid, linked);
        return this.#operations.outcomes(uid, (volume) => this.#unfinished(volume));
      },
      (unfinished) => this.#operations.outcomes(uid, unfinished),
    );
    const failed = outcomes.filter(({ failure }) => failure !== undefined);
    if (failed.length === 0) {
      this.#usages.forget(uid);
      return;
    }
    const reasons = failed.map(({ name, failure }) => `${name}: ${failure?.message}`).join('; ');
    const message = `mounted volumes of pod ${uid}: ${reasons}`;
    throw new VolumeError('StillMounted', message, failed[0]?.failure, { retryAtMs: earliestRetry(failed) });
  }
}
