import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { RuntimeStreams } from '../core/runtime-streams.ts';
import type { StreamKind, StreamRequest } from '../core/stream-requests.ts';
import { type Refused, spdyHandshake, webSocketHandshake } from './handshake.ts';
import { COMMAND_PROTOCOLS, FORWARD_PROTOCOLS } from './protocols.ts';
import { serveCommandBySpdy, serveForwardsBySpdy } from './spdy-endpoint.ts';
import { BreakingSocket, StreamingFaults } from './streaming-fault.ts';
import { serveCommandByWebSocket, serveForwardsByWebSocket } from './web-socket-endpoint.ts';

/** Options of a {@link FakeStreamingServer}. */
export interface FakeStreamingServerOptions {
  /** Port on the loopback interface. Default: a free port. */
  readonly port?: number;
  /** Whether the server supports `v5.channel.k8s.io` over WebSocket, which containerd does not. Default: false. */
  readonly webSocketV5?: boolean;
}

/** Maximum size of a client's WebSocket message, in bytes. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/**
 * Serves exec, attach and port-forward of a `FakeRuntime` as containerd does: over SPDY/3.1 and WebSocket, with URLs
 * that are valid once and for one minute (`k8s.io/cri-streaming/pkg/streaming`).
 */
export class FakeStreamingServer {
  /** The faults to inject. */
  readonly faults: StreamingFaults = new StreamingFaults();
  readonly #runtime: RuntimeStreams;
  readonly #options: FakeStreamingServerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #webSockets = new WebSocketServer({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES },
    handleProtocols: (offered) => [...offered].find((protocol) => this.#webSocketProtocols.includes(protocol)) ?? false,
  });
  #server: Server | undefined;
  #stopListening: () => void = () => {};

  constructor(
    { runtime }: { readonly runtime: { readonly streams: RuntimeStreams } },
    options: FakeStreamingServerOptions = {},
  ) {
    this.#runtime = runtime.streams;
    this.#options = options;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  /**
   * Starts listening, and makes the runtime return URLs of this server.
   * @throws Error if the port is in use
   */
  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const refusal = this.#refusal(request);
      response.writeHead(refusal.status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(refusal.body);
    });
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => {});
      this.#upgrade(request, socket, head);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#options.port ?? 0, '127.0.0.1', resolve);
    });
    const address = server.address();
    this.#server = server;
    this.#runtime.baseUrl = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
    this.#stopListening = this.#runtime.onCrash(() => this.#drop());
  }

  /** Breaks all streams and stops listening. Commands that were started keep running. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    this.#stopListening();
    const closed = new Promise((resolve) => server.close(resolve));
    this.#drop();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #webSocketProtocols(): readonly string[] {
    const known = ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', 'channel.k8s.io', 'base64.channel.k8s.io'];
    return this.#options.webSocketV5 === true ? ['v5.channel.k8s.io', ...known] : known;
  }

  #drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #refusal(request: IncomingMessage): { readonly status: number; readonly body: string } {
    const place = placeOf(request);
    if (place === undefined || this.#runtime.consume(place.kind, place.token) === undefined) return NOT_FOUND;
    return spdyHandshake(request, protocolsOf(place.kind)).refusal ?? { status: 400, body: 'unable to upgrade\n' };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const place = placeOf(request);
    const fault = place && this.faults.next(place.kind);
    switch (fault?.kind) {
      case 'hang':
        socket.resume();
        return;
      case 'close':
        socket.destroy();
        return;
      case 'nonsense':
        socket.end('this is not HTTP\r\n\r\n');
        return;
      case 'refuse':
        refuse(socket, fault.status, fault.body ?? 'injected fault');
        return;
      case 'redirect':
        refuse(socket, 302, '', [['Location', fault.location]]);
        return;
      case 'noise':
        socket.resume();
        socket.end(
          `${SWITCHING}Upgrade: ${request.headers.upgrade}\r\n\r\n${'\u0000\u00ff\u0080noise'.repeat(64)}`,
          'latin1',
        );
        return;
      default:
    }
    const asked = place && this.#runtime.consume(place.kind, place.token);
    if (asked === undefined) {
      refuse(socket, NOT_FOUND.status, NOT_FOUND.body);
      return;
    }
    const taken = fault?.kind === 'break' ? new BreakingSocket(socket, fault.afterBytes) : socket;
    if (request.headers.upgrade?.toLowerCase() === 'websocket') this.#byWebSocket(request, taken, head, asked);
    else this.#bySpdy(request, taken, head, asked);
  }

  #byWebSocket(request: IncomingMessage, socket: Duplex, head: Buffer, asked: StreamRequest): void {
    const protocols =
      asked.kind === 'portforward'
        ? this.#webSocketProtocols.filter((protocol) => protocol.startsWith('v4.'))
        : this.#webSocketProtocols;
    const { refusal } = webSocketHandshake(request, protocols);
    if (refusal !== undefined) {
      refuse(socket, refusal.status, refusal.body);
      return;
    }
    this.#webSockets.handleUpgrade(request, socket, head, (connection) => {
      if (asked.kind === 'portforward') void serveForwardsByWebSocket(this.#runtime, asked.request, connection);
      else void serveCommandByWebSocket(this.#runtime, asked, connection);
    });
  }

  #bySpdy(request: IncomingMessage, socket: Duplex, head: Buffer, asked: StreamRequest): void {
    const handshake = spdyHandshake(request, protocolsOf(asked.kind));
    if (handshake.refusal !== undefined) {
      refuse(socket, handshake.refusal.status, handshake.refusal.body, handshake.refusal.headers);
      return;
    }
    const { protocol } = handshake;
    socket.write(`${SWITCHING}Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`);
    const upgrade = { socket, head, protocol };
    if (asked.kind === 'portforward') void serveForwardsBySpdy(this.#runtime, asked.request.podSandboxId, upgrade);
    else void serveCommandBySpdy(this.#runtime, asked, upgrade);
  }
}

const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n';
const NOT_FOUND = { status: 404, body: '404 page not found\n' };

function placeOf({
  method,
  url = '',
}: IncomingMessage): { readonly kind: StreamKind; readonly token: string } | undefined {
  const [, kind, token] = /^\/(exec|attach|portforward)\/([^/?]+)(?:\?.*)?$/.exec(url) ?? [];
  if (token === undefined || (method !== 'GET' && method !== 'POST')) return undefined;
  return kind === 'exec' || kind === 'attach' || kind === 'portforward' ? { kind, token } : undefined;
}

function protocolsOf(kind: StreamKind): readonly string[] {
  return kind === 'portforward' ? FORWARD_PROTOCOLS : COMMAND_PROTOCOLS;
}

function refuse(socket: Duplex, status: number, body: string, headers: Refused['headers'] = []): void {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  socket.resume();
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}
