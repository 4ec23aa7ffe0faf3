import {
  type Container,
  containerResourceValue,
  type Pod,
  parseQuantity,
  type ResourceListJson,
  type ResourceSelector,
} from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';
import { asInvalidSpec } from './field-path.ts';

const POD_LEVEL = ['cpu', 'memory'];

/** A `resourceFieldRef` of the downward API. */
export interface ResourceFieldReference extends ResourceSelector {
  /** Name of another container of the pod. Default: the container itself. */
  readonly containerName?: string;
}

/**
 * Returns the value of a `resourceFieldRef`: the amount in units of the divisor, rounded up. For a container without a
 * limit, the value is the pod's limit, else the node's allocatable amount (`pkg/api/v1/resource/helpers.go`).
 * @throws PodRuntimeError `InvalidSpec` if the resource or container does not exist
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
  return asInvalidSpec(() =>
    containerResourceValue(subject.container, reference, (name) =>
      subject.defaulted ? defaultLimit(pod, name, nodeAllocatable) : undefined,
    ),
  );
}

function defaultLimit(pod: Pod, name: string, nodeAllocatable: ResourceListJson): string | undefined {
  const allocatable = nodeAllocatable[name];
  const podLimit = POD_LEVEL.includes(name) ? pod.spec.resources?.limits?.[name] : undefined;
  const hasPodLimit = podLimit !== undefined && !parseQuantity(podLimit).isZero;
  return hasPodLimit && allocatable !== undefined ? podLimit : allocatable;
}

/**
 * Returns the container of this name, and whether defaults replace its missing limits. As upstream, main containers get
 * defaults and init containers do not. A container that refers to itself always gets defaults.
 */
function findContainer(pod: Pod, name: string): { readonly container: Container; readonly defaulted: boolean } {
  const main = pod.spec.containers.find((container) => container.name === name);
  if (main) return { container: main, defaulted: true };
  const init = pod.spec.initContainers?.find((container) => container.name === name);
  if (init) return { container: init, defaulted: false };
  throw new PodRuntimeError('InvalidSpec', `container ${name} not found`);
}
