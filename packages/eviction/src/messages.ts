import { type Pod, parseQuantity, Quantity } from '@node-agent/pod-spec';
import type { Observations } from './observations.ts';
import { bytes, memoryUsage } from './pod-usage.ts';
import { type PressureCondition, resourceOf, type StarvedResource } from './signals.ts';
import { type EvictionContainerStats, type EvictionPodStats, isCount } from './summary.ts';
import { quantityOf, type Threshold } from './threshold.ts';

/** Reason of an evicted pod's status, of the eviction event, and of the rejection of a pod under pressure. */
export const EVICTED = 'Evicted';

/** Message of an eviction, and the same facts as annotations of the event, which programs read. */
export interface EvictionMessage {
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Returns why a pod is evicted for a threshold, in upstream's wording (`evictionMessage` of
 * `pkg/kubelet/eviction/helpers.go`).
 */
export function evictionMessage(
  pod: Pod,
  stats: EvictionPodStats | undefined,
  threshold: Threshold,
  observations: Observations,
): EvictionMessage {
  const resource = resourceOf(threshold.signal);
  let message = `The node was low on resource: ${resource}. `;
  const observed = observations.get(threshold.signal);
  if (observed !== undefined) {
    const wanted = quantityOf(threshold.value, observed.capacity);
    message += `Threshold quantity: ${wanted}, available: ${observed.available}. `;
  }
  if (stats === undefined) return { message, annotations: {} };
  const annotations: Record<string, string> = {};
  const podRequest = pod.spec.resources?.requests?.[resource];
  if (resource === 'memory' && podRequest !== undefined && stats.memory !== undefined) {
    const usage = memoryUsage(stats);
    message += exceeding('Pod', pod.metadata.name, usage, parseQuantity(podRequest), resource);
    annotations.offending_pod = pod.metadata.name;
    annotations.offending_pod_usage = String(usage);
  }
  const offending: { readonly name: string; readonly usage: Quantity }[] = [];
  const containers = new Map(
    [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map((container) => [container.name, container]),
  );
  for (const container of stats.containers ?? []) {
    const spec = containers.get(container.name);
    const usage = spec && containerUsage(container, resource);
    if (usage === undefined) continue;
    const request = parseQuantity(spec?.resources?.requests?.[resource] ?? '0');
    if (usage.compare(request) <= 0) continue;
    message += exceeding('Container', container.name, usage, request, resource);
    offending.push({ name: container.name, usage });
  }
  annotations.offending_containers = offending.map(({ name }) => name).join(',');
  annotations.offending_containers_usage = offending.map(({ usage }) => String(usage)).join(',');
  annotations.starved_resource = resource;
  return { message, annotations };
}

function exceeding(kind: string, name: string, usage: Quantity, request: Quantity, resource: string): string {
  return `${kind} ${name} was using ${usage}, request is ${request}, has larger consumption of ${resource}. `;
}

function containerUsage(
  { memory, rootfs, logs }: EvictionContainerStats,
  resource: StarvedResource,
): Quantity | undefined {
  if (resource === 'memory') {
    return isCount(memory?.workingSetBytes) ? bytes(memory.workingSetBytes) : undefined;
  }
  if (resource !== 'ephemeral-storage' || !isCount(rootfs?.usedBytes) || !isCount(logs?.usedBytes)) return undefined;
  return Quantity.of(BigInt(rootfs.usedBytes) + BigInt(logs.usedBytes), 'BinarySI');
}

/** Returns why a pod is rejected on a node under pressure. */
export function pressureMessage(conditions: readonly PressureCondition[]): string {
  return `The node had condition: [${conditions.join(' ')}]. `;
}
