import { isIP } from 'node:net';

/** Who this node is. */
export interface NodeIdentity {
  readonly nodeName: string;
  /** Primary first; none where the machine has none. */
  readonly nodeIps: readonly string[];
}

/**
 * The node's name and addresses from the flags and the machine: the name is `--hostname-override` or the host's name,
 * trimmed and in lower case (`pkg/util/node`).
 * @param nodeIp `--node-ip`: one address, or one of each family, comma-separated; an unspecified address asks for that family
 * @throws Error naming the flag
 */
export function nodeIdentity(
  flags: { readonly hostnameOverride: string; readonly nodeIp: string },
  machine: { readonly hostname: string; readonly ips: readonly string[] },
): NodeIdentity {
  const nodeName = (flags.hostnameOverride || machine.hostname).trim().toLowerCase();
  if (nodeName === '') throw new Error('--hostname-override: empty hostname is invalid');
  return { nodeName, nodeIps: nodeIps(flags.nodeIp, machine.ips) };
}

function nodeIps(nodeIp: string, machineIps: readonly string[]): readonly string[] {
  const wanted = nodeIp
    .split(',')
    .map((ip) => ip.trim())
    .filter((ip) => ip !== '');
  for (const ip of wanted) if (isIP(ip) === 0) throw new Error(`--node-ip: ${JSON.stringify(ip)} is not an IP address`);
  const [first, second, ...rest] = wanted;
  if (rest.length > 0 || (first !== undefined && second !== undefined && isIP(first) === isIP(second))) {
    throw new Error(`--node-ip: ${JSON.stringify(nodeIp)} must be one address, or one of each family`);
  }
  if (first !== undefined && first !== '0.0.0.0' && first !== '::') return wanted;
  const family = first === '::' ? 6 : 4;
  // A node has two addresses only where it is told so.
  const found = machineIps.find((ip) => isIP(ip) === family) ?? machineIps[0];
  return found === undefined ? [] : [found];
}
