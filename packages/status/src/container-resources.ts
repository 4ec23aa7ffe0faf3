import {
  type AnyContainer,
  type ContainerStatus,
  parseQuantity,
  Quantity,
  type ResourceRequirements,
  type RuntimeContainerStatus,
} from '@node-agent/pod-spec';
import { MIN_CPU_LIMIT_MILLI, MIN_CPU_REQUEST_MILLI } from './pod-resources.ts';

type Shown = Pick<ContainerStatus, 'resources' | 'allocatedResources'>;

/**
 * Returns the allocated and actual resources of a container (KEP-1287; `convertContainerStatusResources` in
 * `pkg/kubelet/kubelet_pods.go`). While the container runs, the actual CPU and memory are the values that the runtime
 * enforces, if a limit or request for them exists. All other values are the allocated ones.
 * @param container the container with its allocated resources
 * @param old last reported status; supplies values that the runtime does not report
 */
export function containerResourceStatus(
  container: AnyContainer,
  status: RuntimeContainerStatus,
  containerID: string,
  old: ContainerStatus | undefined,
): Shown {
  const { resources = {} } = container;
  const { requests } = resources;
  return {
    resources: status.state === 'running' ? enforced(resources, status, containerID, old) : resources,
    ...(requests !== undefined && { allocatedResources: requests }),
  };
}

function enforced(
  allocated: ResourceRequirements,
  { resources: enforced = {} }: RuntimeContainerStatus,
  containerID: string,
  old: ContainerStatus | undefined,
): ResourceRequirements {
  const before = old?.state?.running != null && old.containerID === containerID ? old.resources : undefined;
  const limits = allocated.limits && {
    ...allocated.limits,
    ...cpu(enforced.cpuLimitMilli, allocated.limits.cpu, before?.limits?.cpu, MIN_CPU_LIMIT_MILLI),
    ...memory(enforced.memoryLimitBytes, allocated.limits.memory, before?.limits?.memory),
  };
  const requests = allocated.requests && {
    ...allocated.requests,
    ...cpu(enforced.cpuRequestMilli, allocated.requests.cpu, before?.requests?.cpu, MIN_CPU_REQUEST_MILLI),
    ...memory(enforced.memoryRequestBytes, allocated.requests.memory, before?.requests?.memory),
  };
  return { ...allocated, ...(limits && { limits }), ...(requests && { requests }) };
}

/**
 * Returns the CPU value. If both values are too small to be distinguishable in the kernel, the allocated value is
 * shown.
 */
function cpu(
  enforced: number | undefined,
  allocated: string | undefined,
  before: string | undefined,
  minMilli: number,
): { readonly cpu?: string } {
  if (enforced === undefined) return before === undefined ? {} : { cpu: before };
  const allocatedMilli = Number(parseQuantity(allocated ?? '0').milliValue());
  return Math.max(enforced, allocatedMilli) > minMilli
    ? shown('cpu', enforced, Quantity.ofMilli(enforced), allocated)
    : {};
}

function memory(
  enforced: number | undefined,
  allocated: string | undefined,
  before: string | undefined,
): { readonly memory?: string } {
  if (enforced === undefined) return before === undefined ? {} : { memory: before };
  return shown('memory', enforced, Quantity.of(enforced, 'BinarySI'), allocated);
}

/**
 * Returns the enforced quantity, in the spec's notation if equal to the allocated quantity. Returns no field if the
 * resource is neither allocated nor enforced.
 */
function shown<K extends string>(
  name: K,
  enforced: number,
  quantity: Quantity,
  allocated: string | undefined,
): { readonly [P in K]?: string } {
  if (enforced === 0 && allocated === undefined) return {};
  const same = allocated !== undefined && parseQuantity(allocated).equals(quantity);
  return { [name]: same ? allocated : quantity.toString() } as { readonly [P in K]?: string };
}
