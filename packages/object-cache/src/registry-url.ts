import { globMatches } from './glob.ts';

/** A registry or a part of one, without a scheme, as in configurations and image names. */
interface RegistryUrl {
  readonly hostParts: readonly string[];
  readonly port: string;
  /** Path with its leading slash; empty if there is no path. */
  readonly path: string;
  /** Host and port, unchanged. */
  readonly host: string;
}

const CONTROL_OR_SPACE = /[\0- \x7f-\x9f]/;

/**
 * Parses a URL without a scheme, as Go's `url.Parse` does after `https://`.
 * @returns `undefined` if it is invalid
 */
export function parseRegistryUrl(text: string): RegistryUrl | undefined {
  if (CONTROL_OR_SPACE.test(text)) return undefined;
  const [, authority = '', path = ''] = /^([^/?#]*)([^?#]*)/.exec(text) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const [, name, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(host) ?? [];
  if (name === undefined) return undefined;
  // As in upstream, an IPv6 address without a port keeps its brackets.
  const bare = port === undefined ? name : name.replace(/^\[(.*)\]$/, '$1');
  const decoded = percentDecoded(path);
  if (decoded === undefined) return undefined;
  return { hostParts: bare.split('.'), port: port ?? '', path: decoded, host };
}

function percentDecoded(path: string): string | undefined {
  if (/%(?![0-9A-Fa-f]{2})/.test(path)) return undefined;
  return path.includes('%') ? Buffer.from(path.replace(/%([0-9A-Fa-f]{2})/g, byteOf), 'latin1').toString() : path;
}

function byteOf(_match: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

/** Matches a host without port and globs at the start of a text. */
const PLAIN_HOST = /^[\w.-]+(?![^/])/;

/**
 * Returns a predicate that tells whether a registry URL matches a target: the same port, the same number of host parts,
 * each matching its glob, and a path that is a prefix of the target's. Registries of other hosts are rejected cheaply,
 * because a pull secret may have 100,000 registries. Source: `pkg/credentialprovider/keyring.go`, URLsMatch.
 */
export function registryMatcher(target: string): (glob: string) => boolean {
  const url = parseRegistryUrl(target);
  if (url === undefined) return () => false;
  const { hostParts, port, path } = url;
  const plainHost = hostParts.join('.');
  return (glob) => {
    const [host] = PLAIN_HOST.exec(glob) ?? [];
    if (host !== undefined && host !== plainHost) return false;
    const pattern = parseRegistryUrl(glob);
    if (pattern === undefined) return false;
    if (pattern.port !== port || pattern.hostParts.length !== hostParts.length) return false;
    if (!path.startsWith(pattern.path)) return false;
    return pattern.hostParts.every((part, index) => globMatches(part, hostParts[index] ?? ''));
  };
}

/** Returns whether one registry URL matches a target. */
export function registryMatches(glob: string, target: string): boolean {
  return registryMatcher(target)(glob);
}
