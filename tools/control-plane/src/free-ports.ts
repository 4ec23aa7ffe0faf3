import { createServer, type Server } from 'node:net';

/** Ports of an address of this machine that nobody listens at; all different. */
export async function freePorts(count: number, address: string): Promise<readonly number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(address)));
  const ports = servers.map((server) => {
    const bound = server.address();
    return typeof bound === 'object' && bound !== null ? bound.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function listen(address: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, address, () => resolve(server));
  });
}
