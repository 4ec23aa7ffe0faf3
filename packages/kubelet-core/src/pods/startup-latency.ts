import type { Clock } from '@node-agent/async';
import { isMirrorPod, isStaticPod, isTerminalPhase, type Pod, type PodStatus } from '@node-agent/pod-spec';
import type { Gauge, Histogram, Metrics } from '@node-agent/telemetry';
import { STARTUP_BUCKETS } from './start-metrics.ts';

/** An image pull, with times of the monotonic clock. */
interface Pull {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/** Volume types that a stateless pod may have, as the startup latency SLO defines it. */
const STATELESS_VOLUMES: readonly string[] = ['secret', 'configMap', 'downwardAPI', 'emptyDir', 'projected'];

/**
 * Measures the time from the creation of an API pod until the API server shows that all its containers run, which is
 * the indicator of the startup latency SLO (`pkg/kubelet/util/pod_startup_latency_tracker.go`). Measures only pods that
 * had no start time when first seen and that were never unschedulable.
 */
export class StartupLatency {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #total: Histogram;
  readonly #indicator: Histogram;
  readonly #firstWithNetwork: Gauge;
  #hasFirstWithNetwork = false;
  /**
   * Image pulls of the pods that are starting. The value is `left out` for pods that were already measured or are never
   * measured.
   */
  readonly #pods = new Map<string, Pull[] | 'left out'>();

  constructor({ clock, metrics }: { readonly clock: Pick<Clock, 'now'>; readonly metrics: Metrics }) {
    this.#clock = clock;
    this.#total = metrics.histogram({
      name: 'kubelet_pod_start_total_duration_seconds',
      help: 'Seconds from the creation of a pod until the API server shows that its containers run.',
      buckets: STARTUP_BUCKETS,
    });
    this.#indicator = metrics.histogram({
      name: 'kubelet_pod_start_sli_duration_seconds',
      help: 'Seconds from the creation of a stateless pod until the API server shows that its containers run, without the time of image pulls and init containers.',
      buckets: STARTUP_BUCKETS,
    });
    this.#firstWithNetwork = metrics.gauge({
      name: 'kubelet_first_network_pod_start_sli_duration_seconds',
      help: 'Seconds from the creation of the first pod with its own network until the API server shows that its containers run, without the time of image pulls and init containers.',
    });
  }

  /** Records the current version of a pod from a source. */
  observed(pod: Pod): void {
    const { uid } = pod.metadata;
    if (isStaticPod(pod) || isMirrorPod(pod) || isTerminalPhase(pod.status?.phase)) {
      this.#pods.delete(uid);
      return;
    }
    const pulls = this.#pods.get(uid);
    if (pulls === 'left out') return;
    if (isUnschedulable(pod)) this.#pods.set(uid, 'left out');
    else if (pulls === undefined) this.#pods.set(uid, pod.status?.startTime === undefined ? [] : 'left out');
    else if (hasStarted(pod.status)) {
      this.#measure(pod, pulls);
      this.#pods.set(uid, 'left out');
    }
  }

  /**
   * Records that an image pull for a pod has ended, with any outcome. The start and end times are of the monotonic
   * clock.
   */
  pulled(podUid: string, startedAtMs: number, endedAtMs: number): void {
    const pulls = this.#pods.get(podUid);
    if (Array.isArray(pulls)) pulls.push({ startedAtMs, endedAtMs });
  }

  /** Forgets a pod that is gone. */
  forget(podUid: string): void {
    this.#pods.delete(podUid);
  }

  #measure(pod: Pod, pulls: readonly Pull[]): void {
    const createdAtMs = Date.parse(pod.metadata.creationTimestamp ?? '');
    if (Number.isNaN(createdAtMs)) return;
    const totalMs = this.#clock.now() - createdAtMs;
    this.#total.observe({}, totalMs / 1000);
    if (isStateful(pod)) return;
    const ownSeconds = (totalMs - pullingMs(pulls) - initContainersMs(pod)) / 1000;
    this.#indicator.observe({}, ownSeconds);
    if (pod.spec.hostNetwork || this.#hasFirstWithNetwork) return;
    this.#hasFirstWithNetwork = true;
    this.#firstWithNetwork.set({}, ownSeconds);
  }
}

function isUnschedulable({ status }: Pod): boolean {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return scheduled?.status === 'False' && scheduled.reason === 'Unschedulable';
}

function hasStarted(status: PodStatus | undefined): boolean {
  const statuses = status?.containerStatuses ?? [];
  return statuses.length > 0 && statuses.every(({ state }) => state?.running?.startedAt);
}

function isStateful({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some((volume) => !STATELESS_VOLUMES.some((type) => Object.hasOwn(volume, type)));
}

/** Returns the time during which at least one pull was in progress. */
function pullingMs(pulls: readonly Pull[]): number {
  let sumMs = 0;
  let coveredUntilMs = Number.NEGATIVE_INFINITY;
  for (const { startedAtMs, endedAtMs } of pulls.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) {
    sumMs += Math.max(0, endedAtMs - Math.max(startedAtMs, coveredUntilMs));
    coveredUntilMs = Math.max(coveredUntilMs, endedAtMs);
  }
  return sumMs;
}

/** Returns the total running time of the init containers that have terminated, without sidecars, which still run. */
function initContainersMs({ status }: Pod): number {
  return (status?.initContainerStatuses ?? []).reduce((sumMs, { state }) => {
    const { startedAt, finishedAt } = state?.terminated ?? {};
    const ms = Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? '');
    return Number.isNaN(ms) ? sumMs : sumMs + Math.max(0, ms);
  }, 0);
}
