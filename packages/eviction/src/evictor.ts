import { type Clock, sleep, withTimeout } from '@node-agent/async';
import { formatPod, type Pod, type PodStatus, podReference } from '@node-agent/pod-spec';
import { type Counter, type EventRecorder, eventReasons, type Logger, type Metrics } from '@node-agent/telemetry';
import { evictedStatus } from './evicted-status.ts';
import type { EvictionMessage } from './messages.ts';
import type { EvictionKill, EvictionPods } from './ports.ts';

/** Why a pod has to go. */
export interface EvictionCause extends Partial<Pick<EvictionMessage, 'annotations'>> {
  /** As the label `eviction_signal` has it. */
  readonly signal: string;
  readonly message: string;
  /** For a lack of resources of the node, and not for the pod's own limits. */
  readonly isDisruption: boolean;
  readonly gracePeriodSeconds: number;
}

interface Components {
  readonly pods: EvictionPods;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
}

/** A pod whose time is not over yet. */
interface Going {
  readonly pod: Pod;
  readonly cause: EvictionCause;
  /** Settles once it was given less time, and that is over: it is waited for no longer. */
  readonly hurried: PromiseWithResolvers<void>;
}

/** How long a kill may take beyond twice the grace period; whoever kills has limits of its own. */
const KILL_PATIENCE_MS = 60_000;
const GONE_LOOK_MS = 100;

/** Ends pods, and waits until what they held is free (N2). Metric: `kubelet_evictions{eviction_signal}`. */
export class Evictor {
  readonly #components: Components;
  readonly #goneTimeoutMs: number;
  readonly #evictions: Counter<'eviction_signal'>;
  /** Those that were evicted, and are not gone after all the time that they had. */
  readonly #ending = new Map<string, Pod>();
  readonly #going = new Map<string, Going>();

  constructor(components: Components, { goneTimeoutMs }: { readonly goneTimeoutMs: number }) {
    this.#components = components;
    this.#goneTimeoutMs = goneTimeoutMs;
    this.#evictions = components.metrics.counter({
      name: 'kubelet_evictions',
      help: 'How many pods were evicted, by the signal that they were evicted for.',
      labels: ['eviction_signal'],
    });
  }

  /** Whether a pod was evicted before, and is still ending: to evict it again would free nothing. */
  isEnding(pod: Pod): boolean {
    return this.#ending.has(pod.metadata.uid);
  }

  /** Whether a pod was evicted, and has time yet to be gone. */
  isGoing(pod: Pod): boolean {
    return this.#going.has(pod.metadata.uid);
  }

  /** Gives those that go for something as this less time, where they have more: it has become urgent. Returns at once. */
  hurry(isMeant: (cause: EvictionCause, pod: Pod) => boolean, gracePeriodSeconds: number, signal: AbortSignal): void {
    const { logger } = this.#components;
    for (const [uid, { pod, cause, hurried }] of this.#going) {
      if (!isMeant(cause, pod) || cause.gracePeriodSeconds <= gracePeriodSeconds) continue;
      this.#going.set(uid, { pod, cause: { ...cause, gracePeriodSeconds }, hurried });
      const facts = { pod: formatPod(pod), gracePeriodSeconds, had: cause.gracePeriodSeconds };
      logger.info(facts, 'Eviction manager: a pod that ends has less time');
      const how = { statusFn: (status: PodStatus) => status, gracePeriodSeconds };
      this.#kill(pod, how, signal).then(hurried.resolve, hurried.reject);
    }
  }

  /** Forgets those that are gone by now. */
  look(): void {
    for (const [uid, pod] of this.#ending) if (this.#components.pods.isGone(pod)) this.#ending.delete(uid);
  }

  /** Ends a pod: nothing of it runs then, or that takes too long. What it held may not be free yet. @throws the signal's reason */
  async end(pod: Pod, cause: EvictionCause, signal: AbortSignal): Promise<void> {
    const { recorder, logger } = this.#components;
    const { message, gracePeriodSeconds, isDisruption } = cause;
    recorder.event(podReference(pod), 'Warning', eventReasons.evicted, message, cause.annotations);
    this.#evictions.inc({ eviction_signal: cause.signal });
    this.#ending.set(pod.metadata.uid, pod);
    const hurried = Promise.withResolvers<void>();
    this.#going.set(pod.metadata.uid, { pod, cause, hurried });
    const facts = { pod: formatPod(pod), gracePeriodSeconds, signal: cause.signal };
    logger.info({ ...facts, message }, 'Evicting pod');
    const how = { statusFn: evictedStatus(pod, message, isDisruption), gracePeriodSeconds };
    try {
      await Promise.race([this.#kill(pod, how, signal), hurried.promise]);
      logger.info(facts, 'Eviction manager: pod is evicted successfully');
    } catch (err) {
      signal.throwIfAborted();
      logger.error({ err, ...facts }, 'Eviction manager: pod failed to evict');
    }
  }

  /** @throws where that takes too long; the signal's reason */
  async #kill(pod: Pod, how: EvictionKill, signal: AbortSignal): Promise<void> {
    const { pods, clock } = this.#components;
    const limitMs = 2000 * how.gracePeriodSeconds + KILL_PATIENCE_MS;
    await withTimeout(clock, limitMs, (limit) => pods.kill(pod, how, limit), signal);
  }

  /** Waits until pods that were ended are gone, or for so long that the node cannot wait for them any more. @throws the signal's reason */
  async gone(ended: readonly Pod[], signal: AbortSignal): Promise<void> {
    try {
      await this.#untilGone(ended, signal);
    } finally {
      for (const { metadata } of ended) this.#going.delete(metadata.uid);
    }
  }

  async #untilGone(ended: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { pods, logger, clock } = this.#components;
    const endMs = clock.monotonic() + this.#goneTimeoutMs;
    for (;;) {
      const left = ended.filter((pod) => !pods.isGone(pod));
      for (const pod of ended) if (!left.includes(pod)) this.#ending.delete(pod.metadata.uid);
      if (left.length === 0) return;
      if (clock.monotonic() >= endMs) {
        logger.warn({ pods: left.map(formatPod) }, 'Eviction manager: timed out waiting for pods to be cleaned up');
        return;
      }
      await sleep(clock, GONE_LOOK_MS, signal);
    }
  }
}
