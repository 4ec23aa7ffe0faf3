import { matchesNodeSelectorTerms, type Pod } from '@node-agent/pod-spec';
import type { AdmissionNode } from './admission-node.ts';

/**
 * Returns whether the node matches the pod: all labels of `spec.nodeSelector`, and at least one term of the required
 * node affinity (`component-helpers/scheduling/corev1/nodeaffinity`).
 */
export function matchesNodeAffinity(pod: Pick<Pod, 'spec'>, { metadata }: AdmissionNode): boolean {
  const { name, labels = {} } = metadata;
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {})) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  }
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelectorTerms(required.nodeSelectorTerms ?? [], { name, labels });
}
