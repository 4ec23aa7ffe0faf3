import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that the kernel gives to connections that begin on this machine: one of those may take a port that was found free
 * before a server listens there, or while it is started again.
 */
const FIRST = 10_000;
const COUNT = 20_000;

/** A TCP port of the loopback that nobody listens at right now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const server = createServer();
    try {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      server.close();
      await once(server, 'close');
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
