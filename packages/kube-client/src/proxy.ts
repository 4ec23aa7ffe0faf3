import { BlockList, isIP } from 'node:net';

/** The environment variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PROXY_SCHEMES = ['http:', 'https:', 'socks5:', 'socks5h:'];

/** Returns what is wrong with a proxy URL, or `undefined`. */
export function proxyUrlProblem(proxyUrl: string): string | undefined {
  const url = URL.parse(proxyUrl);
  if (url === null) return 'is no URL';
  return PROXY_SCHEMES.includes(url.protocol) ? undefined : `expected http, https or socks5, got ${url.protocol}//`;
}

/**
 * Returns the proxy for a server: `proxyUrl` of the cluster, otherwise the proxy of `HTTPS_PROXY`, `HTTP_PROXY` and
 * `NO_PROXY` (in either case), as Go's `http.ProxyFromEnvironment` reads them. Returns `undefined` if no proxy is used.
 * Loopback addresses never use the environment's proxy.
 */
export function proxyFor(server: URL, proxyUrl: string | undefined, environment: Environment): URL | undefined {
  if (proxyUrl !== undefined) return new URL(proxyUrl);
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const value = environment[name] || environment[name.toLowerCase()];
  if (!value) return undefined;
  const host = server.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  if (isLoopback(host) || isExcluded(host, port, environment.NO_PROXY || environment.no_proxy || '')) return undefined;
  return URL.parse(value.includes('://') ? value : `http://${value}`) ?? undefined;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isExcluded(host: string, port: string, noProxy: string): boolean {
  return noProxy.split(',').some((entry) => matches(host, port, entry.trim().toLowerCase()));
}

function matches(host: string, port: string, entry: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isInSubnet(host, entry);
  const [, name = '', wanted] = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (wanted !== undefined && wanted !== port) return false;
  if (isIP(name) !== 0) return host === name;
  const domain = name.replace(/^\*/, '');
  if (domain.startsWith('.')) return host.toLowerCase().endsWith(domain);
  return host.toLowerCase() === domain || host.toLowerCase().endsWith(`.${domain}`);
}

function isInSubnet(host: string, entry: string): boolean {
  const [net = '', bits = ''] = entry.split('/');
  const family = isIP(net);
  if (family === 0 || family !== isIP(host) || !/^\d{1,3}$/.test(bits)) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(net, Number(bits), kind);
  return list.check(host, kind);
}
