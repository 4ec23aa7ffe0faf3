import type { Clock } from '@node-agent/async';
import { type Pod, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger } from '@node-agent/telemetry';
import { ActivePods } from './active-pods.ts';
import { asksForMore } from './allocated-pod.ts';
import type { AllocationMetrics } from './metrics.ts';
import type { PodConditions } from './pod-conditions.ts';
import type { PendingReason } from './resize-conditions.ts';
import { resizeMessage } from './resize-message.ts';
import { compareResizes } from './resize-order.ts';
import { type ResizeNode, resizeRefusal } from './resize-refusal.ts';

/** Cause of a retry of pending resizes; label `retry_trigger` of upstream's metric. */
export type RetryTrigger =
  | 'pod_resized'
  | 'pod_updated'
  | 'pods_added'
  | 'pods_removed'
  | 'pod_terminated'
  | 'periodic_retry';

/** Methods through which this package sees the pods of the node. */
export interface AllocationPods {
  /** Returns the pods that hold resources of the node (N1), with their allocated resources. */
  active(): readonly Pod[];
  /**
   * Returns pods that are still in admission, for which other pods may be being evicted. The returned pods get freed
   * resources before pending resizes do. Default: no pods.
   */
  applicants?(): readonly Pod[];
  /** Returns the pod with the spec that its source has now. */
  byUid(uid: string): Pod | undefined;
  /** Returns whether all pod sources are ready. Until all sources are ready, no resources are allocated to resizes. */
  sourcesReady(): boolean;
}

/** Result of checking whether the node has room for a pod with its requested resources. */
export type ResizeVerdict =
  | { readonly admit: true }
  | {
      readonly admit: false;
      readonly reason: string;
      readonly message: string;
      /**
       * Evicts pods to make room, if eviction may help. After this resolves, the caller must check again whether there
       * is room.
       */
      readonly recover?: (signal: AbortSignal) => Promise<ResizeVerdict>;
    };

/**
 * Checks whether the node has room for the requested resources of a pod together with the allocated resources of the
 * other pods. Synchronous, so that no other pod is allocated the same resources in between.
 */
export type AdmitResize = (pod: Pod, others: readonly Pod[]) => ResizeVerdict;

/** Interval of retries without a trigger, in milliseconds. */
const RETRY_MS = 180_000;
/** Interval of retries before the pod sources are ready, in milliseconds. */
const FIRST_RETRY_MS = 30_000;

/** Result of evicting other pods to make room for a pod's resize. */
interface Recovered {
  readonly uid: string;
  readonly verdict: ResizeVerdict;
}

interface Components {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly metrics: AllocationMetrics;
  readonly pods: AllocationPods;
  readonly admit: AdmitResize;
  readonly node: ResizeNode;
  readonly conditions: PodConditions;
  readonly allocations: { allocated(pod: Pod): Pod; allocate(pod: Pod): void };
  /** Called with the pods to sync when an asynchronous decision was made. */
  readonly onDecided: (uids: readonly string[]) => void;
  /** Returns the signal that is aborted when the kubelet stops. */
  readonly ending: () => AbortSignal;
}

/**
 * Manages resizes that wait for resources, and decides which are allocated (`retryPendingResizes` in
 * `pkg/kubelet/allocation/allocation_manager.go`).
 */
export class WaitingResizes {
  readonly #components: Components;
  /** UIDs of pods with a pending resize. */
  readonly #waiting = new Set<string>();
  /** UIDs of pods for whose resize other pods are being evicted. */
  readonly #recovering = new Set<string>();
  /** Time of the next retry without a trigger, on the monotonic clock in milliseconds. */
  #dueAtMs: number;

  constructor(components: Components) {
    this.#components = components;
    this.#dueAtMs = components.clock.monotonic() + FIRST_RETRY_MS;
  }

  get size(): number {
    return this.#waiting.size;
  }

