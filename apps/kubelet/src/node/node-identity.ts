import { isIP } from 'node:net';
import { parseNodeIps } from '@node-agent/node-status';

/** Name and IP addresses of this node. */
export interface NodeIdentity {
  readonly nodeName: string;
  /** The node's IP addresses, primary first. Empty if the machine has none. */
  readonly nodeIps: readonly string[];
  /**
   * Address family that comes first in a pod's IPs. As in upstream, the family is IPv4 unless the first `--node-ip` is
   * an IPv6 address.
   */
  readonly podIpFamily: 4 | 6;
  /** Entries of `--node-ip` that are ignored because they are not IP addresses. */
  readonly invalidNodeIps: readonly string[];
}

/**
 * Determines the node's name and IP addresses from flags and machine. The name is `--hostname-override` or the
 * hostname, trimmed and in lower case (`pkg/util/node`).
 * @param nodeIp `--node-ip`: one address, or one of each family, separated by a comma; an unspecified address
 * (`0.0.0.0`, `::`) selects an address of that family
 * @throws Error naming the flag if the addresses cannot be combined; entries that are not IP addresses are ignored, as
 * upstream
 */
export function nodeIdentity(
  flags: { readonly hostnameOverride: string; readonly nodeIp: string },
  machine: { readonly hostname: string; readonly ips: readonly string[] },
): NodeIdentity {
  const nodeName = (flags.hostnameOverride || machine.hostname).trim().toLowerCase();
  if (nodeName === '') throw new Error('--hostname-override: empty hostname is invalid');
  const { ips, invalid } = parseNodeIps(flags.nodeIp);
  const [first] = ips;
  const isExplicit = first !== undefined && first.text !== '0.0.0.0' && first.text !== '::';
  const family = first?.family ?? 4;
  return {
    nodeName,
    nodeIps: isExplicit ? ips.map(({ text }) => text) : defaultIps(family, machine.ips),
    podIpFamily: family,
    invalidNodeIps: invalid,
  };
}

/**
 * Returns one IP address of the machine, preferably of `family`. A node has two addresses only if `--node-ip` lists
 * two.
 */
function defaultIps(family: 4 | 6, machineIps: readonly string[]): readonly string[] {
  const found = machineIps.find((text) => isIP(text) === family) ?? machineIps[0];
  return found === undefined ? [] : [found];
}
