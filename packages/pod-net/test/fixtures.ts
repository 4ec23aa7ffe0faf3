import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Returns the kernel's entries for connections from or to a loopback port in any state, without listening sockets. */
export async function connectionsOf(port: number): Promise<readonly string[]> {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')} `;
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n');
  return lines.filter((line) => line.includes(hex) && !line.includes(' 0A '));
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];

/** Creates a key and a self-signed certificate. */
export function selfSigned(kind: readonly string[] = EC): { readonly key: string; readonly cert: string } {
  const directory = mkdtempSync(path.join(tmpdir(), 'pod-net-'));
  const [key, cert] = [path.join(directory, 'key'), path.join(directory, 'cert')];
  execFileSync('openssl', ['req', '-x509', '-nodes', ...kind, '-subj', '/CN=x', '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  });
  const pair = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(directory, { recursive: true });
  return pair;
}

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';

/** Server on loopback that runs a function of the test for each connection. */
export class LoopbackServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Number of connections accepted so far. */
  connections = 0;
  /** First bytes that each connection has sent, in the order of the connections. */
  readonly requests: string[] = [];

  constructor(serve: (socket: Socket, server: LoopbackServer) => void, onRequest = true) {
    this.#server = createServer((socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
      if (!onRequest) serve(socket, this);
      else {
        socket.once('data', (data) => {
          this.requests.push(data.toString('latin1'));
          serve(socket, this);
        });
      }
    });
  }

  async listening(host = '127.0.0.1'): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, host, resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
