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
 * What is allocated to a container, and what it really runs with (KEP-1287; `convertContainerStatusResources` in
 * `pkg/kubelet/kubelet_pods.go`): while it runs, what the runtime enforces in the place of what is allocated, for CPU and memory and as far
 * as they are limited or requested at all.
 * @param container as granted
 * @param old its status as it was told before; its values stay where the runtime does not tell them
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
  { resources: told = {} }: RuntimeContainerStatus,
  containerID: string,
  old: ContainerStatus | undefined,
): ResourceRequirements {
  const before = old?.state?.running != null && old.containerID === containerID ? old.resources : undefined;
  const limits = allocated.limits && {
    ...allocated.limits,
    ...cpu(told.cpuLimitMilli, allocated.limits.cpu, before?.limits?.cpu, MIN_CPU_LIMIT_MILLI),
    ...memory(told.memoryLimitBytes, allocated.limits.memory, before?.limits?.memory),
  };
  const requests = allocated.requests && {
    ...allocated.requests,
    ...cpu(told.cpuRequestMilli, allocated.requests.cpu, before?.requests?.cpu, MIN_CPU_REQUEST_MILLI),
    ...memory(told.memoryRequestBytes, allocated.requests.memory, before?.requests?.memory),
  };
  return { ...allocated, ...(limits && { limits }), ...(requests && { requests }) };
}

/** Below what the kernel tells apart, the allocated value is shown. */
function cpu(
  told: number | undefined,
  allocated: string | undefined,
  before: string | undefined,
  least: number,
): { readonly cpu?: string } {
  if (told === undefined) return before === undefined ? {} : { cpu: before };
  const wanted = Number(parseQuantity(allocated ?? '0').milliValue());
  return Math.max(told, wanted) > least ? shown('cpu', told, Quantity.ofMilli(told), allocated) : {};
}

function memory(
  told: number | undefined,
  allocated: string | undefined,
  before: string | undefined,
): { readonly memory?: string } {
  if (told === undefined) return before === undefined ? {} : { memory: before };
  return shown('memory', told, Quantity.of(told, 'BinarySI'), allocated);
}

/** As the spec writes it where it is the same; nothing of what is neither wanted nor there. */
function shown<K extends string>(
  name: K,
  told: number,
  quantity: Quantity,
  allocated: string | undefined,
): { readonly [P in K]?: string } {
  if (told === 0 && allocated === undefined) return {};
  const same = allocated !== undefined && parseQuantity(allocated).equals(quantity);
  return { [name]: same ? allocated : quantity.toString() } as { readonly [P in K]?: string };
}
