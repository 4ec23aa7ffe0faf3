import type { RuntimeContainerState } from '@node-agent/pod-spec';
import type { Counter, Gauge, Histogram, Metrics } from '@node-agent/telemetry';
import type { PodSnapshot } from './snapshot.ts';

/** The generator's metrics, under upstream's names (`pkg/kubelet/metrics/metrics.go`). */
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
      help: 'Seconds that listing all pods took.',
    }),
    relistInterval: metrics.histogram({
      name: 'kubelet_pleg_relist_interval_seconds',
      help: 'Seconds from the start of one list of all pods to the start of the next.',
    }),
    podRelistDuration: metrics.histogram({
      name: 'kubelet_pleg_pod_relist_duration_seconds',
      help: 'Seconds that reading one pod took.',
    }),
    lastSeen: metrics.gauge({
      name: 'kubelet_pleg_last_seen_seconds',
      help: 'Unix time at which the runtime last answered with a list of all pods.',
    }),
    connectionErrors: metrics.counter({
      name: 'kubelet_evented_pleg_connection_error_count',
      help: 'Streams of container events that could not be opened or were lost.',
    }),
    connections: metrics.counter({
      name: 'kubelet_evented_pleg_connection_success_count',
      help: 'Streams of container events that were relied upon.',
    }),
    connectionLatency: metrics.histogram({
      name: 'kubelet_evented_pleg_connection_latency_seconds',
      help: 'Seconds from the runtime making an event to its arrival.',
    }),
    runningPods: metrics.gauge({ name: 'kubelet_running_pods', help: 'Pods with a ready sandbox.' }),
    runningContainers: metrics.gauge({
      name: 'kubelet_running_containers',
      help: 'Containers that the runtime has, by state.',
      labels: ['container_state'],
    }),
  };
}

const STATES: readonly RuntimeContainerState[] = ['created', 'running', 'exited', 'unknown'];

/** The two gauges of what runs. They are counted anew at each look at any pod: only what has changed is set. */
export class RunningCounts {
  readonly #metrics: PlegMetrics;
  #pods: number | undefined;
  readonly #containers = new Map<RuntimeContainerState, number>();

  constructor(metrics: PlegMetrics) {
    this.#metrics = metrics;
  }

  set(pods: Iterable<PodSnapshot>): void {
    let runningPods = 0;
    const containers: Record<RuntimeContainerState, number> = { created: 0, running: 0, exited: 0, unknown: 0 };
    for (const pod of pods) {
      if (hasReady(pod.sandboxes)) runningPods++;
      for (const state of pod.containers.values()) containers[state]++;
    }
    if (this.#pods !== runningPods) this.#metrics.runningPods.set({}, runningPods);
    this.#pods = runningPods;
    for (const state of STATES) {
      const count = containers[state];
      if (this.#containers.get(state) !== count) this.#metrics.runningContainers.set({ container_state: state }, count);
      this.#containers.set(state, count);
    }
  }
}

function hasReady(sandboxes: PodSnapshot['sandboxes']): boolean {
  for (const state of sandboxes.values()) if (state === 'ready') return true;
  return false;
}
