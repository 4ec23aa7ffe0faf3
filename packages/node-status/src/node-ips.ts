import { NodeStatusError } from './errors.ts';
import { type IpAddress, isLinkLocal, isLoopback, isMulticast, isUnspecified, parseIp } from './ip.ts';

/** The addresses of --node-ip, and its invalid parts, which are ignored. */
export interface NodeIps {
  readonly ips: readonly IpAddress[];
  readonly invalid: readonly string[];
}

/**
 * Parses --node-ip: empty, one address, or one address of each family separated by a comma (`node/util/ips.go`,
 * ParseNodeIPArgument).
 * @throws NodeStatusError `InvalidNodeIp` for more addresses, or an unspecified address in a pair
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

/** Returns the reason why an address cannot be the node's address, or `undefined` if it can be (validateNodeIP). */
export function nodeIpProblem(ip: IpAddress, hostAddresses: readonly string[]): string | undefined {
  if (isLoopback(ip)) return "nodeIP can't be loopback address";
  if (isMulticast(ip)) return "nodeIP can't be a multicast address";
  if (isLinkLocal(ip)) return "nodeIP can't be a link-local unicast address";
  if (isUnspecified(ip)) return "nodeIP can't be an all zeros address";
  if (hostAddresses.some((address) => parseIp(address)?.text === ip.text)) return undefined;
  return `node IP: ${JSON.stringify(ip.text)} not found in the host's network interfaces`;
}
