import type { ResourceRequirements } from './api.ts';
import type { ContainerType } from './containers.ts';
import { parseQuantity } from './quantity.ts';
import type { ResourceListJson } from './resource-list.ts';

/** What of a container or a pod can change while it runs (KEP-1287): thousandths of CPU and bytes of memory, 0 for none. */
export interface CpuMemory {
  readonly cpuRequestMilli: number;
  readonly cpuLimitMilli: number;
  readonly memoryRequestBytes: number;
  readonly memoryLimitBytes: number;
}

/**
 * A container's limits, with the pod's CPU and memory limit where it has none of its own (`GetLimits` in `pkg/kubelet/util/util.go`).
 * @throws PodSpecError `InvalidQuantity` for resources that were not validated
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
 * CPU and memory as the kernel is told them.
 * @param pod the pod's own resources, whose limits hold where the container has none (KEP-5419)
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

/** By a container's resources, then by its pod's: they are looked at in each sync, and never change in memory. */
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

/** Whether two resources ask for the same, however it is written; absent lists and empty ones are the same. */
export function sameResources(one: ResourceRequirements | undefined, other: ResourceRequirements | undefined): boolean {
  if (one === other) return true;
  const claims = (of: ResourceRequirements | undefined): string => JSON.stringify(of?.claims ?? []);
  return (
    sameList(one?.requests, other?.requests) && sameList(one?.limits, other?.limits) && claims(one) === claims(other)
  );
}

/** Whether a container's resources may change while its pod lives: those of ephemeral ones never do. */
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
