import type { Container } from './api.ts';
import { PodSpecError } from './errors.ts';
import { parseQuantity } from './quantity.ts';

const DEFAULTED = ['cpu', 'memory', 'ephemeral-storage'];

/** A `resourceFieldRef` of the downward API for a known container. */
export interface ResourceSelector {
  /** Resource with its list: `limits.cpu`, `requests.memory`, `limits.hugepages-2Mi`. */
  readonly resource: string;
  /** Unit of the shown value, as a quantity. Default: 1. */
  readonly divisor?: string;
}

/**
 * Returns the container's limit or request of a resource in units of the divisor, rounded up
 * (`pkg/api/v1/resource/helpers.go`).
 * @param defaultLimit returns the value shown for a container without a limit, by resource name; not called for huge
 * pages
 * @throws PodSpecError `InvalidFieldPath` for a resource that cannot be shown, `InvalidQuantity`
 */
export function containerResourceValue(
  container: Pick<Container, 'resources'>,
  { resource, divisor: given }: ResourceSelector,
  defaultLimit: (name: string) => string | undefined,
): string {
  const [kind, ...rest] = resource.split('.');
  const name = rest.join('.');
  const known = DEFAULTED.includes(name) || name.startsWith('hugepages-');
  if ((kind !== 'limits' && kind !== 'requests') || !known) {
    throw new PodSpecError('InvalidFieldPath', `unsupported container resource : ${resource}`);
  }
  let amount = container.resources?.[kind]?.[name] ?? '0';
  if (kind === 'limits' && DEFAULTED.includes(name) && parseQuantity(amount).isZero) {
    amount = defaultLimit(name) ?? amount;
  }
  // Only CPU is counted in thousandths: for any other resource a divisor of `1m` counts as 1.
  const units = (text: string): bigint =>
    name === 'cpu' ? parseQuantity(text).milliValue() : parseQuantity(text).value();
  const divisor = units(given && !parseQuantity(given).isZero ? given : '1');
  return String((units(amount) + divisor - 1n) / divisor);
}
