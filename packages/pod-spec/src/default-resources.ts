import type { Container, EphemeralContainer, PodSpec, ResourceRequirements } from './api.ts';
import { PodSpecError } from './errors.ts';
import { containersTotal } from './pod-resources.ts';
import { parseQuantity } from './quantity.ts';
import {
  formatResourceList,
  isHugePageResource,
  isOvercommitAllowed,
  isPodLevelResource,
  type ResourceListJson,
} from './resource-list.ts';

/**
 * Adds requests for resources that have only limits, for containers and, if the pod has pod-level resources, for the
 * pod (KEP-2837). Valid quantities become canonical, rounded up to thousandths.
 */
export function defaultPodResources(spec: PodSpec): PodSpec {
  const withContainers: PodSpec = {
    ...spec,
    containers: spec.containers.map(requestsFromLimits),
    ...(spec.initContainers ? { initContainers: spec.initContainers.map(requestsFromLimits) } : {}),
    ...(spec.ephemeralContainers ? { ephemeralContainers: spec.ephemeralContainers.map(canonical) } : {}),
    ...(spec.overhead ? { overhead: canonicalList(spec.overhead) } : {}),
  };
  const pod = spec.resources && defaultPodLevel(withContainers, canonicalRequirements(spec.resources));
  return pod ? { ...withContainers, resources: pod } : withContainers;
}

function requestsFromLimits(container: Container): Container {
  const own = canonical(container);
  const { limits, requests } = own.resources ?? {};
  return limits ? { ...own, resources: { ...own.resources, requests: { ...limits, ...requests } } } : own;
}

function canonical<C extends Container | EphemeralContainer>(container: C): C {
  return container.resources ? { ...container, resources: canonicalRequirements(container.resources) } : container;
}

function canonicalRequirements(resources: ResourceRequirements): ResourceRequirements {
  return {
    ...resources,
    ...(resources.limits ? { limits: canonicalList(resources.limits) } : {}),
    ...(resources.requests ? { requests: canonicalList(resources.requests) } : {}),
  };
}

function canonicalList(list: ResourceListJson): ResourceListJson {
  return Object.fromEntries(Object.entries(list).map(([name, text]) => [name, canonicalQuantity(text)]));
}

function canonicalQuantity(text: string): string {
  try {
    return parseQuantity(text).roundUpToMilli().toString();
  } catch (error) {
    // An invalid quantity is kept, because the validation reports the field.
    if (error instanceof PodSpecError) return text;
    throw error;
  }
}

/**
 * Completes the pod-level requirements from the containers' requirements and from the pod's limits. Returns the
 * requirements unchanged if any quantity is invalid.
 */
function defaultPodLevel(spec: PodSpec, own: ResourceRequirements): ResourceRequirements {
  try {
    return podRequestsFromLimits(spec, hugePageLimits(spec, own));
  } catch (error) {
    if (error instanceof PodSpecError) return own;
    throw error;
  }
}

function hugePageLimits(spec: PodSpec, own: ResourceRequirements): ResourceRequirements {
  if (count(own.limits) + count(own.requests) === 0) return own;
  const containers = Object.entries(formatResourceList(containersTotal({ spec }, 'limits')));
  const missing = containers.filter(([name]) => isHugePageResource(name) && own.requests?.[name] === undefined);
  return missing.length === 0 ? own : { ...own, limits: { ...Object.fromEntries(missing), ...own.limits } };
}

function podRequestsFromLimits(spec: PodSpec, own: ResourceRequirements): ResourceRequirements {
  if (count(own.limits) === 0) return own;
  const containers = Object.entries(formatResourceList(containersTotal({ spec }, 'requests')));
  const limits = Object.entries(own.limits ?? {});
  const requests = {
    ...Object.fromEntries(limits.filter(([name]) => isPodLevelResource(name))),
    ...Object.fromEntries(containers.filter(([name]) => isPodLevelResource(name) && isOvercommitAllowed(name))),
    ...own.requests,
  };
  return count(requests) === 0 ? own : { ...own, requests };
}

function count(list: ResourceListJson | undefined): number {
  return Object.keys(list ?? {}).length;
}
