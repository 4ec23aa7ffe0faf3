import { parseInt64 } from './integer.ts';
import { labelValueProblem, qualifiedNameProblem } from './names.ts';

/** One condition of a node selector (`NodeSelectorRequirement` of core/v1). */
export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** A term of a node selector; one matching term is enough (`NodeSelectorTerm` of core/v1). */
export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

/**
 * Returns whether a node matches at least one term. An empty or malformed term matches nothing. If the node's name is
 * unknown, as for the node affinity of a persistent volume, only its labels are compared
 * (`component-helpers/scheduling/corev1/nodeaffinity`).
 */
export function matchesNodeSelectorTerms(
  terms: readonly NodeSelectorTerm[],
  { name, labels }: { readonly name?: string | undefined; readonly labels: Readonly<Record<string, string>> },
): boolean {
  return terms.some(({ matchExpressions = [], matchFields = [] }) => {
    const isEmpty = matchExpressions.length === 0 && matchFields.length === 0;
    return (
      !isEmpty &&
      matchExpressions.every((requirement) => matchesLabels(requirement, labels)) &&
      matchFields.every((requirement) => matchesField(requirement, name))
    );
  });
}

function matchesLabels(
  { key, operator, values = [] }: NodeSelectorRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
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

/** The node's name is the only field that can be selected; any other field counts as empty. */
function matchesField({ key, operator, values = [] }: NodeSelectorRequirement, name: string | undefined): boolean {
  if (values.length !== 1 || (operator !== 'In' && operator !== 'NotIn')) return false;
  if (name === undefined) return true;
  const field = key === 'metadata.name' ? name : '';
  return (field === values[0]) === (operator === 'In');
}

function labelOf(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
