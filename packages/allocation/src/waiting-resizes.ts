import type { Clock } from '@node-agent/async';
import { type Pod, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger } from '@node-agent/telemetry';
import { asksForMore } from './allocated-pod.ts';
import type { AllocationMetrics } from './metrics.ts';
import type { PodConditions } from './pod-conditions.ts';
import type { PendingReason } from './resize-conditions.ts';
import { resizeMessage } from './resize-message.ts';
import { compareResizes } from './resize-order.ts';
import { type ResizeNode, resizeRefusal } from './resize-refusal.ts';

/** What makes resizes that wait be tried again: the label `retry_trigger` of upstream's metric. */
export type RetryTrigger =
  | 'pod_resized'
  | 'pod_updated'
  | 'pods_added'
  | 'pods_removed'
  | 'pod_terminated'
  | 'periodic_retry';

/** The pods of the node. */
export interface AllocationPods {
  /** Those that hold resources of the node (N1), as granted. */
  active(): readonly Pod[];
  /** Those about which nothing is decided, and for which others may be being ended: what becomes free is theirs first. None where absent. */
  applicants?(): readonly Pod[];
  /** A pod as its source has it now. */
  byUid(uid: string): Pod | undefined;
  /** Whether all sources have told of their pods: nothing is given away before. */
  sourcesReady(): boolean;
}

/** Whether there is room for a pod as it asks to be, and why not. */
export type ResizeVerdict =
  | { readonly admit: true }
  | {
      readonly admit: false;
      readonly reason: string;
      readonly message: string;
      /** Ends those who are in the way, where somebody may be; resolves when that is done, or says why not. Whether there is room then is asked anew. */
      readonly recover?: (signal: AbortSignal) => Promise<ResizeVerdict>;
    };

/**
 * Whether there is room for a pod as it asks to be, beside the others as they were granted. Answers at once, so that nobody else
 * is given the same room meanwhile.
 */
export type AdmitResize = (pod: Pod, others: readonly Pod[]) => ResizeVerdict;

/** How long waiting resizes are let be, where nothing happens that may have made room. */
const RETRY_MS = 180_000;
/** The same before the sources have told of their pods. */
const FIRST_RETRY_MS = 30_000;

/** What came of ending others for a pod. */
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
  readonly grants: { allocated(pod: Pod): Pod; grant(pod: Pod): void };
  /** Pods are to be synced, as what was decided about them took its time. */
  readonly onDecided: (uids: readonly string[]) => void;
  /** Aborted when the kubelet ends. */
  readonly ending: () => AbortSignal;
}

/** The resizes that wait for room, and who of them gets it (`retryPendingResizes` in `pkg/kubelet/allocation/allocation_manager.go`). */
export class WaitingResizes {
  readonly #components: Components;
  /** The pods whose resize waits. */
  readonly #waiting = new Set<string>();
  /** Pods for which others are being ended. */
  readonly #recovering = new Set<string>();
  /** When they are tried again though nothing has happened, by the monotonic clock. */
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

  /** The pod has come to its end, and with it its resize. */
  ended(uid: string): void {
    this.#waiting.delete(uid);
    this.#components.conditions.forget(uid);
  }

  /** Something may have made room. @returns the UIDs of pods that are to be synced, as their grant or their condition is another */
  retry(trigger: RetryTrigger): readonly string[] {
    return this.#retry(trigger);
  }

