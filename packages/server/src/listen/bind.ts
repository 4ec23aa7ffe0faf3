import { once } from 'node:events';
import type { Server } from 'node:net';
import { errorText } from '@node-agent/telemetry';
import { ServerError } from '../errors.ts';
import type { ListenAddress } from './http-listener.ts';

/** Errors of a machine without IPv6: the kernel lacks IPv6 sockets or addresses. */
const NO_IPV6: ReadonlySet<unknown> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL', 'EPROTONOSUPPORT']);

/**
 * Returns the addresses to try for a configured address, the preferred one first. `0.0.0.0` means all addresses of both
 * families, as in Go, whose `net.Listen` opens a dual-stack socket for it. Otherwise the API server could not reach the
 * kubelet in a cluster with IPv6 node addresses. The second address is used on machines without IPv6.
 */
export function bindAddresses(address: string): readonly string[] {
  return address === '0.0.0.0' ? ['::', '0.0.0.0'] : [address];
}

/** Binds a server. @throws ServerError `ListenFailed` naming the configured address */
export async function bind(server: Server, { address, port }: ListenAddress): Promise<void> {
  const [host = address, ...others] = bindAddresses(address);
  try {
    try {
      await listen(server, host, port);
    } catch (err) {
      const [other] = others;
      if (other === undefined || !isNoIpv6(err)) throw err;
      await listen(server, other, port);
    }
  } catch (err) {
    throw new ServerError('ListenFailed', `cannot listen on ${address}:${port}: ${errorText(err)}`, err);
  }
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port });
  await once(server, 'listening');
}

function isNoIpv6(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NO_IPV6.has(error.code);
}
