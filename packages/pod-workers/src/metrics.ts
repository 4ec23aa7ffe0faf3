import { CONFIG_SEEN_ANNOTATION } from '@node-agent/pod-spec';
import type { Counter, Gauge, Histogram, Metrics } from '@node-agent/telemetry';
import type { PodWork } from './record.ts';
import type { PodWorkerSync } from './types.ts';

/** Metrics of the pod workers, under upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export interface PodWorkersMetrics {
  readonly duration: Histogram<'operation_type'>;
  readonly startDuration: Histogram;
  readonly containersPerPod: Histogram;
  readonly working: Gauge<'lifecycle' | 'config' | 'static'>;
  readonly orphanedRuntimePods: Counter;
  readonly restartedPods: Counter<'static'>;
}

export function createPodWorkersMetrics(metrics: Metrics): PodWorkersMetrics {
  const made = makeMetrics(metrics);
  for (const isStatic of ['true', '']) made.restartedPods.inc({ static: isStatic }, 0);
  return made;
}

function makeMetrics(metrics: Metrics): PodWorkersMetrics {
  return {
    duration: metrics.histogram({
      name: 'kubelet_pod_worker_duration_seconds',
      help: 'Seconds from receiving a pod update until the pod worker has handled it, by operation type: create, update, sync, kill, or terminated.',
      labels: ['operation_type'],
    }),
    startDuration: metrics.histogram({
      name: 'kubelet_pod_worker_start_duration_seconds',
      help: 'Seconds from the kubelet first seeing a pod until its pod worker starts it.',
    }),
    containersPerPod: metrics.histogram({
      name: 'kubelet_containers_per_pod_count',
      help: 'Number of containers of each started pod.',
      buckets: [1, 2, 4, 8, 16],
    }),
    working: metrics.gauge({
      name: 'kubelet_working_pods',
      help: 'Pods that have a pod worker, by phase, by configuration (desired, orphaned by leaving the configuration, or known only to the runtime), and by whether they are static.',
      labels: ['lifecycle', 'config', 'static'],
    }),
    orphanedRuntimePods: metrics.counter({
      name: 'kubelet_orphaned_runtime_pods_total',
      help: 'Number of pods that were found in the runtime and had no pod worker.',
    }),
    restartedPods: metrics.counter({
      name: 'kubelet_restarted_pods_total',
      help: 'Pods that were restarted because a pod with the same UID was created while they terminated.',
      labels: ['static'],
    }),
  };
}

/** One series of `kubelet_working_pods`. */
export interface WorkingPodCount {
  readonly lifecycle: PodWorkerSync['state'];
  readonly config: 'desired' | 'orphan' | 'runtime_only';
  readonly static: 'true' | '' | 'unknown';
  readonly count: number;
}

const LIFECYCLES = ['sync', 'terminating', 'terminated'] as const;
/** The labels `config` and `static`: desired and orphaned pods, each not static and static, and pods without a spec. */
const CONFIGS = [
  { config: 'desired', static: '' },
  { config: 'desired', static: 'true' },
  { config: 'orphan', static: '' },
  { config: 'orphan', static: 'true' },
  { config: 'runtime_only', static: 'unknown' },
] as const;

/**
 * Returns every series of `kubelet_working_pods`, including those with count 0, as upstream's `HandlePodCleanups` does.
 */
export function countWorkingPods(pods: Iterable<PodWorkerSync>): readonly WorkingPodCount[] {
  const counts = LIFECYCLES.map((lifecycle) => CONFIGS.map((config) => ({ lifecycle, ...config, count: 0 })));
  // The counts are found by index, because housekeeping may count thousands of pods.
  for (const { state, hasConfig, orphan, static: isStatic } of pods) {
    const config = hasConfig ? Number(orphan) * 2 + Number(isStatic) : CONFIGS.length - 1;
    const series = counts[LIFECYCLES.indexOf(state)]?.[config];
    if (series !== undefined) series.count += 1;
  }
  return counts.flat();
}

/**
 * Records that a pod worker runs the first step of a pod: to start the pod, or to clean up a pod that an earlier
 * kubelet has terminated.
 */
export function observePod(metrics: PodWorkersMetrics, { pod }: PodWork): void {
  if (pod !== undefined) metrics.containersPerPod.observe({}, pod.spec.containers.length);
}

/**
 * Records that a pod worker starts a pod. `nowMs` is the wall clock, like the annotation with the time at which the
 * kubelet first saw the pod.
 */
export function observeStart(metrics: PodWorkersMetrics, { pod, updateType }: PodWork, nowMs: number): void {
  if (pod === undefined || updateType !== 'create') return;
  const seenAtMs = Date.parse(pod.metadata.annotations?.[CONFIG_SEEN_ANNOTATION] ?? '');
  if (!Number.isNaN(seenAtMs)) metrics.startDuration.observe({}, Math.max(0, nowMs - seenAtMs) / 1000);
}

/** Records that an update has been handled. `nowMs` is the monotonic clock. */
export function observeDuration(metrics: PodWorkersMetrics, update: PodWork, finished: boolean, nowMs: number): void {
  if (update.startTimeMs === undefined) return;
  const seconds = (nowMs - update.startTimeMs) / 1000;
  metrics.duration.observe({ operation_type: finished ? 'terminated' : update.updateType }, seconds);
}
