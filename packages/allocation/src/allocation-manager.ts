import { type Clock, checkComponents, checkOptions, sleep } from '@node-agent/async';
import {
  type Pod,
  type PodCondition,
  podReference,
  type ResourceRequirements,
  type RuntimePodStatus,
} from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { holdsLess, resourcesOf, withResources } from './allocated-pod.ts';
import { type AllocationMetrics, makeAllocationMetrics } from './metrics.ts';
import { PodConditions } from './pod-conditions.ts';
import {
  ACTUATED_PODS_STATE,
  ALLOCATED_PODS_STATE,
  PodResourceState,
  type PodResourceStateComponents,
} from './pod-resource-state.ts';
import type { PodResources } from './pod-resources.ts';
import { RESIZE_ERROR } from './resize-conditions.ts';
import { isResizeInProgress } from './resize-in-progress.ts';
import { resizeMessage } from './resize-message.ts';
import { podLevelChanges, resizeOperations } from './resize-operations.ts';
import type { ResizeNode } from './resize-refusal.ts';
import { type AdmitResize, type AllocationPods, type RetryTrigger, WaitingResizes } from './waiting-resizes.ts';

const LOAD_RETRY_MS = 1000;
const TRANSIENT: ReadonlySet<string> = new Set([
  ...['EIO', 'ENOSPC', 'EDQUOT', 'EAGAIN', 'EBUSY', 'EINTR', 'EMFILE', 'ENFILE', 'ENOMEM', 'ESTALE', 'ETIMEDOUT'],
]);

/** Dependencies of an {@link AllocationManager}. */
export interface AllocationComponents extends PodResourceStateComponents {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** Default: no events. */
  readonly recorder?: EventRecorder;
  readonly pods: AllocationPods;
  readonly admit: AdmitResize;
  /** Called with the pods to sync when an asynchronous decision was made. Default: not called. */
  readonly onDecided?: (uids: readonly string[]) => void;
}

/** Options of an {@link AllocationManager}. */
export interface AllocationOptions {
  /** The kubelet's root directory, which contains the two state files. */
  readonly directory: string;
  /** Node settings that determine whether a resize is possible. Default: upstream's defaults. */
  readonly node?: ResizeNode;
}

const NOTHING: PodResources = { containers: {} };

/**
 * Manages the resources allocated to each pod, which may differ from the pod's spec (KEP-1287, KEP-5419;
 * `pkg/kubelet/allocation`). Allocations are on disk and survive a restart. The manager also keeps resizes that wait
 * for resources, and the resize conditions of pods' statuses.
 */
export class AllocationManager {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #recorder: EventRecorder;
  readonly #metrics: AllocationMetrics;
  readonly #node: ResizeNode;
  readonly #allocated: PodResourceState;
  readonly #actuated: PodResourceState;
  readonly #conditions: PodConditions;
  readonly #waiting: WaitingResizes;
  #ending: AbortSignal = new AbortController().signal;
  /** Results of {@link allocated}, by UID, so that repeated calls return the same object. */
  readonly #known = new Map<
    string,
    { readonly pod: Pod; readonly allocated: PodResources | undefined; readonly is: Pod }
  >();

  constructor(given: AllocationComponents, options: AllocationOptions) {
    checkOptions('AllocationManager', options, { directory: 'string', node: 'object?' });
    checkComponents('AllocationManager', given, {
      pods: ['active', 'byUid', 'sourcesReady'],
      admit: 'function',
      fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic'],
    });
    const { clock, logger, metrics, recorder, fs, pods, admit, onDecided = () => {} } = withDefaults(given);
    this.#clock = clock;
    this.#logger = logger;
    this.#recorder = recorder;
    this.#metrics = makeAllocationMetrics(metrics);
    this.#node = options.node ?? {};
    const { directory } = options;
    this.#allocated = new PodResourceState({ fs }, { directory, name: ALLOCATED_PODS_STATE });
    this.#actuated = new PodResourceState({ fs }, { directory, name: ACTUATED_PODS_STATE });
    this.#conditions = new PodConditions(clock, this.#metrics);
    this.#waiting = new WaitingResizes({
      ...{ clock, logger, recorder, pods, admit, onDecided, allocations: this, ending: () => this.#ending },
      ...{ metrics: this.#metrics, node: this.#node, conditions: this.#conditions },
    });
  }

