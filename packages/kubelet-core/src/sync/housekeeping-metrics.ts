import { isStaticPod, type Pod } from '@node-agent/pod-spec';
import type { Counter, Gauge, Metrics } from '@node-agent/telemetry';

/** Only reasons that are known are counted by name, as upstream does, or the metric would have as many series as there are resources. */
const COUNTED_REASONS: ReadonlySet<string> = new Set([
  'AppArmor',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'PodOSNotSupported',
  'InvalidNodeInfo',
  'InitContainerRestartPolicyForbidden',
  'SupplementalGroupsPolicyNotSupported',
  'UnexpectedAdmissionError',
  'UnknownReason',
  'UnexpectedPredicateFailureType',
  'OutOfcpu',
  'OutOfmemory',
  'OutOfephemeral-storage',
  'OutOfpods',
  'PodLevelResourcesNotSupported',
  'PodFeatureUnsupported',
  "node(s) had taints that the pod didn't tolerate",
  'Evicted',
  'SysctlForbidden',
  'TopologyAffinityError',
  'NodeShutdown',
  'VolumeAttachmentLimitExceeded',
]);

function countedReason(reason: string): string {
  if (COUNTED_REASONS.has(reason)) return reason;
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
}

/** The counts that the sync handler keeps, under upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export class HousekeepingMetrics {
  readonly #desired: Gauge<'static'>;
  readonly #active: Gauge<'static'>;
  readonly #mirrors: Gauge;
  readonly #ephemeral: Gauge;
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
    this.#ephemeral = metrics.gauge({
      name: 'kubelet_managed_ephemeral_containers',
      help: 'Ephemeral containers of the pods that the configuration sources ask for.',
    });
    this.#rejections = metrics.counter({
      name: 'kubelet_admission_rejections_total',
      help: 'Pods that were not admitted, by reason.',
      labels: ['reason'],
    });
  }

  rejected(reason: string): void {
    this.#rejections.inc({ reason: countedReason(reason) });
  }

  record(pods: readonly Pod[], activePods: readonly Pod[], mirrorPods: readonly Pod[]): void {
    for (const [gauge, counted] of [
      [this.#desired, pods],
      [this.#active, activePods],
    ] as const) {
      const statics = counted.filter(isStaticPod).length;
      gauge.set({ static: '' }, counted.length - statics);
      gauge.set({ static: 'true' }, statics);
    }
    this.#mirrors.set({}, mirrorPods.length);
    const ephemeral = pods.map(({ spec }) => spec.ephemeralContainers?.length ?? 0);
    this.#ephemeral.set(
      {},
      ephemeral.reduce((sum, count) => sum + count, 0),
    );
  }
}
