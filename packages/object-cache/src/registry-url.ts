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

/**
 * Reads a URL without a scheme, as Go's `url.Parse` reads it behind `https://`.
 * @returns `undefined` where it is none
 */
export function parseRegistryUrl(text: string): RegistryUrl | undefined {
  if (/[\p{Cc} ]/u.test(text)) return undefined;
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

/**
 * Whether a registry URL means a target: same port, as many parts of the host, each matching its glob, and a path that the
 * target's begins with. Source: `pkg/credentialprovider/keyring.go`, URLsMatch.
 */
export function registryMatches(glob: string, target: string): boolean {
  const [pattern, url] = [parseRegistryUrl(glob), parseRegistryUrl(target)];
  if (pattern === undefined || url === undefined) return false;
  if (pattern.port !== url.port || pattern.hostParts.length !== url.hostParts.length) return false;
  if (!url.path.startsWith(pattern.path)) return false;
  return pattern.hostParts.every((part, index) => globMatches(part, url.hostParts[index] ?? ''));
}
