import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * Below the ports that the kernel gives to connections that begin on this machine: one of those may take a port that was found free
 * before a server listens there, or while it is started again.
 */
const FIRST = 10_000;
const COUNT = 20_000;

/** Ports of an address of this machine, the loopback's where absent, that nobody listens at; all different. */
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
