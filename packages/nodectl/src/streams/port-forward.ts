import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { SpdyConnection, type SpdyStream } from '@node-agent/spdy';
import { errorText } from '@node-agent/telemetry';
import { CtlError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Upgraded } from '../kubelet-client.ts';
import type { PortPair } from '../options.ts';

/** The protocol of a port-forward (`k8s.io/client-go/tools/portforward`). */
export const FORWARD_PROTOCOLS: readonly string[] = ['portforward.k8s.io'];

/** Callbacks of {@link forwardPorts}. */
export interface ForwardListener {
  /** Called when a local port is open. */
  onListening(local: { readonly address: string; readonly port: number }, remote: number): void;
  /** Called when a connection has failed. All other connections continue. */
  onProblem(message: string): void;
}

/**
 * Opens local ports and carries each connection to a port of a pod, until the signal is aborted or the kubelet ends the
 * connection.
 * @throws CtlError if a local port cannot be opened, or the kubelet has ended the connection
 */
export async function forwardPorts(
  upgraded: Upgraded,
  { ports, address }: { readonly ports: readonly PortPair[]; readonly address: string },
  listener: ForwardListener,
  signal: AbortSignal,
): Promise<void> {
  const connection = new SpdyConnection(upgraded.socket, { role: 'client', head: upgraded.head });
  const servers: Server[] = [];
  const open = new Set<Socket>();
  let requests = 0;
  try {
    for (const { local, remote } of ports) {
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        open.add(socket);
        socket.once('close', () => open.delete(socket));
        void carry(connection, socket, { port: remote, requestId: requests++ }, listener);
      });
      servers.push(server);
      server.listen(local, address);
      await once(server, 'listening').catch((error: unknown) => {
        throw new CtlError(`listen on ${address}:${local}: ${errorText(error)}`, exitCodes.failed, { cause: error });
      });
      const bound = server.address();
      if (bound !== null && typeof bound === 'object') listener.onListening(bound, remote);
    }
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([connection.closed, aborted]);
    if (!signal.aborted) throw new CtlError('port-forward: the kubelet ended the connection', exitCodes.unreachable);
  } finally {
    for (const server of servers) server.close();
    for (const socket of open) socket.destroy();
    connection.destroy();
  }
}

/** Carries one local connection over a pair of streams: errors and data. */
async function carry(
  connection: SpdyConnection,
  socket: Socket,
  { port, requestId }: { readonly port: number; readonly requestId: number },
  { onProblem }: ForwardListener,
): Promise<void> {
  socket.on('error', () => {});
  const headers = { port: String(port), requestid: String(requestId) };
  let data: SpdyStream | undefined;
  try {
    const error = await connection.open({ streamtype: 'error', ...headers });
    error.end();
    let said = '';
    error.on('data', (chunk: Buffer) => {
      if (said.length < 4096) said += chunk.toString();
    });
    error.once('end', () => {
      if (said !== '') {
        onProblem(`port ${port}: ${said}`);
        socket.destroy();
      }
    });
    const stream = await connection.open({ streamtype: 'data', ...headers });
    data = stream;
    socket.once('close', () => stream.destroy());
    stream.once('close', () => socket.end());
    socket.pipe(stream);
    stream.pipe(socket);
  } catch (problem) {
    onProblem(`port ${port}: ${errorText(problem)}`);
    data?.destroy();
    socket.destroy();
  }
}
