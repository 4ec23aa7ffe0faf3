import type { DnsConfig } from './resolv-conf.ts';

const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
/** The maximum length of a DNS name. */
const MAX_SEARCH_CHARACTERS = 253;
const MAX_SEARCH_LIST_CHARACTERS = 2048;
const CLUSTER_SEARCHES = 3;

/**
 * Removes the name servers and search domains that exceed the limits of resolvers. Returns upstream's warning for each
 * shortened list.
 */
export function fitDnsLimits(config: DnsConfig): { readonly config: DnsConfig; readonly warnings: readonly string[] } {
  const servers = config.servers.slice(0, MAX_SERVERS);
  const searches = fitSearches(config.searches);
  const warnings: string[] = [];
  if (servers.length < config.servers.length) {
    warnings.push(
      'Nameserver limits were exceeded, some nameservers have been omitted, ' +
        `the applied nameserver line is: ${servers.join(' ')}`,
    );
  }
  if (searches.length < config.searches.length) {
    warnings.push(
      'Search Line limits were exceeded, some search paths have been omitted, ' +
        `the applied search line is: ${searches.join(' ')}`,
    );
  }
  return { config: { ...config, servers, searches }, warnings };
}

function fitSearches(all: readonly string[]): readonly string[] {
  // glibc 2.28 aborts the process if a name exceeds 255 characters.
  const searches = all.slice(0, MAX_SEARCHES).filter((domain) => domain.length <= MAX_SEARCH_CHARACTERS);
  while (searches.join(' ').length > MAX_SEARCH_LIST_CHARACTERS) searches.pop();
  return searches;
}

/**
 * Returns what is wrong with the node's resolver file, in upstream's words, or `undefined` if pods can use all of it.
 */
export function resolvConfProblem(
  path: string,
  searches: readonly string[],
  clusterDomain: string,
): string | undefined {
  const maxSearches = MAX_SEARCHES - (clusterDomain === '' ? 0 : CLUSTER_SEARCHES);
  if (searches.length > maxSearches) {
    return `Resolv.conf file '${path}' contains search line consisting of more than ${maxSearches} domains!`;
  }
  if (searches.some((domain) => domain.length > MAX_SEARCH_CHARACTERS)) {
    return `Resolv.conf file ${JSON.stringify(path)} contains a search path which length is more than allowed ${MAX_SEARCH_CHARACTERS} chars!`;
  }
  if (searches.join(' ').length > MAX_SEARCH_LIST_CHARACTERS) {
    return `Resolv.conf file '${path}' contains search line which length is more than allowed ${MAX_SEARCH_LIST_CHARACTERS} chars!`;
  }
  return undefined;
}
