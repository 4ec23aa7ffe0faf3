import type { FeatureGates } from '@node-agent/config';
import type { Metrics } from '@node-agent/telemetry';
import { versionParts } from '../version.ts';

/** Facts about the kubelet and its node that constant metrics report. */
export interface NodeFacts {
  readonly nodeName: string;
  readonly cgroupVersion: 1 | 2;
  readonly featureGates: FeatureGates;
}

/** Sets the metrics that identify the kubelet and its node (`component-base/metrics`, `pkg/kubelet/metrics`). */
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
      help: "Source of container stats: 'cadvisor' for cgroup files, 'cri' for the container runtime.",
      labels: ['provider'],
    })
    .set({ provider: featureGates.enabled('PodAndContainerStatsFromCRI') ? 'cri' : 'cadvisor' }, 1);
  const features = metrics.gauge({
    name: 'kubernetes_feature_enabled',
    help: 'Feature gates with their stage: 1 if the gate is enabled and has an effect in this kubelet, else 0.',
    labels: ['name', 'stage'],
  });
  for (const [name] of featureGates.entries()) {
    const stage = featureGates.stage(name);
    // Upstream leaves the stage label empty for GA features.
    const labels = { name, stage: stage === 'GA' ? '' : stage.toUpperCase() };
    features.set(labels, featureGates.effective(name) ? 1 : 0);
  }
}
