import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * First port of the range. The range is below the kernel's ephemeral ports: an outgoing connection could take an
 * ephemeral port before the server listens on it, or while the server restarts.
 */
const FIRST = 10_000;
const COUNT = 20_000;

/** Returns distinct ports of a local address on which no server listens. Default address: the loopback address. */
export async function freePorts(count: number, address: string = '127.0.0.1'): Promise<readonly number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(address)));
  const ports = servers.map((server) => {
    const bound = server.address();
    return typeof bound === 'object' && bound !== null ? bound.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function listen(address: string): Promise<Server> {
  for (;;) {
    const server = createServer();
    try {
      server.listen(FIRST + Math.floor(Math.random() * COUNT), address);
      await once(server, 'listening');
      return server;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