  /**
   * @param recovered what came of ending others for a pod: nobody else is ended this time, for it or for another, as two for whom that
   *   is in vain would have each other tried again without end
   */
  #retry(trigger: RetryTrigger, recovered?: Recovered): readonly string[] {
    const { pods, clock, conditions, metrics } = this.#components;
    const isReady = pods.sourcesReady();
    this.#dueAtMs = clock.monotonic() + (isReady ? RETRY_MS : FIRST_RETRY_MS);
    if (this.#waiting.size === 0 || !isReady) return [];
    const changed: string[] = [];
    for (const pod of this.#inOrder()) {
      const { uid } = pod.metadata;
      const before = conditions.get(uid);
      const granted = this.#try(pod, recovered);
      const after = conditions.get(uid);
      if (after.pending?.reason !== 'Deferred' && !this.#recovering.has(uid)) this.#waiting.delete(uid);
      if (granted && before.pending?.reason === 'Deferred') metrics.acceptedLate.inc({ retry_trigger: trigger });
      if (granted || before !== after) changed.push(uid);
    }
    return changed;
  }

  /** Tries again what waits, once nothing has been tried for 3 min; for 30 s, where the sources were not ready. */
  retryOverdue(): readonly string[] {
    return this.#components.clock.monotonic() < this.#dueAtMs ? [] : this.retry('periodic_retry');
  }

  #inOrder(): readonly Pod[] {
    const { pods, conditions, grants } = this.#components;
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
          increases: asksForMore(pod, grants.allocated(pod)),
          pendingSinceMs: since === undefined ? undefined : Date.parse(since),
        },
      ];
    });
    return resizes.sort(compareResizes).map(({ pod }) => pod);
  }

  /** @returns whether the pod has now what it asks for, and had not before */
  #try(pod: Pod, recovered: Recovered | undefined): boolean {
    const { pods, conditions, grants, metrics, node } = this.#components;
    const { uid } = pod.metadata;
    const granted = grants.allocated(pod);
    if (granted === pod) {
      conditions.endPending(uid);
      return false;
    }
    const refusal = resizeRefusal(pod, granted, node);
    if (refusal !== undefined) {
      metrics.infeasible.inc({ reason_detail: refusal.detail });
      this.#putOff(pod, { reason: 'Infeasible', message: refusal.message });
      return false;
    }
    const others = pods.active().filter(({ metadata }) => metadata.uid !== uid);
    const verdict = this.#verdict(pod, granted, others);
    if (!verdict.admit) {
      // While it is seen to, it is not said to wait: upstream's kubelet stands still meanwhile.
      if (this.#recovering.has(uid)) return false;
      if (recovered === undefined && verdict.recover !== undefined) void this.#recover(pod, verdict.recover);
      else if (recovered?.uid === uid) this.#putOff(pod, recovered.verdict.admit ? verdict : recovered.verdict);
      // What was said when others were to be ended for it stands until that is tried again.
      else if (verdict.recover === undefined || conditions.get(uid).pending === undefined) this.#putOff(pod, verdict);
      return false;
    }
    this.#grant(pod);
    return true;
  }

  /** Nobody is ended for a pod that only those are in the way of who came before: they may yet be refused. */
  #verdict(pod: Pod, granted: Pod, others: readonly Pod[]): ResizeVerdict {
    const { pods, admit } = this.#components;
    const verdict = admit(pod, others);
    const applicants = pods.applicants?.() ?? [];
    if (!verdict.admit || applicants.length === 0 || !asksForMore(pod, granted)) return verdict;
    const beside = admit(pod, [...others, ...applicants]);
    return beside.admit ? beside : { admit: false, reason: beside.reason, message: beside.message };
  }

  /** Others are ended for the pod. Where what becomes free is another's by then, its resize waits as any other. */
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

  #grant(pod: Pod): void {
    const { conditions, grants, recorder, logger } = this.#components;
    const { uid, generation, name } = pod.metadata;
    grants.grant(pod);
    conditions.endPending(uid);
    // What went wrong with an earlier one is not this one's fault, and its generation is another.
    conditions.endInProgress(uid);
    conditions.inProgress(uid, { observedGeneration: generation });
    const message = resizeMessage('Pod resize started', pod, generation);
    recorder.event(podReference(pod), 'Normal', eventReasons.resizeStarted, message);
    logger.info({ podUid: uid, pod: name }, 'Pod resize was granted');
  }

  /** Its condition says whether it can ever be; its event says also who refused it, as `OutOfcpu`. */
  #putOff(pod: Pod, { reason, message }: { readonly reason: string; readonly message: string }): void {
    const { conditions, recorder, logger } = this.#components;
    const { uid, generation, name } = pod.metadata;
    const pending: PendingReason = reason === 'Infeasible' ? reason : 'Deferred';
    if (!conditions.pending(uid, { reason: pending, message, observedGeneration: generation })) return;
    const event = pending === 'Deferred' ? eventReasons.resizeDeferred : eventReasons.resizeInfeasible;
    const text = resizeMessage(`Pod resize ${reason}`, pod, generation, message);
    recorder.event(podReference(pod), 'Warning', event, text);
    logger.info({ podUid: uid, pod: name, reason, message }, 'Pod resize has to wait');
  }
}
