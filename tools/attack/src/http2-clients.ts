import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';
import type { AttackScene } from './attack.ts';
import { within } from './connections.ts';
import { hello, request } from './http2-frames.ts';
import { TOKEN } from './token.ts';

/** Opens HTTP/2 connections that each request a path with valid credentials. */
export async function http2Clients(
  { victim, connections }: AttackScene,
  count: number,
  path: string,
  windowBytes?: number,
): Promise<readonly TLSSocket[]> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const asking = Buffer.concat([hello(windowBytes), request(1, path, { headers })]);
  const clients = await Promise.all(
    Array.from({ length: count }, () => connections.connectTls(victim.port, { ALPNProtocols: ['h2'] })),
  );
  for (const client of clients) client.resume().write(asking);
  // The first bytes from the server are its settings.
  await Promise.all(clients.map((client) => within(once(client, 'data'), 1000)));
  return clients;
}
