import { parseInt64, type Toleration } from '@node-agent/pod-spec';
import type { NodeTaint } from './admission-node.ts';

/**
 * Returns whether a toleration tolerates a taint (`core/v1/toleration.go`). An empty effect or key matches all; the
 * default operator is `Equal`.
 * @param comparisons whether `Lt` and `Gt` are supported: feature gate TaintTolerationComparisonOperators, KEP-5471
 */
export function toleratesTaint(toleration: Toleration, taint: NodeTaint, comparisons: boolean): boolean {
  const { value: given = '' } = taint;
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  switch (operator) {
    case '':
    case 'Equal':
      return value === given;
    case 'Exists':
      return true;
    case 'Lt':
    case 'Gt':
      return comparisons && compares(operator, canonical(given), canonical(value));
    default:
      return false;
  }
}

function compares(operator: 'Lt' | 'Gt', taint: bigint | number, limit: bigint | number): boolean {
  return operator === 'Lt' ? taint < limit : taint > limit;
}

/** Parses a number in canonical form: no plus sign, no leading zeros. */
function canonical(text: string): bigint | number {
  return /^(0|-?[1-9]\d*)$/.test(text) ? parseInt64(text) : Number.NaN;
}
