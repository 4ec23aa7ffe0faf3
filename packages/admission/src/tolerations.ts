import type { Toleration } from '@node-agent/pod-spec';
import type { NodeTaint } from './admission-node.ts';
import { parseInt64 } from './integer.ts';

/**
 * Whether a toleration covers a taint (`core/v1/toleration.go`). An empty effect or key covers any; no operator is `Equal`.
 * @param comparisons whether there are `Lt` and `Gt`: gate TaintTolerationComparisonOperators, KEP-5471
 */
export function toleratesTaint(toleration: Toleration, taint: NodeTaint, comparisons: boolean): boolean {
  const { key = '', operator = 'Equal', value = '', effect = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  switch (operator) {
    case '':
    case 'Equal':
      return value === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Lt':
    case 'Gt':
      return comparisons && compares(operator, canonical(taint.value ?? ''), canonical(value));
    default:
      return false;
  }
}

function compares(operator: 'Lt' | 'Gt', taint: bigint | undefined, limit: bigint | undefined): boolean {
  if (taint === undefined || limit === undefined) return false;
  return operator === 'Lt' ? taint < limit : taint > limit;
}

/** No plus sign, no leading zeros. */
function canonical(text: string): bigint | undefined {
  return /^(0|-?[1-9]\d*)$/.test(text) ? parseInt64(text) : undefined;
}
