import { ObjectCacheError } from './errors.ts';

/** Selects objects by their labels (`metav1.LabelSelector`). */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

type LabelRule = (labels: Readonly<Record<string, string>>) => boolean;

/**
 * Converts a selector into a predicate. An absent selector matches nothing, and a selector without requirements matches
 * everything (`metav1.LabelSelectorAsSelector`).
 * @throws ObjectCacheError `InvalidSelector`
 */
export function labelRule(selector: LabelSelector | undefined): LabelRule {
  if (selector === undefined) return () => false;
  const rules: LabelRule[] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) rules.push((labels) => labels[key] === value);
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    rules.push(expressionRule(key, operator, values));
  }
  return (labels) => rules.every((rule) => rule(labels));
}

function expressionRule(key: string, operator: string, values: readonly string[]): LabelRule {
  const takesValues = operator === 'In' || operator === 'NotIn';
  if (takesValues && values.length === 0)
    throw invalid(`${key}: for 'in', 'notin' operators, values set can't be empty`);
  if (!takesValues && values.length > 0)
    throw invalid(`${key}: values set must be empty for exists and does not exist`);
  const has: LabelRule = (labels) => Object.hasOwn(labels, key);
  const isOne: LabelRule = (labels) => has(labels) && values.some((value) => value === labels[key]);
  switch (operator) {
    case 'In':
      return isOne;
    case 'NotIn':
      return (labels) => !isOne(labels);
    case 'Exists':
      return has;
    case 'DoesNotExist':
      return (labels) => !has(labels);
    default:
      throw invalid(`${JSON.stringify(operator)} is not a valid label selector operator`);
  }
}

function invalid(message: string): ObjectCacheError {
  return new ObjectCacheError('InvalidSelector', message);
}
