import { type Clock, sleep, withTimeout } from '@node-agent/async';
import { formatPod, type Pod, type PodStatus, podReference } from '@node-agent/pod-spec';
import { type Counter, type EventRecorder, eventReasons, type Logger, type Metrics } from '@node-agent/telemetry';
import { evictedStatus } from './evicted-status.ts';
import type { EvictionMessage } from './messages.ts';
import type { EvictionKill, EvictionPods } from './ports.ts';

/** Reason and parameters of an eviction. */
export interface EvictionCause extends Partial<Pick<EvictionMessage, 'annotations'>> {
  /** Value of the metric label `eviction_signal`. */
  readonly signal: string;
  readonly message: string;
  /** Whether the eviction is caused by a node shortage, rather than by the pod's own storage limit. */
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

/** An eviction whose pod is still awaited. */
interface Eviction {
  readonly pod: Pod;
  readonly cause: EvictionCause;
  /** Settles when a kill with a shortened grace period has finished; the original kill is then no longer awaited. */
  readonly shortened: PromiseWithResolvers<void>;
}

/** Maximum duration of a kill beyond twice the grace period. The port that kills pods has its own timeouts. */
const KILL_TIMEOUT_MS = 60_000;
const GONE_POLL_MS = 100;

/** Kills pods and waits until their resources are free (N2). Metric: `kubelet_evictions{eviction_signal}`. */
export class Evictor {
  readonly #components: Components;
  readonly #goneTimeoutMs: number;
  readonly #evictionCount: Counter<'eviction_signal'>;
  /** Evicted pods that are not gone yet, including those whose termination is no longer awaited. */
  readonly #terminating = new Map<string, Pod>();
  readonly #evictionsInProgress = new Map<string, Eviction>();

  constructor(components: Components, { goneTimeoutMs }: { readonly goneTimeoutMs: number }) {
    this.#components = components;
    this.#goneTimeoutMs = goneTimeoutMs;
    this.#evictionCount = components.metrics.counter({
      name: 'kubelet_evictions',
      help: 'Pods evicted, by eviction signal.',
      labels: ['eviction_signal'],
    });
  }

  /**
   * Returns whether the pod was evicted before and is still terminating. A second eviction of the pod would free
   * nothing.
   */
  isTerminating(pod: Pod): boolean {
    return this.#terminating.has(pod.metadata.uid);
  }

  /** Returns whether the pod was evicted and its termination is still awaited. */
  isBeingEvicted(pod: Pod): boolean {
    return this.#evictionsInProgress.has(pod.metadata.uid);
  }

  /**
   * Shortens the grace period of matching pods that are being evicted, because the shortage has become urgent. Returns
   * without waiting.
   */
  shortenGracePeriod(
    isAffected: (cause: EvictionCause, pod: Pod) => boolean,
    gracePeriodSeconds: number,
    signal: AbortSignal,
  ): void {
    const { logger } = this.#components;
    for (const [uid, { pod, cause, shortened }] of this.#evictionsInProgress) {
      if (!isAffected(cause, pod) || cause.gracePeriodSeconds <= gracePeriodSeconds) continue;
      this.#evictionsInProgress.set(uid, { pod, cause: { ...cause, gracePeriodSeconds }, shortened });
      const facts = { pod: formatPod(pod), gracePeriodSeconds, before: cause.gracePeriodSeconds };
      logger.info(facts, 'Eviction manager: shortened the grace period of a terminating pod');
      const how = { statusFn: (status: PodStatus) => status, gracePeriodSeconds };
      this.#kill(pod, how, signal).then(shortened.resolve, shortened.reject);
    }
  }

  /** Removes pods that are gone from the set of terminating pods. */
  forgetGone(): void {
    for (const [uid, pod] of this.#terminating) if (this.#components.pods.isGone(pod)) this.#terminating.delete(uid);
  }

  /**
   * Kills a pod and waits until its containers have stopped, or until the kill has timed out. The pod's resources may
   * not be free yet. @throws the signal's reason
   */
  async evict(pod: Pod, cause: EvictionCause, signal: AbortSignal): Promise<void> {
    const { recorder, logger } = this.#components;
    const { message, gracePeriodSeconds, isDisruption } = cause;
    recorder.event(podReference(pod), 'Warning', eventReasons.evicted, message, cause.annotations);
    this.#evictionCount.inc({ eviction_signal: cause.signal });
    this.#terminating.set(pod.metadata.uid, pod);
    const shortened = Promise.withResolvers<void>();
    this.#evictionsInProgress.set(pod.metadata.uid, { pod, cause, shortened });
    const facts = { pod: formatPod(pod), gracePeriodSeconds, signal: cause.signal };
    logger.info({ ...facts, message }, 'Evicting pod');
    const how = { statusFn: evictedStatus(pod, message, isDisruption), gracePeriodSeconds };
    try {
      await Promise.race([this.#kill(pod, how, signal), shortened.promise]);
      logger.info(facts, 'Eviction manager: pod is evicted successfully');
    } catch (err) {
      signal.throwIfAborted();
      logger.error({ err, ...facts }, 'Eviction manager: pod failed to evict');
    }
  }

  /** Kills a pod through the port, for a limited time. @throws if the kill takes too long; the signal's reason */
  async #kill(pod: Pod, how: EvictionKill, signal: AbortSignal): Promise<void> {
    const { pods, clock } = this.#components;
    const limitMs = 2000 * how.gracePeriodSeconds + KILL_TIMEOUT_MS;
    await withTimeout(clock, limitMs, (limit) => pods.kill(pod, how, limit), signal);
  }

  /** Waits until the evicted pods are gone, or until the clean-up timeout has passed. @throws the signal's reason */
  async waitUntilGone(evicted: readonly Pod[], signal: AbortSignal): Promise<void> {
    try {
      await this.#untilGone(evicted, signal);
    } finally {
      for (const { metadata } of evicted) this.#evictionsInProgress.delete(metadata.uid);
    }
  }

  async #untilGone(evicted: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { pods, logger, clock } = this.#components;
    const endMs = clock.monotonic() + this.#goneTimeoutMs;
    for (;;) {
      const left = evicted.filter((pod) => !pods.isGone(pod));
      for (const pod of evicted) if (!left.includes(pod)) this.#terminating.delete(pod.metadata.uid);
      if (left.length === 0) return;
      if (clock.monotonic() >= endMs) {
        logger.warn({ pods: left.map(formatPod) }, 'Eviction manager: timed out waiting for pods to be cleaned up');
        return;
      }
      await sleep(clock, GONE_POLL_MS, signal);
    }
  }
}
