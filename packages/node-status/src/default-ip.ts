import { type IpAddress, isGlobalUnicast, parseIp } from './ip.ts';

/** A network interface of the host that is up. */
export interface HostInterface {
  readonly name: string;
  readonly loopback: boolean;
  /** The addresses of the interface, without prefix lengths. */
  readonly addresses: readonly string[];
}

/** A default route: its interface and address family. */
export interface DefaultRoute {
  readonly interface: string;
  readonly family: 4 | 6;
}

/** The result of `os.networkInterfaces()`: Node.js lists only interfaces that are up and have a link. */
export type ListedInterfaces = Readonly<
  Record<string, readonly { readonly address: string; readonly internal: boolean }[] | undefined>
>;

/** Converts Node.js' list into {@link HostInterface}s. */
export function hostInterfaces(listed: ListedInterfaces): readonly HostInterface[] {
  return Object.entries(listed).map(([name, addresses = []]) => ({
    name,
    loopback: addresses.some(({ internal }) => internal),
    addresses: addresses.map(({ address }) => address.replace(/%.*$/, '')),
  }));
}

const ZERO_V6 = '0'.repeat(32);

/**
 * Parses the default routes in `/proc/net/route` and `/proc/net/ipv6_route`, in their order. As in upstream
 * (`apimachinery/pkg/util/net/interface.go`), an IPv6 default route must have a gateway.
 */
export function parseDefaultRoutes(ipv4: string, ipv6: string): readonly DefaultRoute[] {
  const table = (text: string): readonly string[][] => text.split('\n').map((line) => line.split(/\s+/));
  const v4 = table(ipv4).flatMap(([name, destination]): readonly DefaultRoute[] =>
    name !== undefined && destination === '00000000' ? [{ interface: name, family: 4 }] : [],
  );
  const v6 = table(ipv6).flatMap((fields): readonly DefaultRoute[] => {
    const [destination, , , , gateway = ZERO_V6, , , , , name] = fields;
    return destination === ZERO_V6 && gateway !== ZERO_V6 && name !== undefined ? [{ interface: name, family: 6 }] : [];
  });
  return [...v4, ...v6];
}

/**
 * Returns the address of the default route's interface, or of the loopback interface if the former has only link-local
 * addresses. The preferred IP family is searched first, then the other family. Returns `undefined` if neither family
 * has an address.
 *
 * @param routes `undefined` if the host has no route table; then any interface other than loopback is used
 */
export function defaultIp(
  interfaces: readonly HostInterface[],
  routes: readonly DefaultRoute[] | undefined,
  preferred: 4 | 6,
): IpAddress | undefined {
  const loopbacks = interfaces.filter(({ loopback }) => loopback);
  for (const family of preferred === 4 ? ([4, 6] as const) : ([6, 4] as const)) {
    const candidates =
      routes === undefined
        ? interfaces.filter(({ loopback }) => !loopback)
        : routes
            .filter((route) => route.family === family)
            .flatMap((route) => [...interfaces.filter(({ name }) => name === route.interface), ...loopbacks]);
    const found = candidates
      .flatMap(({ addresses }) => addresses.flatMap((text) => parseIp(text) ?? []))
      .find((ip) => ip.family === family && isGlobalUnicast(ip));
    if (found !== undefined) return found;
  }
  return undefined;
}
