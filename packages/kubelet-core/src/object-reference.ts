import type { Pod } from '@node-agent/pod-spec';
import type { ObjectReference } from '@node-agent/telemetry';

/** What events about a pod refer to. */
export function podReference(pod: Pod): ObjectReference {
  const { name, namespace, uid } = pod.metadata;
  return { kind: 'Pod', apiVersion: 'v1', namespace, name, uid };
}
