import { isIPv6 } from 'node:net';

/** The part of a Node object that contains the node's addresses. */
interface NodeAddresses {
  readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

/**
 * Returns the host IPs that pods show: the node's first address (internal addresses before external ones), and the
 * first address of the other family, if any (`GetNodeHostIPs` in `pkg/util/node`). The list is empty if the node has no
 * address.
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
