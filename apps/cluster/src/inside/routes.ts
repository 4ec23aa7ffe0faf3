import type { ClusterNetwork, NodeAddresses } from '../network.ts';
import { run } from '../run-program.ts';
import { INSIDE_LINK } from '../uplink.ts';

/** Bridge of the nodes, in the network namespace of the control plane and of the first node. */
const BRIDGE = 'nodes';

/** Name of a further node's link inside its network namespace. */
const NODE_LINK = 'eth0';

/** Connects the first node: the bridge with the uplink, the node's address, and the routes to all other networks. */
export async function connectFirstNode(network: ClusterNetwork): Promise<void> {
  const { hostAddress, nodePrefix, nodes } = network;
  const [first, ...others] = nodes;
  await run('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
  await run('ip', ['address', 'add', `${first?.address}/${nodePrefix}`, 'dev', BRIDGE]);
  await run('ip', ['link', 'set', INSIDE_LINK, 'master', BRIDGE, 'up']);
  await run('ip', ['link', 'set', BRIDGE, 'up']);
  await run('ip', ['route', 'add', 'default', 'via', hostAddress]);
  for (const { podSubnet, address } of others) await run('ip', ['route', 'add', podSubnet, 'via', address]);
}

/** Adds a link between the bridge and the network namespace of a process that runs a further node. */
export async function addNodeLink(node: NodeAddresses, pid: number): Promise<void> {
  await run('ip', ['link', 'add', node.name, 'type', 'veth', 'peer', 'name', NODE_LINK, 'netns', String(pid)]);
  await run('ip', ['link', 'set', node.name, 'master', BRIDGE, 'up']);
}

/** Connects a further node, in its network namespace: its address, and the first node as its gateway. */
export async function connectFurtherNode(network: ClusterNetwork, node: NodeAddresses): Promise<void> {
  await run('ip', ['address', 'add', `${node.address}/${network.nodePrefix}`, 'dev', NODE_LINK]);
  await run('ip', ['link', 'set', NODE_LINK, 'up']);
  await run('ip', ['route', 'add', 'default', 'via', network.nodes[0]?.address ?? '']);
}
