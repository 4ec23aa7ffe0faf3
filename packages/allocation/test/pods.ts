import { type Container, defaultPod, type Pod, type ResourceRequirements } from '@node-agent/pod-spec';

/** A pod of one container, or of those that are given. */
export function makePod(
  name: string,
  resources: ResourceRequirements = {},
  { containers, ...spec }: Partial<Pod['spec']> & { readonly containers?: readonly Container[] } = {},
): Pod {
  return defaultPod({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, generation: 1 },
    spec: { containers: containers ?? [{ name: 'c', image: 'i', resources }], ...spec },
  });
}

/** Requests that are limits: the pod is Guaranteed. */
export function exactly(cpu: string, memory: string): ResourceRequirements {
  return { requests: { cpu, memory }, limits: { cpu, memory } };
}

/** The same pod with other resources of its first container, as its source shows it next. */
export function asking(pod: Pod, resources: ResourceRequirements): Pod {
  const [first, ...others] = pod.spec.containers;
  return {
    ...pod,
    metadata: { ...pod.metadata, generation: (pod.metadata.generation ?? 0) + 1 },
    spec: { ...pod.spec, containers: [{ ...(first as Container), resources }, ...others] },
  };
}
