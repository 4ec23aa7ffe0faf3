import { isIP } from 'node:net';

/** Valid addresses of clusterDNS, and the entries that are not addresses, with their positions in the list. */
export interface ClusterDns {
  readonly addresses: readonly string[];
  readonly invalid: readonly { readonly index: number; readonly text: string }[];
}

/**
 * Separates the addresses of clusterDNS from the entries that the Go kubelet ignores (`pkg/kubelet/kubelet.go`,
 * `netutils.ParseIPSloppy`). Numbers of an IPv4 address may have leading zeros; they are decimal numbers.
 */
export function readClusterDns(entries: readonly string[]): ClusterDns {
  const addresses: string[] = [];
  const invalid: { index: number; text: string }[] = [];
  for (const [index, text] of entries.entries()) {
    const plain = /^\d+(?:\.\d+){3}$/.test(text) ? text.replace(/\b0+(?=\d)/g, '') : text;
    if (isIP(plain) === 0 || plain.includes('%')) invalid.push({ index, text });
    else addresses.push(plain);
  }
  return { addresses, invalid };
}
