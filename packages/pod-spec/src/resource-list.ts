import { PodSpecError } from './errors.ts';
import { qualifiedNameProblem } from './names.ts';
import { parseQuantity, type Quantity } from './quantity.ts';

/** Amounts by resource name: `cpu`, `memory`, `ephemeral-storage`, `hugepages-2Mi`, `example.com/gpu`. */
export type ResourceList = ReadonlyMap<string, Quantity>;

/** A resource list in its wire format. */
export type ResourceListJson = Readonly<Record<string, string>>;

const HUGE_PAGES = 'hugepages-';

/** @throws PodSpecError `InvalidQuantity`, naming the resource */
export function parseResourceList(list: ResourceListJson | undefined): ResourceList {
  const resources = new Map<string, Quantity>();
  for (const name in list) resources.set(name, parseNamed(name, list[name] ?? ''));
  return resources;
}

function parseNamed(name: string, text: string): Quantity {
  try {
    return parseQuantity(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PodSpecError('InvalidQuantity', `resource ${name}: ${reason}`, { cause });
  }
}

/** Returns the list in its wire format, with canonical quantities. */
export function formatResourceList(list: ResourceList): ResourceListJson {
  return Object.fromEntries([...list].map(([name, quantity]) => [name, quantity.toString()]));
}

/** Returns the sum per resource. */
export function addResources(...lists: readonly ResourceList[]): Map<string, Quantity> {
  const sum = new Map<string, Quantity>();
  const add = (quantity: Quantity, name: string): void => {
    sum.set(name, sum.get(name)?.add(quantity) ?? quantity);
  };
  for (const list of lists) list.forEach(add);
  return sum;
}

/** Returns the maximum per resource. */
export function maxResources(...lists: readonly ResourceList[]): Map<string, Quantity> {
  const greatest = new Map<string, Quantity>();
  const raise = (quantity: Quantity, name: string): void => {
    const before = greatest.get(name);
    if (before === undefined || quantity.compare(before) > 0) greatest.set(name, quantity);
  };
  for (const list of lists) list.forEach(raise);
  return greatest;
}

/** Returns whether the resource may be set at pod level, not only per container (KEP-2837). */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || isHugePageResource(name);
}

export function isHugePageResource(name: string): boolean {
  return name.startsWith(HUGE_PAGES);
}

/**
 * Returns the page size in bytes of a huge page resource: 2,097,152 for `hugepages-2Mi`; `undefined` if the name has no
 * valid size, as in `hugepages-2MB` (`HugePageSizeFromResourceName` and `IsHugePageResourceValueDivisible` of
 * `pkg/apis/core/helper`).
 */
export function hugePageSize(name: string): bigint | undefined {
  if (!isHugePageResource(name)) return undefined;
  try {
    const size = parseQuantity(name.slice(HUGE_PAGES.length));
    return size.nanos > 0n && size.milliValue() % 1000n === 0n ? size.value() : undefined;
  } catch (error) {
    if (PodSpecError.is(error)) return undefined;
    throw error;
  }
}

/** Returns whether the resource is defined by Kubernetes, unlike a device plugin's `example.com/gpu`. */
export function isNativeResource(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

/** Returns whether the limit of the resource may exceed its request. */
export function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePageResource(name);
}

/**
 * Returns whether the resource belongs to a device plugin or DRA driver, such as `example.com/gpu`
 * (`IsExtendedResourceName`, `pkg/apis/core/v1/helper`). The name must also be valid in a quota.
 */
export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith('requests.')) return false;
  return qualifiedNameProblem(`requests.${name}`).length === 0;
}
