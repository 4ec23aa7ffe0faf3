import { globMatches } from './glob.ts';

/** A registry, or a part of one, as configurations and image names have it: without a scheme. */
interface RegistryUrl {
  readonly hostParts: readonly string[];
  readonly port: string;
  /** With its slash in front; empty where there is none. */
  readonly path: string;
  /** Host and port as they are. */
  readonly host: string;
}

const CONTROL_OR_SPACE = /[\0- \x7f-\x9f]/;

/**
 * Reads a URL without a scheme, as Go's `url.Parse` reads it behind `https://`.
 * @returns `undefined` where it is none
 */
export function parseRegistryUrl(text: string): RegistryUrl | undefined {
  if (CONTROL_OR_SPACE.test(text)) return undefined;
  const [, authority = '', path = ''] = /^([^/?#]*)([^?#]*)/.exec(text) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const [, name, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(host) ?? [];
  if (name === undefined) return undefined;
  // As upstream's has it: where there is no port, an IPv6 address keeps its brackets.
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

/** A host without a port, a glob, and what else may be in front of a path. */
const PLAIN_HOST = /^[\w.-]+(?![^/])/;

/**
 * Tells of registry URLs whether they mean a target: same port, as many parts of the host, each matching its glob, and a path that the
 * target's begins with. Most are of other hosts, which costs next to nothing: a pull secret may have 100,000 of them.
 * Source: `pkg/credentialprovider/keyring.go`, URLsMatch.
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

/** Whether one registry URL means a target. */
export function registryMatches(glob: string, target: string): boolean {
  return registryMatcher(target)(glob);
}
