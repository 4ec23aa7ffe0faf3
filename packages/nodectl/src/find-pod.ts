import { findContainer, type Pod } from '@node-agent/pod-spec';
import { printableLine } from '@node-agent/telemetry';
import { CtlError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

/**
 * Finds a pod by `NAME` or `NAMESPACE/NAME`. The name of a static pod may be given without the node's name at its end.
 * An exact match is preferred.
 * @param namespace only this namespace; `undefined`: all
 * @throws CtlError if there is no such pod, or several
 */
export function findPod(pods: readonly Pod[], given: string, namespace: string | undefined): Pod {
  const slash = given.indexOf('/');
  const name = given.slice(slash + 1);
  const wanted = slash < 0 ? namespace : given.slice(0, slash);
  const candidates = pods.filter(({ metadata }) => wanted === undefined || metadata.namespace === wanted);
  const exact = candidates.filter(({ metadata }) => metadata.name === name);
  const found = exact.length > 0 ? exact : candidates.filter((pod) => pod.metadata.name === staticName(name, pod));
  const [first, second] = found;
  const where = wanted === undefined ? '' : ` in the namespace ${wanted}`;
  if (first === undefined) throw new CtlError(`there is no pod ${name}${where} on this node`, exitCodes.notFound);
  if (second !== undefined) {
    const names = found.map(({ metadata }) => printableLine(`${metadata.namespace}/${metadata.name}`)).join(', ');
    throw new CtlError(`several pods match ${name}: ${names}`, exitCodes.notFound);
  }
  return first;
}

function staticName(name: string, { spec }: Pod): string {
  return `${name}-${(spec.nodeName ?? '').toLowerCase()}`;
}

/**
 * Returns the name of the requested container or, if none was requested, of the default container.
 * @throws CtlError if the pod has no such container
 */
export function containerName(pod: Pod, asked: string | undefined): { readonly name: string; readonly note?: string } {
  const names = pod.spec.containers.map(({ name }) => name);
  if (asked !== undefined) {
    if (findContainer(pod, asked) !== undefined) return { name: asked };
    const message = `the pod ${printableLine(pod.metadata.name)} has no container ${asked}; it has ${printableLine(names.join(', '))}`;
    throw new CtlError(message, exitCodes.notFound);
  }
  const marked = pod.metadata.annotations?.[DEFAULT_CONTAINER];
  if (marked !== undefined && names.includes(marked)) return { name: marked };
  const [name = ''] = names;
  return names.length > 1
    ? { name, note: `Defaulted to container ${name}; the pod has ${names.join(', ')}` }
    : { name };
}
