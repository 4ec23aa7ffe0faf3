import { resolveFeatureGates } from '@node-agent/config';
import { MetricsRegistry } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { nodeMetrics } from '../src/node/node-metrics.ts';
import { softLimit } from '../src/node/process-figures.ts';

test("metrics report the kubelet's version, its node and its features", () => {
  const metrics = new MetricsRegistry();
  const { gates } = resolveFeatureGates({ KubeletCrashLoopBackOffMax: true });
  nodeMetrics(metrics, { nodeName: 'n1', cgroupVersion: 2, featureGates: gates });
  const text = metrics.text();
  expect(text).toMatch(
    /^kubernetes_build_info\{major="1",minor="36",git_version="v1\.36\.3\+node-agent\.[^"]+",platform="linux\/[a-z0-9]+"\} 1$/m,
  );
  expect(text).toContain('\nkubelet_node_name{node="n1"} 1\n');
  expect(text).toContain('\nkubelet_cgroup_version 2\n');
  expect(text).toContain('\nkubernetes_feature_enabled{name="KubeletCrashLoopBackOffMax",stage="BETA"} 1\n');
  expect(text).toContain('\nkubernetes_feature_enabled{name="CustomCPUCFSQuotaPeriod",stage=""} 1\n');
  expect(text).toContain('\nkubernetes_feature_enabled{name="ContainerStopSignals",stage="ALPHA"} 0\n');
});

describe('limits of the kubelet process from /proc/self/limits', () => {
  const limits = [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max address space         unlimited            unlimited            bytes     ',
    'Max open files            1024                 524288               files     ',
  ].join('\n');
  test.each([
    ['Max open files', 1024],
    ['Max address space', Number.POSITIVE_INFINITY],
    ['Max file locks', undefined],
  ])('reads the process limit %s: %s', (name, expected) => {
    expect(softLimit(limits, name)).toBe(expected);
  });
});
