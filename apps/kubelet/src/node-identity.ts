import { isIP } from 'node:net';
import { parseNodeIps } from '@node-agent/node-status';

/** Who this node is. */
export interface NodeIdentity {
  readonly nodeName: string;
  /** Primary first; none where the machine has none. */
  readonly nodeIps: readonly string[];
  /** Which of a pod's own addresses comes first: as upstream, IPv4 unless `--node-ip` begins with the other. */
  readonly podIpFamily: 4 | 6;
  /** What `--node-ip` has beside addresses: it is left out. */
  readonly invalidNodeIps: readonly string[];
}

/**
 * The node's name and addresses from the flags and the machine: the name is `--hostname-override` or the host's name,
 * trimmed and in lower case (`pkg/util/node`).
 * @param nodeIp `--node-ip`: one address, or one of each family, comma-separated; an unspecified address asks for that family
 * @throws Error naming the flag, for addresses that do not go together; what is no address is left out, as upstream does
 */
export function nodeIdentity(
  flags: { readonly hostnameOverride: string; readonly nodeIp: string },
  machine: { readonly hostname: string; readonly ips: readonly string[] },
): NodeIdentity {
  const nodeName = (flags.hostnameOverride || machine.hostname).trim().toLowerCase();
  if (nodeName === '') throw new Error('--hostname-override: empty hostname is invalid');
  const { ips, invalid } = parseNodeIps(flags.nodeIp);
  const [first] = ips;
  const isTold = first !== undefined && first.text !== '0.0.0.0' && first.text !== '::';
  const family = first?.family ?? 4;
  return {
    nodeName,
    nodeIps: isTold ? ips.map(({ text }) => text) : defaultIps(family, machine.ips),
    podIpFamily: family,
    invalidNodeIps: invalid,
  };
}

/** A node has two addresses only where it is told so. */
function defaultIps(family: 4 | 6, machineIps: readonly string[]): readonly string[] {
  const found = machineIps.find((text) => isIP(text) === family) ?? machineIps[0];
  return found === undefined ? [] : [found];
}
