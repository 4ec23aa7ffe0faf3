import { isStaticPod, type Pod } from '@node-agent/pod-spec';
import type { Counter, Gauge, Metrics } from '@node-agent/telemetry';
import type { HousekeepingPlan } from './housekeeping.ts';
import type { PodWorkerSync } from './ports.ts';

/** What one pass of housekeeping counted. */
interface HousekeepingCounts {
  readonly pods: readonly Pod[];
  readonly activePods: readonly Pod[];
  readonly mirrors: readonly Pod[];
  readonly working: ReadonlyMap<string, PodWorkerSync>;
  readonly plan: HousekeepingPlan;
}

/** The values that upstream gives the label `lifecycle` of `kubelet_working_pods`. */
const LIFECYCLE = { syncing: 'sync', terminating: 'terminating', terminated: 'terminated' } as const;

/** The counts that housekeeping keeps, under upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export class HousekeepingMetrics {
  readonly #desired: Gauge<'static'>;
  readonly #active: Gauge<'static'>;
  readonly #mirrors: Gauge;
  readonly #working: Gauge<'lifecycle' | 'config' | 'static'>;
  readonly #orphans: Counter;
  readonly #restarted: Counter<'static'>;
  readonly #rejections: Counter<'reason'>;

  constructor(metrics: Metrics) {
    this.#desired = metrics.gauge({
      name: 'kubelet_desired_pods',
      help: 'Pods that the configuration sources ask for; static is true for those of manifests.',
      labels: ['static'],
    });
    this.#active = metrics.gauge({
      name: 'kubelet_active_pods',
      help: 'Pods that hold resources of the node and count when others are admitted.',
      labels: ['static'],
    });
    this.#mirrors = metrics.gauge({ name: 'kubelet_mirror_pods', help: 'Mirror pods of static pods.' });
    this.#working = metrics.gauge({
      name: 'kubelet_working_pods',
      help: 'Pods that have a worker, by its state, by whether they are desired, and by whether they are static.',
      labels: ['lifecycle', 'config', 'static'],
    });
    this.#orphans = metrics.counter({
      name: 'kubelet_orphaned_runtime_pods_total',
      help: 'Pods found in the runtime that nobody had asked for.',
    });
    this.#restarted = metrics.counter({
      name: 'kubelet_restarted_pods_total',
      help: 'Pods that were started again under the UID of a pod that had just ended.',
      labels: ['static'],
    });
    this.#rejections = metrics.counter({
      name: 'kubelet_admission_rejections_total',
      help: 'Pods that were not admitted, by reason.',
      labels: ['reason'],
    });
  }

  rejected(reason: string): void {
    this.#rejections.inc({ reason });
  }

  record(counts: HousekeepingCounts): void {
    for (const isStatic of [false, true]) {
      const label = { static: isStatic ? 'true' : '' };
      const count = (pods: readonly Pod[]): number => pods.filter((pod) => isStaticPod(pod) === isStatic).length;
      this.#desired.set(label, count(counts.pods));
      this.#active.set(label, count(counts.activePods));
      const restarted = count(counts.plan.restart);
      if (restarted > 0) this.#restarted.inc(label, restarted);
    }
    this.#mirrors.set({}, counts.mirrors.length);
    if (counts.plan.killOrphans.length > 0) this.#orphans.inc({}, counts.plan.killOrphans.length);
    for (const lifecycle of ['syncing', 'terminating', 'terminated'] as const) {
      for (const config of ['desired', 'orphan', 'runtime_only'] as const) {
        for (const isStatic of config === 'runtime_only' ? [false] : [false, true]) {
          const number = [...counts.working.values()].filter(
            (sync) =>
              sync.state === lifecycle &&
              configOf(sync) === config &&
              (config === 'runtime_only' || sync.static === isStatic),
          ).length;
          const label = config === 'runtime_only' ? 'unknown' : isStatic ? 'true' : '';
          this.#working.set({ lifecycle: LIFECYCLE[lifecycle], config, static: label }, number);
        }
      }
    }
  }
}

function configOf(sync: PodWorkerSync): 'desired' | 'orphan' | 'runtime_only' {
  if (!sync.orphan) return 'desired';
  return sync.hasConfig ? 'orphan' : 'runtime_only';
}
