import type { Pod } from '@node-agent/pod-spec';
import type { ObjectReference } from '@node-agent/telemetry';

/** What events about a container refer to: its pod, with the container's place in the spec. */
export function containerReference(pod: Pod, containerName: string): ObjectReference {
  const { name, namespace, uid } = pod.metadata;
  const has = (containers: readonly { readonly name: string }[] | undefined): boolean =>
    containers?.some((container) => container.name === containerName) ?? false;
  const group = has(pod.spec.initContainers)
    ? 'initContainers'
    : has(pod.spec.ephemeralContainers)
      ? 'ephemeralContainers'
      : 'containers';
  return { kind: 'Pod', apiVersion: 'v1', namespace, name, uid, fieldPath: `spec.${group}{${containerName}}` };
}
