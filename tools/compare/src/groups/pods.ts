import type { Pod, PodSpec } from '@node-agent/pod-spec';
import { runs } from '../cases/case.ts';

/** A pod of a manifest. */
export interface ManifestPod {
  readonly name: string;
  readonly spec: PodSpec;
}

const guaranteed = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });

/** Ten pods of all classes, small enough to run on two CPUs at once. Their groups are what is compared. */
export const mixedPods: readonly ManifestPod[] = [
  pod('guaranteed', { containers: [runs({ resources: guaranteed('100m', '32Mi') })] }),
  // Its quota is no whole percent: what systemd cannot hold.
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
  // As one container has no limit, the pod has none.
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
  // The groups are the same whatever network a pod has.
  const common = { hostNetwork: true, dnsPolicy: 'Default', terminationGracePeriodSeconds: 1 } as const;
  return { name, spec: { ...common, ...spec } };
}

/** As a file in a kubelet's directory of manifests has it. */
export function manifestOf({ name, spec }: ManifestPod): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'groups' }, spec });
}

/** What the parts of the paths of a kubelet's groups are called: a pod's by its name, a container's by its own. */
export function groupNames(pods: readonly Pod[], nodeName: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { metadata, status } of pods) {
    names.set(metadata.uid, metadata.name.replace(`-${nodeName}`, ''));
    const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    for (const { name, containerID = '' } of statuses) names.set(containerID.replace(/^.*:\/\//, ''), `<${name}>`);
  }
  return names;
}