  uids(): readonly string[] {
    return [...this.#waiting];
  }

  add(uid: string): void {
    this.#waiting.add(uid);
  }

  remove(uid: string): void {
    this.#waiting.delete(uid);
  }

  /** Drops the resize of a terminated pod. */
  ended(uid: string): void {
    this.#waiting.delete(uid);
    this.#components.conditions.forget(uid);
  }

  /**
   * Retries pending resizes because resources may have become free. @returns the UIDs of pods to sync, whose allocation
   * or conditions have changed
   */
  retry(trigger: RetryTrigger): readonly string[] {
    return this.#retry(trigger);
  }

  /**
   * Tries all pending resizes in order. @param recovered result of evicting other pods for a pod's resize. No further
   * pods are evicted in this pass, for any pod; otherwise, two pods whose evictions do not help would trigger each
   * other endlessly
   */
  #retry(trigger: RetryTrigger, recovered?: Recovered): readonly string[] {
    const { pods, clock, conditions, allocations, metrics } = this.#components;
    const isReady = pods.sourcesReady();
    this.#dueAtMs = clock.monotonic() + (isReady ? RETRY_MS : FIRST_RETRY_MS);
    if (this.#waiting.size === 0 || !isReady) return [];
    const changed: string[] = [];
    // The pass is synchronous, so only its own allocations change the active pods.
    const active = new ActivePods(pods.active());
    for (const pod of this.#inOrder()) {
      const { uid } = pod.metadata;
      const before = conditions.get(uid);
      const isAllocated = this.#try(pod, active, recovered);
      if (isAllocated) active.replace(allocations.allocated(pod));
      const after = conditions.get(uid);
      if (after.pending?.reason !== 'Deferred' && !this.#recovering.has(uid)) this.#waiting.delete(uid);
      if (isAllocated && before.pending?.reason === 'Deferred') metrics.acceptedLate.inc({ retry_trigger: trigger });
      if (isAllocated || before !== after) changed.push(uid);
    }
    return changed;
  }

  /** Retries pending resizes if nothing was tried for 3 min, or for 30 s if the pod sources were not ready. */
  retryOverdue(): readonly string[] {
    return this.#components.clock.monotonic() < this.#dueAtMs ? [] : this.retry('periodic_retry');
  }

  #inOrder(): readonly Pod[] {
    const { pods, conditions, allocations } = this.#components;
    const resizes = [...this.#waiting].flatMap((uid) => {
      const pod = pods.byUid(uid);
      if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) {
        this.ended(uid);
        return [];
      }
      const since = conditions.get(uid).pending?.lastTransitionTime;
      return [
        {
          pod,
          increases: asksForMore(pod, allocations.allocated(pod)),
          pendingSinceMs: since === undefined ? undefined : Date.parse(since),
        },
      ];
    });
    return resizes.sort(compareResizes).map(({ pod }) => pod);
  }

  /** Tries one resize. @returns whether the pod's requested resources were allocated now */
  #try(pod: Pod, active: ActivePods, recovered: Recovered | undefined): boolean {
    const { conditions, allocations, metrics, node } = this.#components;
    const { uid } = pod.metadata;
    const allocated = allocations.allocated(pod);
    if (allocated === pod) {
      conditions.endPending(uid);
      return false;
    }
    const refusal = resizeRefusal(pod, allocated, node);
    if (refusal !== undefined) {
      metrics.infeasible.inc({ reason_detail: refusal.detail });
      this.#putOff(pod, { reason: 'Infeasible', message: refusal.message });
      return false;
    }
    const verdict = this.#verdict(pod, allocated, active.without(uid));
    if (!verdict.admit) {
      // While other pods are being evicted for this resize, the resize is not marked as pending. Upstream's kubelet
      // blocks during that time.
      if (this.#recovering.has(uid)) return false;
      if (recovered === undefined && verdict.recover !== undefined) void this.#recover(pod, verdict.recover);
      else if (recovered?.uid === uid) this.#putOff(pod, recovered.verdict.admit ? verdict : recovered.verdict);
      // Otherwise the existing message, which is about evictions, is kept until evictions are tried again.
      else if (verdict.recover === undefined || conditions.get(uid).pending === undefined) this.#putOff(pod, verdict);
      return false;
    }
    this.#allocate(pod);
    return true;
  }

  /**
   * Checks whether the node has room for the resize. Room for pods that are still in admission is reserved, but no pods
   * are evicted because of them, as they may still be rejected.
   */
  #verdict(pod: Pod, allocated: Pod, others: readonly Pod[]): ResizeVerdict {
    const { pods, admit } = this.#components;
    const verdict = admit(pod, others);
    const applicants = pods.applicants?.() ?? [];
    if (!verdict.admit || applicants.length === 0 || !asksForMore(pod, allocated)) return verdict;
    const beside = admit(pod, [...others, ...applicants]);
    return beside.admit ? beside : { admit: false, reason: beside.reason, message: beside.message };
  }

  /**
   * Evicts other pods for the pod. If another pod has got the freed resources in the meantime, the resize stays
   * pending.
   */
  async #recover(pod: Pod, recover: (signal: AbortSignal) => Promise<ResizeVerdict>): Promise<void> {
    const { logger, ending, onDecided } = this.#components;
    const { uid, name } = pod.metadata;
    const signal = ending();
    this.#recovering.add(uid);
    let verdict: ResizeVerdict = { admit: true };
    try {
      verdict = await recover(signal);
    } catch (err) {
      if (!signal.aborted) logger.error({ err, podUid: uid, pod: name }, 'Failed to make room for the resize of a pod');
    }
    this.#recovering.delete(uid);
    if (!signal.aborted) onDecided(this.#retry('pod_terminated', { uid, verdict }));
  }

  #allocate(pod: Pod): void {
    const { conditions, allocations, recorder, logger } = this.#components;
    const { uid, generation, name } = pod.metadata;
    allocations.allocate(pod);
    conditions.endPending(uid);
    // A failure of an earlier resize does not apply to this one, which has another generation.
    conditions.endInProgress(uid);
    conditions.inProgress(uid, { observedGeneration: generation });
    const message = resizeMessage('Pod resize started', pod, generation);
    recorder.event(podReference(pod), 'Normal', eventReasons.resizeStarted, message);
    logger.info({ podUid: uid, pod: name }, 'Allocated the resources of a pod resize');
  }

  /**
   * Marks the resize as pending. The condition states whether the resize is deferred or infeasible; the event also
   * names the rejecting check, for example `OutOfcpu`.
   */
  #putOff(pod: Pod, { reason, message }: { readonly reason: string; readonly message: string }): void {
    const { conditions, recorder, logger } = this.#components;
    const { uid, generation, name } = pod.metadata;
    const pending: PendingReason = reason === 'Infeasible' ? reason : 'Deferred';
    if (!conditions.pending(uid, { reason: pending, message, observedGeneration: generation })) return;
    const event = pending === 'Deferred' ? eventReasons.resizeDeferred : eventReasons.resizeInfeasible;
    const text = resizeMessage(`Pod resize ${reason}`, pod, generation, message);
    recorder.event(podReference(pod), 'Warning', event, text);
    logger.info({ podUid: uid, pod: name, reason, message }, 'Pod resize is pending');
  }
}
