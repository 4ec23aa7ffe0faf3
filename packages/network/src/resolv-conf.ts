import { NetworkError } from './errors.ts';

/** Resolver settings; the CRI's `DNSConfig`. */
export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  /** Resolver options, for example `ndots:5` or `edns0`. */
  readonly options: readonly string[];
}

/** The size limit of the file: 10 MiB, as in upstream. */
export const MAX_RESOLV_CONF_BYTES: number = 10 << 20;

/**
 * Parses a resolv.conf: `nameserver` lines add up, the last `search` line counts, and a repeated option replaces the
 * earlier one (`pkg/kubelet/network/dns/dns.go`). Search domains lose their trailing dot; `.` is left out.
 * @throws NetworkError `InvalidResolvConf`, with the line number, if a `nameserver` line has no address
 */
export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  const options = new Map<string, string>();
  for (const [index, line] of text.split('\n').entries()) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === 'nameserver') {
      const [address] = values;
      if (address === undefined) {
        throw new NetworkError('InvalidResolvConf', `line ${index + 1}: nameserver list is empty`);
      }
      servers.push(address);
    } else if (keyword === 'search') {
      searches = values.filter((domain) => domain !== '.').map((domain) => domain.replace(/\.$/, ''));
    } else if (keyword === 'options') {
      for (const option of values) options.set(optionName(option), option);
    }
  }
  return { servers, searches, options: [...options.values()] };
}

/** Returns the part of an option before its colon. */
export function optionName(option: string): string {
  return option.replace(/:.*$/, '');
}
