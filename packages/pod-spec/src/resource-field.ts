import type { Container } from './api.ts';
import { PodSpecError } from './errors.ts';
import { parseQuantity } from './quantity.ts';

const DEFAULTED = ['cpu', 'memory', 'ephemeral-storage'];

/** A `resourceFieldRef` of the downward API, about a container that is known. */
export interface ResourceSelector {
  /** As `limits.cpu`, `requests.memory`, `limits.hugepages-2Mi`. */
  readonly resource: string;
  /** Default: 1. */
  readonly divisor?: string;
}

/**
 * The amount of a resource that a container may have, or asks for, in units of the divisor, rounded up
 * (`pkg/api/v1/resource/helpers.go`).
 * @param defaultLimit what a container without a limit is shown, by the name of the resource; not asked for huge pages
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
  // Only CPU is counted in thousandths: a divisor of `1m` is 1 for anything else.
  const units = (text: string): bigint =>
    name === 'cpu' ? parseQuantity(text).milliValue() : parseQuantity(text).value();
  const divisor = units(given && !parseQuantity(given).isZero ? given : '1');
  return String((units(amount) + divisor - 1n) / divisor);
}
