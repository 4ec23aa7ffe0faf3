import ipaddr from 'ipaddr.js';

/** An IP address in canonical form. As in Go, an IPv4-mapped IPv6 address is an IPv4 address. */
export interface IpAddress {
  readonly text: string;
  readonly family: 4 | 6;
}

/** Parses an address as Go's `ParseIPSloppy` does: leading zeros in IPv4 are decimal, and zones are rejected. */
export function parseIp(text: string): IpAddress | undefined {
  // IPv4 addresses are not parsed by the library, which also accepts octal and hexadecimal parts and fewer than four
  // parts.
  if (!text.includes(':')) return parseIpv4(text);
  if (text.includes('%') || !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.IPv6.parse(text);
  if (address.isIPv4MappedAddress()) return { text: address.toIPv4Address().toString(), family: 4 };
  return { text: address.toRFC5952String(), family: 6 };
}

function parseIpv4(text: string): IpAddress | undefined {
  if (!/^\d{1,10}(\.\d{1,10}){3}$/.test(text)) return undefined;
  const decimal = text.split('.').map(Number).join('.');
  return ipaddr.IPv4.isValidFourPartDecimal(decimal) ? { text: decimal, family: 4 } : undefined;
}

/** Reports whether an address is `0.0.0.0` or `::`, which stands for any address of its family. */
export function isUnspecified(ip: IpAddress): boolean {
  return ip.text === '0.0.0.0' || ip.text === '::';
}

export function isLoopback(ip: IpAddress): boolean {
  return rangeOf(ip) === 'loopback';
}

export function isMulticast(ip: IpAddress): boolean {
  return rangeOf(ip) === 'multicast';
}

export function isLinkLocal(ip: IpAddress): boolean {
  return rangeOf(ip) === 'linkLocal';
}

/** Returns whether Go considers an address a global unicast address. Private ranges are included. */
export function isGlobalUnicast(ip: IpAddress): boolean {
  const broadcast = ip.text === '255.255.255.255';
  return !broadcast && !isUnspecified(ip) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocal(ip);
}

function rangeOf({ text }: IpAddress): string {
  return ipaddr.parse(text).range();
}
