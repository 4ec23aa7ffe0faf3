import { isStaticPod, type Pod } from '@node-agent/pod-spec';
import type { Counter, Gauge, Metrics } from '@node-agent/telemetry';

/**
 * Rejection reasons that the metric counts by name, as upstream does. Reasons about other resources are counted
 * together, because the metric would otherwise have one series per resource name.
 */
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

/** Counts of the sync handler, under upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export class HousekeepingMetrics {
  readonly #desired: Gauge<'static'>;
  readonly #active: Gauge<'static'>;
  readonly #mirrors: Gauge;
  readonly #ephemeral: Gauge;
  readonly #rejections: Counter<'reason'>;

  constructor(metrics: Metrics) {
    this.#desired = metrics.gauge({
      name: 'kubelet_desired_pods',
      help: 'Number of pods that the pod sources desire. static is true for pods from manifests.',
      labels: ['static'],
    });
    this.#active = metrics.gauge({
      name: 'kubelet_active_pods',
      help: 'Number of pods that hold resources of the node and count in the admission of other pods.',
      labels: ['static'],
    });
    this.#mirrors = metrics.gauge({ name: 'kubelet_mirror_pods', help: 'Number of mirror pods of static pods.' });
    this.#ephemeral = metrics.gauge({
      name: 'kubelet_managed_ephemeral_containers',
      help: 'Number of ephemeral containers of the pods that the pod sources desire.',
    });
    this.#rejections = metrics.counter({
      name: 'kubelet_admission_rejections_total',
      help: 'Number of rejected pods, by reason.',
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
