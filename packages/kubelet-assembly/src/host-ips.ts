import { isIPv6 } from 'node:net';

/** What of a node tells its addresses: a Node as the API has it fits. */
interface NodeAddresses {
  readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

/**
 * The addresses that a node's pods show as their host's: its first one, internal ones before external ones, and the first
 * of the other family where it has one (`GetNodeHostIPs` in `pkg/util/node`). None where the node has none.
 */
export function hostIpsOf(node: NodeAddresses): readonly string[] {
  const addresses = node.status?.addresses ?? [];
  const all = ['InternalIP', 'ExternalIP'].flatMap((wanted) =>
    addresses.filter(({ type }) => type === wanted).map(({ address }) => address),
  );
  const [first] = all;
  if (first === undefined) return [];
  const other = all.find((ip) => isIPv6(ip) !== isIPv6(first));
  return other === undefined ? [first] : [first, other];
}
