import { type Container, resolveContainerPort } from '@node-agent/pod-spec';
import { PodNetError } from './errors.ts';

/**
 * Resolves the port of a handler: a number, the name of a container port, or a number written as text
 * (`ResolveContainerPort` in `pkg/probe/util.go`).
 * @throws PodNetError `InvalidPort` with upstream's text if the port cannot be resolved or is not in 1-65535
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