  /**
   * Reads the state of an earlier process; must be called before all other methods. If the disk fails, the read is
   * retried each second, because the allocations of running pods must be known. Nothing is written before the read has
   * succeeded.
   * @param signal signal that is aborted at shutdown; from then on, no more pods are evicted to make room for resizes
   * @throws AllocationError `Unreadable` if a file is invalid; the signal's reason
   */
  async load(signal?: AbortSignal): Promise<void> {
    if (signal !== undefined) this.#ending = signal;
    await this.#allocated.removeLeftovers().catch((err: unknown) => {
      this.#logger.warn({ err }, 'Failed to remove unfinished state files of an earlier process');
    });
    await Promise.all([this.#allocated, this.#actuated].map((state) => this.#loaded(state, signal)));
    // The content of the files counts as saved, so it must survive a power loss. If the disk is read-only, the kubelet
    // starts without the sync.
    await this.#allocated.syncDirectory().catch((err: unknown) => {
      this.#logger.warn({ err }, 'Failed to sync the directory of the state files');
    });
  }

  async #loaded(state: PodResourceState, signal: AbortSignal | undefined): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await state.load();
      } catch (err) {
        if (!(err instanceof Error && isOfTheDisk(err.cause))) throw err;
        if (tries === 0)
          this.#logger.error(
            { err },
            'Failed to read the allocated resources of pods, retrying until they can be read',
          );
      }
      await sleep(this.#clock, LOAD_RETRY_MS, signal);
    }
  }

  /**
   * Returns the pod with its allocated resources instead of those of its spec; returns the same object if nothing was
   * allocated or both are equal.
   */
  allocated(pod: Pod): Pod {
    const { uid } = pod.metadata;
    const allocated = this.#allocated.get(uid);
    const known = this.#known.get(uid);
    if (known?.pod === pod && known.allocated === allocated) return known.is;
    const is = this.#withAllocation(pod);
    if (allocated !== undefined) this.#known.set(uid, { pod, allocated, is });
    return is;
  }

  /** Returns whether the pod has an allocation, possibly by an earlier process. */
  hasAllocation(uid: string): boolean {
    return this.#allocated.get(uid) !== undefined;
  }

  /**
   * Allocates the resources that the pod's spec requests, and starts to write them to disk. {@link saved} resolves when
   * they are on disk, and retries a write that failed.
   */
  allocate(pod: Pod): void {
    const { uid } = pod.metadata;
    this.#allocated.set(uid, resourcesOf(pod, this.#node));
    // Pods that are admitted together share one write.
    queueMicrotask(() => this.#allocated.saved(uid).catch(() => undefined));
  }

  /**
   * Resolves when the pod's allocation is on disk. The caller must not start or resize the pod earlier. Exception: see
   * {@link written}. @throws the file system's error
   */
  async saved(uid: string): Promise<void> {
    await this.#allocated.saved(uid);
  }

  /**
   * Resolves when a kubelet that starts after this one is killed finds the pod's allocation. A power loss may still
   * undo the allocation. Then the sandbox of a new pod may be created, because a power loss ends the sandbox, too.
   * @throws the file system's error
   */
  async written(uid: string): Promise<void> {
    await this.#allocated.written(uid);
  }

  /** Returns the resources that were last actuated for a container; `undefined` if unknown. */
  appliedToContainer(uid: string, name: string): ResourceRequirements | undefined {
    const { containers } = this.#actuated.get(uid) ?? NOTHING;
    return Object.hasOwn(containers, name) ? containers[name] : undefined;
  }

  /** Returns the pod-level resources that were last actuated; `undefined` if unknown. */
  appliedToPod(uid: string): ResourceRequirements | undefined {
    return this.#actuated.get(uid)?.pod;
  }

  /**
   * Records that a container has these resources, or is about to be created with them. Resolves when the resources and
   * the pod's allocation survive a power loss; the container must not be created before.
   * @throws the file system's error if one of them could not be written to disk
   */
  async containerApplied(uid: string, name: string, resources: ResourceRequirements): Promise<void> {
    this.#actuated.setContainer(uid, name, resources);
    await Promise.all([this.#actuated.saved(uid), this.#allocated.saved(uid)]);
  }

  /** Records the actuated pod-level resources, as {@link containerApplied} does for a container. */
  async podApplied(uid: string, resources: ResourceRequirements): Promise<void> {
    this.#actuated.setPod(uid, resources);
    await this.#actuated.saved(uid);
  }

  /** Removes a pod that is gone. The removal is written to the state file together with the next allocation. */
  forget(uid: string): void {
    this.#allocated.remove(uid);
    this.#actuated.remove(uid);
    this.#known.delete(uid);
    this.#waiting.ended(uid);
  }

  /** Removes all pods except those in `uids`; pods that an earlier process recorded are removed, too. */
  retain(uids: { has(uid: string): boolean }): void {
    const known = [...this.#allocated.uids(), ...this.#actuated.uids(), ...this.#waiting.uids(), ...this.#known.keys()];
    for (const uid of new Set(known)) if (!uids.has(uid)) this.forget(uid);
    this.#conditions.retain(uids);
  }

  /**
   * Processes added pods that have an allocation. If a pod's spec was changed while no kubelet ran, it differs from the
   * allocation; the resize of such a pod becomes pending.
   * @returns the UIDs of pods to sync
   */
  added(pods: readonly Pod[]): readonly string[] {
    let waits = false;
    for (const pod of pods) {
      this.#conditions.backfill(pod);
      if (this.allocated(pod) === pod) {
        // Nothing is pending: an earlier process may have allocated the resize without updating the API. Upstream keeps
        // the pending condition forever.
        this.#conditions.endPending(pod.metadata.uid);
        continue;
      }
      this.#waiting.add(pod.metadata.uid);
      waits = true;
    }
    return waits ? this.retry('pods_added') : [];
  }

  /** Processes a changed pod spec. @returns the UIDs of pods to sync */
  updated(before: Pod | undefined, pod: Pod): readonly string[] {
    const { uid } = pod.metadata;
    if (before !== undefined) {
      const operations = resizeOperations(before, pod, this.#node);
      for (const operation of operations) this.#metrics.requested.inc({ ...operation });
      if (operations.length === 0 && !podLevelChanges(before, pod)) return [];
    }
    if (this.allocated(pod) === pod) {
      // The spec equals the allocation, so the change may have reverted a pending resize.
      this.#waiting.remove(uid);
      this.#conditions.endPending(uid);
      return [];
    }
    this.#waiting.add(uid);
    return this.retry('pod_updated');
  }

  /**
   * Processes a changed pod status: a pod that now uses less may allow a pending resize. @returns the UIDs of pods to
   * sync
   */
  reconciled(before: Pod | undefined, pod: Pod): readonly string[] {
    if (this.#waiting.size === 0 || before === undefined) return [];
    // Compares allocated resources, because the requests in the specs do not matter here.
    const [held, holds] = [this.#withAllocation(before), this.#withAllocation(pod)];
    return holdsLess(held, holds) ? this.retry('pod_resized') : [];
  }

  /**
   * Retries pending resizes because resources may have become free. @returns the UIDs of pods to sync, whose allocation
   * or conditions have changed
   */
  retry(trigger: RetryTrigger): readonly string[] {
    return this.#waiting.retry(trigger);
  }

  /**
   * Retries pending resizes if nothing was tried for 3 min, or for 30 s if the pod sources were not ready. The caller
   * should call this about every 30 s.
   */
  retryOverdue(): readonly string[] {
    return this.#waiting.retryOverdue();
  }

  /**
   * Updates the resize condition before a sync of the pod: in progress, or completed. @param pod the pod with its
   * allocated resources
   */
  observe(pod: Pod, status: RuntimePodStatus): void {
    const { uid, generation } = pod.metadata;
    if (isResizeInProgress(pod, status, this.#actuated.get(uid), this.#node)) {
      this.#conditions.inProgress(uid, { observedGeneration: generation });
      return;
    }
    const ended = this.#conditions.endInProgress(uid);
    if (ended === undefined) return;
    const message = resizeMessage('Pod resize completed', pod, ended.observedGeneration);
    this.#recorder.event(podReference(pod), 'Normal', eventReasons.resizeCompleted, message);
  }

  /**
   * Records that a resize failed, as a condition and an event. The pod's next sync tries again.
   * @param pod the pod with its allocated resources
   */
  failed(pod: Pod, message: string): void {
    const { uid, generation } = pod.metadata;
    const news = { reason: RESIZE_ERROR, message, observedGeneration: generation };
    if (!this.#conditions.inProgress(uid, news)) return;
    const { inProgress } = this.#conditions.get(uid);
    const text = resizeMessage('Pod resize error', pod, inProgress?.observedGeneration, message);
    this.#recorder.event(podReference(pod), 'Warning', eventReasons.resizeError, text);
  }

  /** Returns the resize conditions of the pod's status: PodResizePending and PodResizeInProgress, if they hold. */
  conditions(uid: string): readonly PodCondition[] {
    return this.#conditions.list(uid);
  }

  /** Drops the resize of a terminated pod. */
  ended(uid: string): void {
    this.#waiting.ended(uid);
  }

  /** Whether any resize is pending. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  #withAllocation(pod: Pod): Pod {
    const allocated = this.#allocated.get(pod.metadata.uid);
    return allocated === undefined ? pod : withResources(pod, allocated, this.#node);
  }
}

/**
 * Reports whether an error may be temporary: a failure of the disk or a shortage of file descriptors. A wrong path is
 * not temporary.
 */
function isOfTheDisk(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return TRANSIENT.has(String(code));
}
