import type { PodSpec, ResourceRequirements } from '../api.ts';
import { PodSpecError } from '../errors.ts';
import { duplicate, type FieldError, forbidden, invalid, notFound, required, unsupported } from '../field-error.ts';
import { qualifiedNameProblem } from '../names.ts';
import { containersTotal } from '../pod-resources.ts';
import { parseQuantity, type Quantity } from '../quantity.ts';
import {
  hugePageSize,
  isExtendedResource,
  isHugePageResource,
  isNativeResource,
  isOvercommitAllowed,
  isPodLevelResource,
  type ResourceListJson,
} from '../resource-list.ts';
import { quantityOrProblem } from './quantities.ts';
import { NOT_NEGATIVE, named, type Problems } from './rules.ts';

type Level = 'container' | 'pod';

const CONTAINER_RESOURCES = ['cpu', 'memory', 'ephemeral-storage'];
const POD_RESOURCES = ['cpu', 'hugepages-', 'memory'];

/** Validates the resources of a container or of a whole pod (KEP-2837). */
export function* validateResources(
  resources: ResourceRequirements,
  path: string,
  level: Level,
  claims: readonly string[],
): Problems {
  const { limits = {}, requests = {} } = resources;
  yield* validateList(limits, `${path}.limits`, level);
  yield* validateList(requests, `${path}.requests`, level);
  for (const [name, text] of Object.entries(requests)) yield* validateRequest(name, text, limits[name], path);
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePageResource) && !names.includes('cpu') && !names.includes('memory')) {
    yield forbidden(path, 'HugePages require cpu or memory');
  }
  yield* validateClaims(resources, path, level, claims);
}

/** Validates a list of resource amounts. */
function* validateList(list: ResourceListJson, path: string, level: Level): Problems {
  for (const [name, text] of Object.entries(list)) {
    const at = `${path}[${name}]`;
    yield* validateName(name, at, level);
    const { quantity, problem } = quantityOrProblem(text);
    if (quantity === undefined) yield invalid(at, text, problem ?? '');
    else yield* validateAmount(name, quantity, at);
  }
}

function* validateName(name: string, path: string, level: Level): Problems {
  yield* named(path, name, qualifiedNameProblem);
  if (level === 'pod') {
    if (!isPodLevelResource(name)) yield unsupported(path, name, POD_RESOURCES);
  } else if (!name.includes('/')) {
    if (!CONTAINER_RESOURCES.includes(name) && !isHugePageResource(name)) {
      yield invalid(path, name, 'must be a standard resource for containers');
    }
  } else if (!isNativeResource(name) && !isExtendedResource(name)) {
    yield invalid(path, name, "doesn't follow extended resource name standard");
  }
}

function* validateAmount(name: string, quantity: Quantity, path: string): Problems {
  if (quantity.nanos < 0n) yield invalid(path, quantity.toString(), NOT_NEGATIVE);
  if (isExtendedResource(name) && quantity.milliValue() % 1000n !== 0n) {
    yield invalid(path, quantity.toString(), 'must be an integer');
  }
  if (isHugePageResource(name) && !isMultipleOfPage(name, quantity)) {
    yield invalid(path, quantity.toString(), `${quantity} is not positive integer multiple of ${name}`);
  }
}

function isMultipleOfPage(name: string, quantity: Quantity): boolean {
  const pageBytes = hugePageSize(name);
  return pageBytes !== undefined && quantity.value() % pageBytes === 0n;
}

function* validateRequest(name: string, request: string, limit: string | undefined, path: string): Problems {
  if (limit === undefined) {
    if (isOvercommitAllowed(name)) return;
    yield required(`${path}.limits`, 'Limit must be set for non overcommitable resources');
    return;
  }
  const [asked, allowed] = [quantityOrProblem(request).quantity, quantityOrProblem(limit).quantity];
  if (asked === undefined || allowed === undefined) return;
  const comparison = asked.compare(allowed);
  if (comparison !== 0 && !isOvercommitAllowed(name)) {
    yield invalid(`${path}.requests`, asked.toString(), `must be equal to ${name} limit of ${allowed}`);
  } else if (comparison > 0) {
    yield invalid(`${path}.requests`, asked.toString(), `must be less than or equal to ${name} limit of ${allowed}`);
  }
}

function* validateClaims(
  resources: ResourceRequirements,
  path: string,
  level: Level,
  names: readonly string[],
): Problems {
  const { claims } = resources;
  if (claims === undefined) return;
  if (level === 'pod') yield forbidden(`${path}.claims`, 'claims may not be set for Resources at pod-level');
  const seen = new Set<string>();
  for (const [index, { name, request }] of claims.entries()) {
    const at = `${path}.claims[${index}]`;
    const key = request ? `${name}/${request}` : name;
    if (!name) yield required(at);
    else if (!names.includes(name)) yield notFound(at, name);
    if (seen.has(key)) yield duplicate(at, key);
    seen.add(key);
  }
}

/** Validates that pod-level resources are consistent with the resources of the containers. */
export function* validatePodLevelConsistency(spec: PodSpec, path: string): Problems {
  const own = spec.resources;
  if (own === undefined) return;
  try {
    yield* compareWithContainers(spec, own, path);
  } catch (error) {
    // An invalid quantity is reported elsewhere.
    if (!(error instanceof PodSpecError)) throw error;
  }
}

function* compareWithContainers(spec: PodSpec, own: ResourceRequirements, path: string): Problems {
  for (const [name, needed] of containersTotal({ spec }, 'requests')) {
    const problem = lessThan(own.requests?.[name], needed, `${path}.requests[${name}]`, 'requests');
    if (problem !== undefined) yield problem;
  }
  for (const [name, needed] of containersTotal({ spec }, 'limits')) {
    if (!isHugePageResource(name)) continue;
    const problem = lessThan(own.limits?.[name], needed, `${path}.limits[${name}]`, 'limits');
    if (problem !== undefined) yield problem;
  }
  for (const [index, container] of spec.containers.entries()) {
    for (const [name, text] of Object.entries(container.resources?.limits ?? {})) {
      const [limit, whole] = [parseQuantity(text), own.limits?.[name]];
      if (whole === undefined || limit.compare(parseQuantity(whole)) <= 0) continue;
      const detail = `must be less than or equal to pod limits of ${parseQuantity(whole)}`;
      yield invalid(`spec.containers[${index}].resources.limits[${name}]`, limit.toString(), detail);
    }
  }
}

function lessThan(own: string | undefined, needed: Quantity, path: string, side: string): FieldError | undefined {
  if (own === undefined || needed.compare(parseQuantity(own)) <= 0) return undefined;
  const detail = `must be greater than or equal to aggregate container ${side} of ${needed}`;
  return invalid(path, parseQuantity(own).toString(), detail);
}
