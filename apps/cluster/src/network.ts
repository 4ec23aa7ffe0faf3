/**
 * Addresses of a cluster. All addresses are in one /16 subnet, so that the machine needs one route and one firewall
 * rule.
 */
export interface ClusterNetwork {
  /** The cluster's /16 subnet. */
  readonly subnet: string;
  /** Address of this machine on the bridge of the nodes, which is the nodes' gateway to other networks. */
  readonly hostAddress: string;
  /** Subnet of the pods of all nodes. */
  readonly podSubnet: string;
  readonly serviceSubnet: string;
  /** Address of the `kubernetes` service, on which the API server listens. */
  readonly apiAddress: string;
  /** Address of the service of the cluster DNS. */
  readonly dnsAddress: string;
  /** Length of the prefix of the nodes' addresses. */
  readonly nodePrefix: number;
  readonly nodes: readonly NodeAddresses[];
}

/** Name and addresses of a node. */
export interface NodeAddresses {
  readonly name: string;
  readonly address: string;
  /** Subnet of the node's pods. */
  readonly podSubnet: string;
}

/**
 * First and last candidate of the second byte. The range avoids the defaults of clouds, of other cluster tools and of
 * `npm start`.
 */
const FIRST = 160;
const LAST = 191;

/**
 * Returns the addresses of a cluster in the subnet `10.X.0.0/16`.
 * @param block second byte of all addresses
 * @param nodes number of nodes, at most 100
 */
export function clusterNetwork(block: number, nodes: number): ClusterNetwork {
  const at = (rest: string): string => `10.${block}.${rest}`;
  return {
    subnet: at('0.0/16'),
    hostAddress: at('255.254'),
    podSubnet: at('0.0/17'),
    serviceSubnet: at('128.0/18'),
    apiAddress: at('128.1'),
    dnsAddress: at('128.10'),
    nodePrefix: 24,
    nodes: Array.from({ length: nodes }, (_, index) => ({
      name: `node-${index + 1}`,
      address: at(`255.${index + 1}`),
      podSubnet: at(`${index + 1}.0/24`),
    })),
  };
}

/**
 * Returns the second byte of a `10.X.0.0/16` subnet that the machine does not use. The same seed gives the same subnet
 * as long as it is free.
 * @param seed any integer from 0
 * @param used addresses and routes of the machine, such as the output of `ip -4 route`
 * @throws RangeError if all candidates are in use
 */
export function freeBlock(seed: number, used: string): number {
  const count = LAST - FIRST + 1;
  for (let step = 0; step < count; step++) {
    const block = FIRST + ((seed + step) % count);
    if (isBlockFree(block, used)) return block;
  }
  throw new RangeError(`every subnet from 10.${FIRST}.0.0/16 to 10.${LAST}.0.0/16 is in use`);
}

/** Returns whether a machine uses no address that begins with `10.BLOCK.`. @param used see {@link freeBlock} */
export function isBlockFree(block: number, used: string): boolean {
  return !new RegExp(`(?<![\\d.])10\\.${block}\\.`).test(used);
}
