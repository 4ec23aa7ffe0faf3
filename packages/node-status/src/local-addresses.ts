import type { ListedInterfaces } from './default-ip.ts';
import { parseIp } from './ip.ts';

/** An address of this machine, and the interface that has it; '' where that is not told. */
interface LocalAddress {
  readonly interface: string;
  readonly address: string;
}

/** The addresses that the texts of `/proc/net/fib_trie`, which names no interfaces, and `/proc/net/if_inet6` have. */
export function localAddresses(fibTrie: string, ifInet6: string): readonly LocalAddress[] {
  const found = new Set<string>();
  let leaf = '';
  for (const line of fibTrie.split('\n')) {
    const [, address] = /\|-- (\d+(?:\.\d+){3})$/.exec(line) ?? [];
    if (address !== undefined) leaf = address;
    else if (line.trim() === '/32 host LOCAL') found.add(leaf);
  }
  const v6 = ifInet6.split('\n').flatMap((line): readonly LocalAddress[] => {
    const [, digits, name = ''] = /^([0-9a-f]{32})(?: +[0-9a-f]+){4} +(\S+)$/.exec(line) ?? [];
    return digits === undefined ? [] : [{ interface: name, address: digits.replace(/.{4}(?=.)/g, '$&:') }];
  });
  return [...[...found].map((address) => ({ interface: '', address })), ...v6];
}

/** What is listed, and the addresses beside it: Node leaves out interfaces without a link, which have theirs all the same. */
export function withLocalAddresses(listed: ListedInterfaces, local: readonly LocalAddress[]): ListedInterfaces {
  const known = new Set(Object.values(listed).flatMap((all = []) => all.map(({ address }) => canonical(address))));
  const unlisted = local.filter(({ address }) => !known.has(canonical(address)));
  const byName = Map.groupBy(unlisted, (one) => one.interface);
  const added = [...byName].map(([name, all]) => {
    const more = all.map(({ address }) => ({ address: canonical(address), internal: false }));
    return [name, [...(listed[name] ?? []), ...more]] as const;
  });
  return { ...listed, ...Object.fromEntries(added) };
}

/** Of IPv4 both have one form. */
function canonical(address: string): string {
  return address.includes(':') ? (parseIp(address)?.text ?? address) : address;
}
