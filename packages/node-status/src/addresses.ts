import { NodeStatusError } from './errors.ts';
import { type IpAddress, isUnspecified, parseIp } from './ip.ts';
import type { Node, NodeAddress } from './node.ts';
import { withStatus } from './node.ts';
import { nodeIpProblem } from './node-ips.ts';

/** The annotation that passes --node-ip to a cloud controller manager. */
const PROVIDED_NODE_IP = 'alpha.kubernetes.io/provided-node-ip';

/** Facts about the host's network, from which a node's addresses are chosen. */
export interface NetworkFacts {
  /** All addresses of the host's interfaces. */
  readonly hostAddresses: readonly string[];
  /** The addresses of the node's name in DNS and /etc/hosts. The list is empty if the name has no addresses. */
  readonly namedAddresses: readonly string[];
  /** The address of the default route's interface, preferably in the address family of --node-ip. */
  readonly defaultAddress?: string | undefined;
}

/** The settings that determine which addresses a node reports. */
export interface AddressSettings {
  readonly hostname: string;
  /**
   * The addresses of --node-ip (see `parseNodeIps`). An unspecified address (`0.0.0.0` or `::`) only selects an address
   * family.
   */
  readonly nodeIps: readonly IpAddress[];
  readonly externalCloudProvider: boolean;
}

/**
 * Sets a node's addresses (`nodestatus/setters.go`, NodeAddress): --node-ip, otherwise a hostname that is an address,
 * otherwise an address of the node's name, otherwise the default route's address. Addresses set by an external cloud
 * provider are kept.
 *
 * @throws NodeStatusError `InvalidNodeIp` if --node-ip is not an address of this host, `NoAddress` if no address is
 * found
 */
export function setAddresses(node: Node, network: NetworkFacts, settings: AddressSettings): Node {
  const { hostname, nodeIps, externalCloudProvider } = settings;
  const [first, second] = nodeIps;
  const specified = nodeIps.filter((ip) => !isUnspecified(ip));
  for (const ip of specified) {
    const problem = nodeIpProblem(ip, network.hostAddresses);
    const which = ip === first ? 'nodeIP' : 'secondaryNodeIP';
    if (problem !== undefined) throw new NodeStatusError('InvalidNodeIp', `failed to validate ${which}: ${problem}`);
  }
  const specifiedFirst = first !== undefined && !isUnspecified(first);
  const provided = externalCloudProvider && specifiedFirst ? specified.map(({ text }) => text).join(',') : undefined;
  const annotated = annotate(node, provided);
  const host: NodeAddress = { type: 'Hostname', address: hostname };
  if (externalCloudProvider) {
    if ((node.status?.addresses ?? []).length > 0) return annotated;
    // Without --node-ip, only the cloud provider knows the addresses.
    if (first === undefined) return withStatus(annotated, { addresses: [host] });
  }
  const internal = specifiedFirst
    ? [first, second].filter((ip) => ip !== undefined)
    : [foundIp(node, network, settings)];
  return withStatus(annotated, {
    addresses: [...internal.map(({ text }): NodeAddress => ({ type: 'InternalIP', address: text })), host],
  });
}

function annotate(node: Node, provided: string | undefined): Node {
  const { [PROVIDED_NODE_IP]: present, ...others } = node.metadata.annotations ?? {};
  if (present === provided) return node;
  const annotations = provided === undefined ? others : { ...others, [PROVIDED_NODE_IP]: provided };
  return { ...node, metadata: { ...node.metadata, annotations } };
}

function foundIp(node: Node, network: NetworkFacts, { hostname, nodeIps }: AddressSettings): IpAddress {
  const preferred = nodeIps[0]?.family ?? 4;
  const named = network.namedAddresses
    .flatMap((text) => parseIp(text) ?? [])
    .filter((ip) => nodeIpProblem(ip, network.hostAddresses) === undefined);
  const found =
    parseIp(hostname) ??
    named.find(({ family }) => family === preferred) ??
    named[0] ??
    (network.defaultAddress === undefined ? undefined : parseIp(network.defaultAddress));
  if (found !== undefined) return found;
  const why = 'unable to select an IP from default routes.';
  throw new NodeStatusError('NoAddress', `can't get ip address of node ${node.metadata.name}. error: ${why}`);
}
