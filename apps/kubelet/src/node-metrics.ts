import type { FeatureGates } from '@node-agent/config';
import type { Metrics } from '@node-agent/telemetry';
import { versionParts } from './version.ts';

/** What is said of the kubelet and its node by metrics that never change. */
export interface NodeFacts {
  readonly nodeName: string;
  readonly cgroupVersion: 1 | 2;
  readonly featureGates: FeatureGates;
}

/** Sets the metrics that tell which kubelet this is, and on what (`component-base/metrics`, `pkg/kubelet/metrics`). */
export function nodeMetrics(metrics: Metrics, { nodeName, cgroupVersion, featureGates }: NodeFacts): void {
  const { major, minor, gitVersion, platform } = versionParts();
  metrics
    .gauge({
      name: 'kubernetes_build_info',
      help: 'The version of this kubelet, in its labels. The value is always 1.',
      labels: ['major', 'minor', 'git_version', 'platform'],
    })
    .set({ major, minor, git_version: gitVersion, platform }, 1);
  metrics
    .gauge({ name: 'kubelet_node_name', help: "The node's name. The count is always 1.", labels: ['node'] })
    .set({ node: nodeName }, 1);
  metrics.gauge({ name: 'kubelet_cgroup_version', help: 'The cgroup version of the host.' }).set({}, cgroupVersion);
  metrics
    .gauge({
      name: 'kubelet_metrics_provider',
      help: "Where the figures of containers come from: 'cadvisor' is the cgroups, 'cri' the container runtime.",
      labels: ['provider'],
    })
    .set({ provider: featureGates.enabled('PodAndContainerStatsFromCRI') ? 'cri' : 'cadvisor' }, 1);
  const features = metrics.gauge({
    name: 'kubernetes_feature_enabled',
    help: 'The feature gates: 1 where one is on and switches something here, else 0; with the stage of its feature.',
    labels: ['name', 'stage'],
  });
  for (const [name] of featureGates.entries()) {
    const stage = featureGates.stage(name);
    // A stage of its own is said of those alone that are not there for good.
    const labels = { name, stage: stage === 'GA' ? '' : stage.toUpperCase() };
    features.set(labels, featureGates.effective(name) ? 1 : 0);
  }
}
