import { type Container, type Pod, parseQuantity, type ResourceListJson } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';

const DEFAULTED = ['cpu', 'memory', 'ephemeral-storage'];
const POD_LEVEL = ['cpu', 'memory'];

/** A `resourceFieldRef` of the downward API. */
export interface ResourceFieldReference {
  /** Another container of the pod; the own one where absent. */
  readonly containerName?: string;
  /** As `limits.cpu`, `requests.memory`, `limits.hugepages-2Mi`. */
  readonly resource: string;
  /** Default: 1. */
  readonly divisor?: string;
}

/**
 * The value of a `resourceFieldRef`: the amount in units of the divisor, rounded up. A container without a limit is
 * shown the pod's, else what the node has to give (`pkg/api/v1/resource/helpers.go`).
 * @throws PodRuntimeError `InvalidSpec` for a resource or container that does not exist
 */
export function resourceFieldValue(
  pod: Pod,
  container: Container,
  reference: ResourceFieldReference,
  nodeAllocatable: ResourceListJson,
): string {
  const subject = reference.containerName
    ? findContainer(pod, reference.containerName)
    : { container, defaulted: true };
  const [kind, ...rest] = reference.resource.split('.');
  const name = rest.join('.');
  const known = DEFAULTED.includes(name) || name.startsWith('hugepages-');
  if ((kind !== 'limits' && kind !== 'requests') || !known) {
    throw new PodRuntimeError('InvalidSpec', `unsupported container resource : ${reference.resource}`);
  }
  let amount = subject.container.resources?.[kind]?.[name] ?? '0';
  if (kind === 'limits' && subject.defaulted && DEFAULTED.includes(name) && parseQuantity(amount).isZero) {
    amount = defaultLimit(pod, name, nodeAllocatable) ?? amount;
  }
  // Only CPU is counted in thousandths: a divisor of `1m` is 1 for anything else.
  const units = (text: string): bigint =>
    name === 'cpu' ? parseQuantity(text).milliValue() : parseQuantity(text).value();
  const divisor = units(reference.divisor && !parseQuantity(reference.divisor).isZero ? reference.divisor : '1');
  return String((units(amount) + divisor - 1n) / divisor);
}

function defaultLimit(pod: Pod, name: string, nodeAllocatable: ResourceListJson): string | undefined {
  const allocatable = nodeAllocatable[name];
  const podLimit = POD_LEVEL.includes(name) ? pod.spec.resources?.limits?.[name] : undefined;
  const hasPodLimit = podLimit !== undefined && !parseQuantity(podLimit).isZero;
  return hasPodLimit && allocatable !== undefined ? podLimit : allocatable;
}

/** Upstream fills in defaults for main containers, and for the one that asks about itself; not for init containers. */
function findContainer(pod: Pod, name: string): { readonly container: Container; readonly defaulted: boolean } {
  const main = pod.spec.containers.find((container) => container.name === name);
  if (main) return { container: main, defaulted: true };
  const init = pod.spec.initContainers?.find((container) => container.name === name);
  if (init) return { container: init, defaulted: false };
  throw new PodRuntimeError('InvalidSpec', `container ${name} not found`);
}
