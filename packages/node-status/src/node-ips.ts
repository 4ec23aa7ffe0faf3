import { NodeStatusError } from './errors.ts';
import { type IpAddress, isLinkLocal, isLoopback, isMulticast, isUnspecified, parseIp } from './ip.ts';

/** The addresses that --node-ip asks for, and the parts of it that are none and are left out. */
export interface NodeIps {
  readonly ips: readonly IpAddress[];
  readonly invalid: readonly string[];
}

/**
 * Reads --node-ip: nothing, one address, or one of each family with a comma (`node/util/ips.go`, ParseNodeIPArgument).
 * @throws NodeStatusError `InvalidNodeIp` for more than that, or an unspecified address in a pair
 */
export function parseNodeIps(argument: string): NodeIps {
  const parts = argument === '' ? [] : argument.split(',').map((part) => part.trim());
  const ips = parts.flatMap((part) => parseIp(part) ?? []);
  const invalid = parts.filter((part) => parseIp(part) === undefined);
  const refuse = (why: string): never => {
    throw new NodeStatusError('InvalidNodeIp', `bad --node-ip ${JSON.stringify(argument)}: ${why}`);
  };
  if (ips.length > 2 || (ips.length === 2 && ips[0]?.family === ips[1]?.family)) {
    refuse('must contain either a single IP or a dual-stack pair of IPs');
  }
  if (ips.length === 2 && ips.some(isUnspecified)) refuse("dual-stack node IP cannot include '0.0.0.0' or '::'");
  return { ips, invalid };
}

/** Why an address cannot be this node's, where the host has `hostAddresses`; `undefined` where it can (validateNodeIP). */
export function nodeIpProblem(ip: IpAddress, hostAddresses: readonly string[]): string | undefined {
  if (isLoopback(ip)) return "nodeIP can't be loopback address";
  if (isMulticast(ip)) return "nodeIP can't be a multicast address";
  if (isLinkLocal(ip)) return "nodeIP can't be a link-local unicast address";
  if (isUnspecified(ip)) return "nodeIP can't be an all zeros address";
  if (hostAddresses.some((address) => parseIp(address)?.text === ip.text)) return undefined;
  return `node IP: ${JSON.stringify(ip.text)} not found in the host's network interfaces`;
}
