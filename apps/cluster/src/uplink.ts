import { writeFile } from 'node:fs/promises';
import type { ClusterNetwork } from './network.ts';
import { attempt, run } from './run-program.ts';

/** Link that connects a cluster with this machine. */
export interface Uplink {
  /** Name of the link on this machine. */
  readonly link: string;
  /** The cluster's subnet. */
  readonly subnet: string;
}

/** Rule of the firewall: its table, its chain, and the rest of its arguments. */
export interface FirewallRule {
  readonly table: 'nat' | 'filter';
  readonly chain: string;
  readonly rule: readonly string[];
}

/** Name of the link inside the cluster's network namespace. */
export const INSIDE_LINK = 'up0';

/**
 * Returns the firewall rules of a cluster on this machine. Pods reach other networks with the machine's address.
 * Forwarding is permitted for the link, because some machines drop forwarded packets by default.
 */
export function firewallRules({ link, subnet }: Uplink): readonly FirewallRule[] {
  const comment = ['-m', 'comment', '--comment', link];
  return [
    { table: 'nat', chain: 'POSTROUTING', rule: ['-s', subnet, '!', '-o', link, ...comment, '-j', 'MASQUERADE'] },
    { table: 'filter', chain: 'FORWARD', rule: ['-i', link, ...comment, '-j', 'ACCEPT'] },
    { table: 'filter', chain: 'FORWARD', rule: ['-o', link, ...comment, '-j', 'ACCEPT'] },
  ];
}

/**
 * Connects this machine with the network namespace of a cluster: a link, a route to the cluster's subnet, and firewall
 * rules. The link and the route end with the namespace.
 * @param pid process in the network namespace
 * @throws Error with the output of the program that failed
 */
export async function connect(link: string, pid: number, network: ClusterNetwork): Promise<void> {
  const { subnet, hostAddress, nodePrefix, nodes } = network;
  await run('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', INSIDE_LINK, 'netns', String(pid)]);
  await run('ip', ['address', 'add', `${hostAddress}/${nodePrefix}`, 'dev', link]);
  await run('ip', ['link', 'set', link, 'up']);
  await run('ip', ['route', 'add', subnet, 'via', nodes[0]?.address ?? '', 'dev', link]);
  await writeFile('/proc/sys/net/ipv4/ip_forward', '1');
  for (const { table, chain, rule } of firewallRules({ link, subnet })) {
    await run('iptables', ['--wait', '-t', table, '-I', chain, ...rule]);
  }
}

/** Removes what {@link connect} created, as far as it exists. */
export async function disconnect({ link, subnet }: Uplink): Promise<void> {
  await attempt('ip', ['link', 'delete', link]);
  for (const { table, chain, rule } of firewallRules({ link, subnet })) {
    // Each rule is deleted until none is left, because a killed run and a later run may both have added it.
    while (await attempt('iptables', ['--wait', '-t', table, '-D', chain, ...rule]));
  }
}
