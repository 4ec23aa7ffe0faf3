import { readFile } from 'node:fs/promises';
import { resolvConfOf } from '@node-agent/tools-standalone';

/** Maximum number of name servers that CoreDNS gets, the same as in the C library. */
const MAX_SERVERS = 3;

/**
 * Returns the IPv4 name servers in a resolver configuration that a network namespace can reach: those without a
 * loopback address.
 */
export function reachableServers(resolvConf: string): readonly string[] {
  const servers = [...resolvConf.matchAll(/^\s*nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/gm)].map(
    ([, server]) => server ?? '',
  );
  return servers.filter((server) => !server.startsWith('127.')).slice(0, MAX_SERVERS);
}

/** Reads the name servers of this machine that a network namespace can reach. */
export async function readNameServers(): Promise<readonly string[]> {
  const read = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
  const resolved = await read('/run/systemd/resolve/resolv.conf');
  const etcResolvConf = await read('/etc/resolv.conf');
  const file = resolvConfOf({ etcResolvConf, hasSystemdResolved: resolved !== '' });
  return reachableServers(file === '/etc/resolv.conf' ? etcResolvConf : resolved);
}
