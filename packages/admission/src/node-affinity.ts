import { matchesNodeSelectorTerms, type Pod } from '@node-agent/pod-spec';
import type { AdmissionNode } from './admission-node.ts';

/**
 * Whether the node is one that the pod asks for: all of `spec.nodeSelector`, and one term at least of what its node
 * affinity requires (`component-helpers/scheduling/corev1/nodeaffinity`).
 */
export function matchesNodeAffinity(pod: Pick<Pod, 'spec'>, { metadata }: AdmissionNode): boolean {
  const { name, labels = {} } = metadata;
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {})) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  }
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelectorTerms(required.nodeSelectorTerms ?? [], { name, labels });
}
