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

/** What {@link readNetworkFacts} asks. */
export interface HostNetwork {
  readonly fs: Pick<FileSystem, 'readFile'>;
  /** `os.networkInterfaces`, or an `InterfaceList`'s. */
  readonly networkInterfaces: () => ListedInterfaces | Promise<ListedInterfaces>;
  /** The addresses that DNS and /etc/hosts have for a name; may fail where they have none. */
  readonly lookup: (name: string) => Promise<readonly string[]>;
}

/**
 * Asks the host what a node's addresses are chosen from. A name is looked up only where nothing else says the address.
 * @throws what reading the tables of routes throws, where they are there
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
    // A name that nobody knows is no fault: the default route's address serves.
    namedAddresses: isSaid ? [] : await host.lookup(nodeName).catch(() => []),
    defaultAddress: defaultIp(interfaces, await readRoutes(host.fs), first?.family ?? 4)?.text,
  };
}

async function readRoutes(fs: HostNetwork['fs']): Promise<readonly DefaultRoute[] | undefined> {
  const ipv4 = await textOf(fs, '/proc/net/route');
  if (ipv4 === undefined) return undefined;
  // A kernel without IPv6 has no such table.
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
