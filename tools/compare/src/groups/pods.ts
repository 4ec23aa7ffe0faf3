import type { Pod, PodSpec } from '@node-agent/pod-spec';
import { runs } from '../cases/case.ts';

/** Name and spec of a static pod. */
export interface ManifestPod {
  readonly name: string;
  readonly spec: PodSpec;
}

const guaranteed = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });

/** Ten pods of all QoS classes, small enough to run in parallel on two CPUs. Their cgroups are compared. */
export const mixedPods: readonly ManifestPod[] = [
  pod('guaranteed', { containers: [runs({ resources: guaranteed('100m', '32Mi') })] }),
  // The CPU quota of this pod is not a whole percentage. systemd cannot represent such a quota.
  pod('guaranteed-two', {
    containers: [
      runs({ resources: guaranteed('65m', '24Mi') }),
      runs({ name: 'b', resources: guaranteed('60m', '17Mi') }),
    ],
  }),
  pod('guaranteed-init', {
    initContainers: [runs({ name: 'first', command: ['true'], resources: guaranteed('120m', '64Mi') })],
    containers: [runs({ resources: guaranteed('50m', '16Mi') })],
  }),
  pod('burstable-cpu', { containers: [runs({ resources: { requests: { cpu: '150m' } } })] }),
  pod('burstable-limits', {
    containers: [
      runs({ resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '333m', memory: '96Mi' } } }),
    ],
  }),
  // The pod has no limit, because one of its containers has no limit.
  pod('burstable-mixed', {
    containers: [
      runs({ resources: { requests: { memory: '20Mi' }, limits: { cpu: '200m', memory: '40Mi' } } }),
      runs({ name: 'b' }),
    ],
  }),
  pod('burstable-sidecar', {
    initContainers: [
      runs({ name: 'side', restartPolicy: 'Always', resources: { requests: { cpu: '30m', memory: '12Mi' } } }),
    ],
    containers: [runs({ resources: { requests: { cpu: '20m', memory: '8Mi' }, limits: { memory: '32Mi' } } })],
  }),
  pod('burstable-as-a-whole', {
    resources: { requests: { cpu: '80m', memory: '30Mi' }, limits: { cpu: '160m', memory: '60Mi' } },
    containers: [runs(), runs({ name: 'b', resources: { limits: { memory: '20Mi' } } })],
  }),
  pod('best-effort', { containers: [runs()] }),
  pod('best-effort-two', { containers: [runs(), runs({ name: 'b' })] }),
];

function pod(name: string, spec: PodSpec): ManifestPod {
  // The host network saves the setup of pod networks; cgroups do not depend on the network.
  const common = { hostNetwork: true, dnsPolicy: 'Default', terminationGracePeriodSeconds: 1 } as const;
  return { name, spec: { ...common, ...spec } };
}

/** Formats a pod as a manifest file. */
export function manifestOf({ name, spec }: ManifestPod): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'groups' }, spec });
}

/**
 * Returns common names for the parts of cgroup paths: the pod's name for its UID, and the container's name for its ID.
 */
export function groupNames(pods: readonly Pod[], nodeName: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { metadata, status } of pods) {
    names.set(metadata.uid, metadata.name.replace(`-${nodeName}`, ''));
    const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    for (const { name, containerID = '' } of statuses) names.set(containerID.replace(/^.*:\/\//, ''), `<${name}>`);
  }
  return names;
}
