import { isIP } from 'node:net';
import { type CertificateSubject, canonicalIp, nodeSubject } from './subject.ts';

/** An address of a node, as in `status.addresses`. */
export interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

/**
 * Returns the subject of a node's serving certificate: its name and all its addresses, sorted
 * (`pkg/kubelet/certificate/kubelet.go`).
 * @param allowDnsOnly the feature gate AllowDNSOnlyNodeCSR
 * @returns `undefined` while no IP address is known (with `allowDnsOnly`: neither IP address nor DNS name), because no
 * signer would accept the request
 */
export function servingSubject(
  nodeName: string,
  addresses: readonly NodeAddress[],
  allowDnsOnly = false,
): CertificateSubject | undefined {
  const dnsNames = new Set<string>();
  const ipAddresses = new Set<string>();
  for (const { type, address } of addresses) {
    if (address === '') continue;
    const isAddress = isIP(address) !== 0;
    if (type === 'ExternalDNS' || type === 'InternalDNS') dnsNames.add(address);
    else if (isAddress && ['Hostname', 'ExternalIP', 'InternalIP'].includes(type))
      ipAddresses.add(canonicalIp(address));
    else if (type === 'Hostname') dnsNames.add(address);
  }
  if (ipAddresses.size === 0 && !(allowDnsOnly && dnsNames.size > 0)) return undefined;
  return { ...nodeSubject(nodeName), dnsNames: [...dnsNames].sort(), ipAddresses: [...ipAddresses].sort() };
}
