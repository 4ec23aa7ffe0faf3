import { type Container, resolveContainerPort } from '@node-agent/pod-spec';
import { PodNetError } from './errors.ts';

/**
 * The number of a port that a handler names: a number, the name of one of the container's ports, or a number that is written as
 * text (`ResolveContainerPort` in `pkg/probe/util.go`).
 * @throws PodNetError `InvalidPort` where it is none of them, or not from 1 to 65535; in upstream's words
 */
export function resolvePort(port: unknown, container: Pick<Container, 'ports'>): number {
  const given = typeof port === 'string' || typeof port === 'number' ? port : -1;
  const number = resolveContainerPort(container, given);
  if (number !== undefined) return number;
  const isNumber = /^[+-]?\d+$/.test(String(given));
  const words = isNumber
    ? `invalid port number: ${Number(given)}`
    : `strconv.Atoi: parsing ${JSON.stringify(given)}: invalid syntax`;
  throw new PodNetError('InvalidPort', words);
}
