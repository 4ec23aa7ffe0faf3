import type { ListedInterfaces } from './default-ip.ts';
import { parseIp } from './ip.ts';

/** An address of this machine and its interface. '' if the interface is unknown. */
interface LocalAddress {
  readonly interface: string;
  readonly address: string;
}

/**
 * Matches an address that is the machine's own in the kernel's table of IPv4 routes; between the address and its
 * `LOCAL` entry, the table may list other routes.
 */
const OWN_IPV4 = /\|-- (\d+(?:\.\d+){3})\n(?: +\/\d+ .*\n)*? +\/32 host LOCAL$/gm;
const IPV6 = /^([0-9a-f]{32})(?: +[0-9a-f]+){4} +(\S+)$/gm;

/** Parses the addresses in `/proc/net/fib_trie`, which has no interface names, and `/proc/net/if_inet6`. */
export function localAddresses(fibTrie: string, ifInet6: string): readonly LocalAddress[] {
  const v4 = new Set(Array.from(fibTrie.matchAll(OWN_IPV4), ([, address]) => address));
  const v6 = Array.from(ifInet6.matchAll(IPV6), ([, digits, name]) => [digits?.replace(/.{4}(?=.)/g, '$&:'), name]);
  return [...Array.from(v4, (address) => [address, '']), ...v6].flatMap(([address, name]) => {
    const ip = parseIp(String(address));
    return ip === undefined ? [] : [{ interface: String(name), address: ip.text }];
  });
}

/**
 * Returns the list with the local addresses that it lacks: Node.js leaves out interfaces without a link, although these
 * interfaces have addresses.
 */
export function withLocalAddresses(listed: ListedInterfaces, local: readonly LocalAddress[]): ListedInterfaces {
  const known = new Set(Object.values(listed).flatMap((all = []) => all.map(({ address }) => parseIp(address)?.text)));
  const unlisted = local.filter(({ address }) => !known.has(address));
  const byName = Map.groupBy(unlisted, (one) => one.interface);
  const added = [...byName].map(([name, all]) => {
    const more = all.map(({ address }) => ({ address, internal: false }));
    return [name, [...(listed[name] ?? []), ...more]] as const;
  });
  return { ...listed, ...Object.fromEntries(added) };
}
