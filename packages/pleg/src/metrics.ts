import type { RuntimeContainerState } from '@node-agent/pod-spec';
import type { Counter, Gauge, Histogram, Metrics } from '@node-agent/telemetry';
import type { PodSnapshot } from './snapshot.ts';

/** Metrics of the PLEG, with upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export interface PlegMetrics {
  readonly relistDuration: Histogram;
  readonly relistInterval: Histogram;
  readonly podRelistDuration: Histogram;
  readonly lastSeen: Gauge;
  readonly connectionErrors: Counter;
  readonly connections: Counter;
  readonly connectionLatency: Histogram;
  readonly runningPods: Gauge;
  readonly runningContainers: Gauge<'container_state'>;
}

export function createPlegMetrics(metrics: Metrics): PlegMetrics {
  return {
    relistDuration: metrics.histogram({
      name: 'kubelet_pleg_relist_duration_seconds',
      help: 'Duration of listing all pods, in seconds.',
    }),
    relistInterval: metrics.histogram({
      name: 'kubelet_pleg_relist_interval_seconds',
      help: 'Seconds from the start of one list of all pods to the start of the next.',
    }),
    podRelistDuration: metrics.histogram({
      name: 'kubelet_pleg_pod_relist_duration_seconds',
      help: 'Duration of reading one pod, in seconds.',
    }),
    lastSeen: metrics.gauge({
      name: 'kubelet_pleg_last_seen_seconds',
      help: 'Unix time of the last successful list of all pods.',
    }),
    connectionErrors: metrics.counter({
      name: 'kubelet_evented_pleg_connection_error_count',
      help: 'Container event streams that failed to open or were lost.',
    }),
    connections: metrics.counter({
      name: 'kubelet_evented_pleg_connection_success_count',
      help: 'Container event streams that became trusted.',
    }),
    connectionLatency: metrics.histogram({
      name: 'kubelet_evented_pleg_connection_latency_seconds',
      help: 'Seconds from the creation of a container event by the runtime to its arrival.',
    }),
    runningPods: metrics.gauge({ name: 'kubelet_running_pods', help: 'Pods with a ready sandbox.' }),
    runningContainers: metrics.gauge({
      name: 'kubelet_running_containers',
      help: 'Containers known to the runtime, by state.',
      labels: ['container_state'],
    }),
  };
}

const STATES: readonly RuntimeContainerState[] = ['created', 'running', 'exited', 'unknown'];

/**
 * Gauges of running pods and containers. The cost of updating one pod does not depend on the number of pods (K5). Only
 * gauges whose values changed are set.
 */
export class RunningCounts {
  readonly #metrics: PlegMetrics;
  /** Snapshot with which each pod was counted, by pod UID. */
  readonly #counted = new Map<string, PodSnapshot>();
  #runningPods = 0;
  readonly #containers: Record<RuntimeContainerState, number> = { created: 0, running: 0, exited: 0, unknown: 0 };
  /** Last value of the gauge of running pods. `undefined` before the first count. */
  #shownPods: number | undefined;
  readonly #shownContainers = new Map<RuntimeContainerState, number>();

  constructor(metrics: PlegMetrics) {
    this.#metrics = metrics;
  }

  /** Counts the given pods, and drops all other pods. */
  set(pods: Iterable<readonly [uid: string, snapshot: PodSnapshot]>): void {
    for (const pod of this.#counted.values()) this.#count(pod, -1);
    this.#counted.clear();
    for (const [uid, pod] of pods) {
      this.#counted.set(uid, pod);
      this.#count(pod, 1);
    }
    this.#show();
  }

  /** Counts the new state of one pod. @param pod `undefined` if the runtime no longer has the pod */
  update(uid: string, pod: PodSnapshot | undefined): void {
    const before = this.#counted.get(uid);
    if (before !== undefined) this.#count(before, -1);
    if (pod === undefined) this.#counted.delete(uid);
    else {
      this.#counted.set(uid, pod);
      this.#count(pod, 1);
    }
    this.#show();
  }

  #count(pod: PodSnapshot, sign: 1 | -1): void {
    if (hasReady(pod.sandboxes)) this.#runningPods += sign;
    for (const state of pod.containers.values()) this.#containers[state] += sign;
  }

  #show(): void {
    if (this.#shownPods !== this.#runningPods) this.#metrics.runningPods.set({}, this.#runningPods);
    this.#shownPods = this.#runningPods;
    for (const state of STATES) {
      const count = this.#containers[state];
      if (this.#shownContainers.get(state) === count) continue;
      this.#metrics.runningContainers.set({ container_state: state }, count);
      this.#shownContainers.set(state, count);
    }
  }
}

function hasReady(sandboxes: PodSnapshot['sandboxes']): boolean {
  for (const state of sandboxes.values()) if (state === 'ready') return true;
  return false;
}
