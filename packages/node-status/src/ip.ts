/** An IP address in canonical form: an IPv6 address that maps an IPv4 one is that IPv4 address, as in Go. */
export interface IpAddress {
  readonly text: string;
  readonly family: 4 | 6;
}

/** Reads an address as Go's `ParseIPSloppy` does: leading zeros of IPv4 parts are decimal, a zone is refused. */
export function parseIp(text: string): IpAddress | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): IpAddress | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,10}$/.test(part) && Number(part) <= 255)) return undefined;
  return { text: parts.map(Number).join('.'), family: 4 };
}

function parseIpv6(text: string): IpAddress | undefined {
  const groups = groupsOf(text);
  if (groups === undefined) return undefined;
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6);
    return { text: [high >> 8, high & 255, low >> 8, low & 255].join('.'), family: 4 };
  }
  return { text: compress(groups), family: 6 };
}

/** The eight groups of an IPv6 address; `undefined` where it is none. */
function groupsOf(text: string): readonly number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [before, after] = halves.map((half) => halfOf(half));
  if (before === undefined || (halves.length === 2 && after === undefined)) return undefined;
  if (halves.length === 1) return before.length === 8 ? before : undefined;
  const missing = 8 - before.length - (after?.length ?? 0);
  return missing < 1 ? undefined : [...before, ...Array<number>(missing).fill(0), ...(after ?? [])];
}

function halfOf(half: string): readonly number[] | undefined {
  if (half === '') return [];
  const groups: number[] = [];
  const parts = half.split(':');
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
    } else if (index === parts.length - 1 && part.includes('.')) {
      const [a = 0, b = 0, c = 0, d = 0] = parseIpv4(part)?.text.split('.').map(Number) ?? [Number.NaN];
      if (Number.isNaN(a)) return undefined;
      groups.push(a * 256 + b, c * 256 + d);
    } else {
      return undefined;
    }
  }
  return groups;
}

/** RFC 5952: the longest run of two or more zero groups, the first of equals, becomes `::`. */
function compress(groups: readonly number[]): string {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  if (best.length < 2) return hex(groups);
  return `${hex(groups.slice(0, best.start))}::${hex(groups.slice(best.start + best.length))}`;
}

/** `0.0.0.0` or `::`: any address of the family. */
export function isUnspecified(ip: IpAddress): boolean {
  return ip.text === '0.0.0.0' || ip.text === '::';
}

export function isLoopback(ip: IpAddress): boolean {
  return ip.family === 4 ? ip.text.startsWith('127.') : ip.text === '::1';
}

export function isMulticast(ip: IpAddress): boolean {
  const first = Number.parseInt(ip.text, ip.family === 4 ? 10 : 16);
  return ip.family === 4 ? first >= 224 && first <= 239 : ip.text.includes(':') && first >= 0xff00;
}

export function isLinkLocal(ip: IpAddress): boolean {
  if (ip.family === 4) return ip.text.startsWith('169.254.');
  const first = Number.parseInt(ip.text, 16);
  return first >= 0xfe80 && first <= 0xfebf;
}

/** What Go calls a global unicast address: private ranges are among them. */
export function isGlobalUnicast(ip: IpAddress): boolean {
  const broadcast = ip.text === '255.255.255.255';
  return !broadcast && !isUnspecified(ip) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocal(ip);
}
