import { errorCode, type FileSystem } from '@node-agent/host';
import type { NetworkFacts } from './addresses.ts';
import {
  type DefaultRoute,
  defaultIp,
  hostInterfaces,
  type ListedInterfaces,
  parseDefaultRoutes,
} from './default-ip.ts';
import { type IpAddress, isUnspecified, parseIp } from './ip.ts';

/** The functions and files from which {@link readNetworkFacts} reads. */
export interface HostNetwork {
  readonly fs: Pick<FileSystem, 'readFile'>;
  /** `os.networkInterfaces`, or the method of an `InterfaceList`. */
  readonly networkInterfaces: () => ListedInterfaces | Promise<ListedInterfaces>;
  /** Returns the addresses of a name in DNS and /etc/hosts. May reject if there are none. */
  readonly lookup: (name: string) => Promise<readonly string[]>;
}

/**
 * Reads the network of the host, from which a node's addresses are chosen. The node's name is looked up only if no
 * other setting provides the address.
 * @throws any error of reading an existing route table
 */
export async function readNetworkFacts(
  host: HostNetwork,
  settings: { readonly nodeName: string; readonly hostname: string; readonly nodeIps: readonly IpAddress[] },
): Promise<NetworkFacts> {
  const { nodeName, hostname, nodeIps } = settings;
  const [first] = nodeIps;
  const interfaces = hostInterfaces(await host.networkInterfaces());
  const isSaid = (first !== undefined && !isUnspecified(first)) || parseIp(hostname) !== undefined;
  return {
    hostAddresses: interfaces.flatMap(({ addresses }) => addresses),
    // A failed lookup is not an error: the default route's address is used instead.
    namedAddresses: isSaid ? [] : await host.lookup(nodeName).catch(() => []),
    defaultAddress: defaultIp(interfaces, await readRoutes(host.fs), first?.family ?? 4)?.text,
  };
}

async function readRoutes(fs: HostNetwork['fs']): Promise<readonly DefaultRoute[] | undefined> {
  const ipv4 = await textOf(fs, '/proc/net/route');
  if (ipv4 === undefined) return undefined;
  // A kernel without IPv6 does not have this file.
  return parseDefaultRoutes(ipv4, (await textOf(fs, '/proc/net/ipv6_route')) ?? '');
}

async function textOf(fs: HostNetwork['fs'], path: string): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await fs.readFile(path));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
