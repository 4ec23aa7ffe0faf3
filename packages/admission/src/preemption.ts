import type { RefusalReason } from '@node-agent/contracts';
import { formatPod, type Pod, type PodStatus, podReference } from '@node-agent/pod-spec';
import {
  type Counter,
  type EventRecorder,
  errorText,
  eventReasons,
  type Logger,
  type Metrics,
  type WithDefaults,
  withDefaults,
} from '@node-agent/telemetry';

import { formatRequirements, planPreemption, type Requirement, requirementsOf } from './preemption-rule.ts';
import type { InsufficientResource, RequestsOf } from './resource-fit.ts';

const MESSAGE = 'Preempted in order to admit critical pod';
const CONDITION_MESSAGE = 'Pod was preempted by Kubelet to accommodate a critical pod.';

/** Dependencies of {@link Preemption}. */
export interface PreemptionComponents {
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly recorder?: EventRecorder;
  /**
   * Kills a pod and applies `change` to its status; resolves when its containers have stopped. If the pod does not
   * terminate in time, the promise rejects and the pod gets an event; the kill continues.
   */
  readonly kill: (pod: Pod, change: (status: PodStatus) => PodStatus, signal: AbortSignal) => Promise<void>;
}

/** Evicts pods to make room for a critical pod (`pkg/kubelet/preemption/preemption.go`). */
export class Preemption {
  readonly #components: WithDefaults<PreemptionComponents>;
  readonly #preemptions: Counter<'preemption_signal'>;

  constructor(given: PreemptionComponents) {
    this.#components = withDefaults({
      logger: undefined,
      metrics: undefined,
      recorder: undefined,
      ...given,
    });
    this.#preemptions = this.#components.metrics.counter({
      name: 'kubelet_preemptions',
      help: 'Cumulative number of pod preemptions by preemption resource',
      labels: ['preemption_signal'],
    });
  }

  /**
   * Makes room for a critical pod that lacks only resources; if the promise resolves to `undefined`, the pod may run.
   * @param active the pods that hold resources
   * @param heldBy returns the resources of a pod that become free when it is gone
   * @param signal ends the wait; running kills continue
   */
  async makeRoom(
    pod: Pod,
    short: readonly InsufficientResource[],
    active: readonly Pod[],
    heldBy: RequestsOf,
    signal: AbortSignal,
  ): Promise<RefusalReason | undefined> {
    const requirements = requirementsOf(short);
    const plan = planPreemption(pod, active, requirements, heldBy);
    if ('missing' in plan) {
      const why = `no set of running pods found to reclaim resources: ${formatRequirements(plan.missing)}`;
      return {
        reason: 'UnexpectedAdmissionError',
        message: `Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: ${why}`,
      };
    }
    await Promise.all(plan.victims.map((victim) => this.#end(victim, pod, requirements, signal)));
    signal.throwIfAborted();
    return undefined;
  }

  /**
   * Evicts a victim and waits until it has stopped. If the victim does not stop in time, the wait ends: the victim
   * still holds its resources, and the critical pod runs nevertheless.
   */
  async #end(victim: Pod, preemptor: Pod, requirements: readonly Requirement[], signal: AbortSignal): Promise<void> {
    const { logger, recorder, kill } = this.#components;
    const fields = { podUid: victim.metadata.uid, pod: formatPod(victim), preemptor: formatPod(preemptor) };
    recorder.event(podReference(victim), 'Warning', eventReasons.preemptContainer, MESSAGE);
    logger.info({ ...fields, requirements: formatRequirements(requirements) }, 'Preempting pod to free up resources');
    try {
      await kill(victim, (status) => preempted(victim, status), signal);
      this.#preemptions.inc({ preemption_signal: requirements[0]?.resource ?? '' });
    } catch (err) {
      if (signal.aborted) return;
      logger.error({ ...fields, reason: errorText(err) }, 'Failed to evict pod');
    }
  }
}

/** Returns the status of an evicted pod. */
function preempted({ metadata: { generation } }: Pod, status: PodStatus): PodStatus {
  const condition = {
    type: 'DisruptionTarget',
    ...(generation !== undefined && { observedGeneration: generation }),
    status: 'True',
    reason: 'TerminationByKubelet',
    message: CONDITION_MESSAGE,
  };
  const others = (status.conditions ?? []).filter(({ type }) => type !== condition.type);
  return {
    ...status,
    phase: 'Failed',
    reason: eventReasons.preemptContainer,
    message: MESSAGE,
    conditions: [...others, condition],
  };
}
