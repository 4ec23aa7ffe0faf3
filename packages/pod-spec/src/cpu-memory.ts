import type { ResourceRequirements } from './api.ts';
import type { ContainerType } from './containers.ts';
import { parseQuantity } from './quantity.ts';
import type { ResourceListJson } from './resource-list.ts';

/**
 * Resources of a container or pod that can be resized while it runs (KEP-1287): millicores of CPU and bytes of memory;
 * 0 if not set.
 */
export interface CpuMemory {
  readonly cpuRequestMilli: number;
  readonly cpuLimitMilli: number;
  readonly memoryRequestBytes: number;
  readonly memoryLimitBytes: number;
}

/**
 * Returns a container's limits. If the container has no CPU or memory limit, the pod's limit is used (`GetLimits` in
 * `pkg/kubelet/util/util.go`).
 * @throws PodSpecError `InvalidQuantity` if the resources were not validated
 */
export function limitsWithin(
  container: ResourceRequirements | undefined,
  pod: ResourceRequirements | undefined,
): ResourceListJson {
  const limits: Record<string, string> = { ...container?.limits };
  for (const name of ['cpu', 'memory']) {
    const ofPod = pod?.limits?.[name];
    if (isNothing(limits[name]) && ofPod !== undefined && !isNothing(ofPod)) limits[name] = ofPod;
  }
  return limits;
}

/**
 * Returns CPU and memory in the units that the kernel is configured with.
 * @param pod the pod's own resources; their limits apply if the container has none (KEP-5419)
 * @throws PodSpecError `InvalidQuantity`
 */
export function cpuMemory(resources: ResourceRequirements | undefined, pod?: ResourceRequirements): CpuMemory {
  if (resources === undefined && pod === undefined) return NONE;
  const own = resources ?? NOTHING;
  const key = pod ?? NOTHING;
  const known = figures.get(own) ?? new WeakMap<ResourceRequirements, CpuMemory>();
  figures.set(own, known);
  const figure = known.get(key) ?? computed(resources, pod);
  known.set(key, figure);
  return figure;
}

/**
 * Results by the container's resources and then by its pod's resources. Each sync reads these, and objects in memory
 * never change.
 */
const figures = new WeakMap<ResourceRequirements, WeakMap<ResourceRequirements, CpuMemory>>();
const NOTHING: ResourceRequirements = {};
const NONE: CpuMemory = { cpuRequestMilli: 0, cpuLimitMilli: 0, memoryRequestBytes: 0, memoryLimitBytes: 0 };

function computed(resources: ResourceRequirements | undefined, pod: ResourceRequirements | undefined): CpuMemory {
  const { requests = {} } = resources ?? {};
  const limits = limitsWithin(resources, pod);
  return {
    cpuRequestMilli: Number(parseQuantity(requests.cpu ?? '0').milliValue()),
    cpuLimitMilli: Number(parseQuantity(limits.cpu ?? '0').milliValue()),
    memoryRequestBytes: Number(parseQuantity(requests.memory ?? '0').value()),
    memoryLimitBytes: Number(parseQuantity(limits.memory ?? '0').value()),
  };
}

export function sameCpuMemory(one: CpuMemory, other: CpuMemory): boolean {
  return (
    one.cpuRequestMilli === other.cpuRequestMilli &&
    one.cpuLimitMilli === other.cpuLimitMilli &&
    one.memoryRequestBytes === other.memoryRequestBytes &&
    one.memoryLimitBytes === other.memoryLimitBytes
  );
}

/** Returns whether two resource requirements are equal regardless of notation. An absent list equals an empty one. */
export function sameResources(one: ResourceRequirements | undefined, other: ResourceRequirements | undefined): boolean {
  if (one === other) return true;
  const claims = (of: ResourceRequirements | undefined): string => JSON.stringify(of?.claims ?? []);
  return (
    sameList(one?.requests, other?.requests) && sameList(one?.limits, other?.limits) && claims(one) === claims(other)
  );
}

/**
 * Returns whether a container's resources can be resized while its pod runs. Ephemeral containers are never resizable.
 */
export function isResizable(
  type: ContainerType,
  { initContainers = true }: { readonly initContainers?: boolean } = {},
): boolean {
  return type !== 'ephemeral' && (type !== 'init' || initContainers);
}

function sameList(one: ResourceListJson = {}, other: ResourceListJson = {}): boolean {
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => {
    const [a, b] = [one[name], other[name]];
    return a === b || (a !== undefined && b !== undefined && parseQuantity(a).equals(parseQuantity(b)));
  });
}

function isNothing(quantity: string | undefined): boolean {
  return quantity === undefined || parseQuantity(quantity).isZero;
}
