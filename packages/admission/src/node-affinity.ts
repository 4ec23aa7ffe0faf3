import { labelValueProblem, type Pod, qualifiedNameProblem } from '@node-agent/pod-spec';
import type { AdmissionNode } from './admission-node.ts';
import { parseInt64 } from './integer.ts';

type Labels = Readonly<Record<string, string>>;

/** One condition of a node selector. */
interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/**
 * Whether the node is one that the pod asks for: all of `spec.nodeSelector`, and one term at least of what its node
 * affinity requires. A term that is empty or malformed matches nothing (`component-helpers/scheduling/corev1/nodeaffinity`).
 */
export function matchesNodeAffinity(pod: Pick<Pod, 'spec'>, node: AdmissionNode): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {})) {
    if (labelOf(labels, key) !== value) return false;
  }
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return true;
  return (required.nodeSelectorTerms ?? []).some(({ matchExpressions = [], matchFields = [] }) => {
    const isEmpty = matchExpressions.length === 0 && matchFields.length === 0;
    return (
      !isEmpty &&
      matchExpressions.every((requirement) => matchesLabels(requirement, labels)) &&
      matchFields.every((requirement) => matchesField(requirement, node.metadata.name))
    );
  });
}

function matchesLabels({ key, operator, values = [] }: Requirement, labels: Labels): boolean {
  if (qualifiedNameProblem(key).length > 0 || values.some((value) => labelValueProblem(value).length > 0)) return false;
  const label = labelOf(labels, key);
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label);
    case 'NotIn':
      return values.length > 0 && (label === undefined || !values.includes(label));
    case 'Exists':
      return values.length === 0 && label !== undefined;
    case 'DoesNotExist':
      return values.length === 0 && label === undefined;
    case 'Gt':
    case 'Lt':
      return values.length === 1 && values.every((limit) => compares(operator, label, limit));
    default:
      return false;
  }
}

function compares(operator: 'Gt' | 'Lt', label: string | undefined, limit: string): boolean {
  if (label === undefined) return false;
  const [value, bound] = [parseInt64(label), parseInt64(limit)];
  return operator === 'Gt' ? value > bound : value < bound;
}

/** Of a node's fields only its name can be asked for; any other is empty. */
function matchesField({ key, operator, values = [] }: Requirement, name: string | undefined): boolean {
  if (values.length !== 1 || (operator !== 'In' && operator !== 'NotIn')) return false;
  const field = key === 'metadata.name' ? name : '';
  return (field === values[0]) === (operator === 'In');
}

function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
