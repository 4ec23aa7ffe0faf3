import { type Container, defaultPod, type Pod, type ResourceRequirements } from '@node-agent/pod-spec';

/** Creates a pod with one container, or with the containers of the spec argument. */
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

/** Returns resources whose requests equal their limits, which makes the pod Guaranteed. */
export function exactly(cpu: string, memory: string): ResourceRequirements {
  return { requests: { cpu, memory }, limits: { cpu, memory } };
}

/**
 * Returns the next version of the pod: its first container requests other resources and its generation is one higher.
 */
export function asking(pod: Pod, resources: ResourceRequirements): Pod {
  const [first, ...others] = pod.spec.containers;
  return {
    ...pod,
    metadata: { ...pod.metadata, generation: (pod.metadata.generation ?? 0) + 1 },
    spec: { ...pod.spec, containers: [{ ...(first as Container), resources }, ...others] },
  };
}
