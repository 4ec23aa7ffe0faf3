import { type IncomingMessage, request as plainRequest } from 'node:http';
import { type RequestOptions, request as secureRequest } from 'node:https';
import type { Duplex, Readable, Writable } from 'node:stream';
import { brand, hasBrand } from '@node-agent/async';
import { SpdyConnection } from '@node-agent/spdy';
import { createWebSocketStream, WebSocket } from 'ws';
import type { TerminalSize } from '../process/terminal.ts';
import { Channels } from './channels.ts';
import {
  COMMAND_CHANNELS,
  channels as numbers,
  PROTOCOL_HEADER,
  streamHeaders,
  tellsExitCode,
  tellsSize,
} from './protocols.ts';
import type { StreamStatus } from './stream-status.ts';

const BRAND = '@node-agent/fake-cri.StreamRefused';

/** Thrown when the server does not switch to the streaming protocol. */
export class StreamRefused extends Error {
  static {
    brand(StreamRefused, BRAND);
  }

  override readonly name = 'StreamRefused';
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    super(`refused with ${status}: ${body}`);
    this.status = status;
    this.body = body;
  }

  /** Reports whether a value is a `StreamRefused`, of this or another copy of the package. */
  static is(value: unknown): value is StreamRefused {
    return hasBrand(value, BRAND);
  }
}

/** Options of a client's request, in addition to the URL. */
export interface StreamClientOptions extends Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized'> {
  /** Offered protocols in order of preference. */
  readonly protocols: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** The streams of a command that a client requests. */
export interface CommandStreamsWanted {
  readonly stdin?: boolean;
  readonly stdout?: boolean;
  readonly stderr?: boolean;
  readonly tty?: boolean;
}

/** A command that runs at the server. */
export interface RemoteCommand {
  /** The negotiated protocol. */
  readonly protocol: string;
  readonly stdin: Writable | undefined;
  readonly stdout: Readable | undefined;
  readonly stderr: Readable | undefined;
  resize(size: TerminalSize): void;
  /**
   * Outcome of the command. Protocols before v4 send no status object: any text on the error stream then means that the
   * command failed.
   * @throws if the connection ended before the outcome was received
   */
  readonly outcome: Promise<StreamStatus>;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  /** Closes the connection. */
  destroy(): void;
}

/** A connection to a forwarded port, and a stream with its error message. */
export interface RemotePort {
  readonly data: Duplex;
  readonly error: Readable;
}

/** Forwarded ports over one connection. */
export interface RemotePorts {
  connect(port: number): Promise<RemotePort>;
  readonly closed: Promise<void>;
  destroy(): void;
}

/**
 * Executes or attaches to a command over SPDY/3.1, as the API server and older clients do.
 * @throws StreamRefused if the server refuses; the connection's error if the connection breaks
 */
export async function commandOverSpdy(
  url: string,
  wanted: CommandStreamsWanted,
  options: StreamClientOptions,
): Promise<RemoteCommand> {
  const { socket, head, response } = await upgraded(url, options);
  const connection = new SpdyConnection(socket, { role: 'client', head });
  const protocol = String(response.headers[PROTOCOL_HEADER.toLowerCase()] ?? '');
  const open = (type: string) => connection.open({ [streamHeaders.type]: type });
  const resizes = wanted.tty === true && tellsSize(protocol);
  const [error, stdin, stdout, stderr, resize] = await Promise.all([
    open('error'),
    wanted.stdin ? open('stdin') : undefined,
    wanted.stdout ? open('stdout') : undefined,
    wanted.stderr ? open('stderr') : undefined,
    resizes ? open('resize') : undefined,
  ]);
  // The client sends nothing on these streams. kubectl's client ends them too.
  for (const stream of [error, stdout, stderr]) stream?.end();
  return {
    ...{ protocol, stdin, stdout, stderr, closed: connection.closed },
    resize: (size) => void resize?.write(sizeText(size)),
    outcome: outcomeOf(error, protocol),
    destroy: () => connection.destroy(),
  };
}

/**
 * Executes or attaches to a command over WebSocket.
 * @throws StreamRefused if the server refuses; the connection's error if the connection breaks
 */
export async function commandOverWebSocket(
  url: string,
  wanted: CommandStreamsWanted,
  options: StreamClientOptions,
): Promise<RemoteCommand> {
  const { socket, opened } = webSocket(url, options);
  // The first messages may arrive together with the response, so the channels are created before the messages are read.
  const made = Promise.withResolvers<Channels>();
  socket.on('open', () => made.resolve(new Channels(socket, socket.protocol, COMMAND_CHANNELS)));
  opened.catch(made.reject);
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  const channels = await made.promise;
  const { protocol } = socket;
  return {
    ...{ protocol, closed },
    stdin: wanted.stdin ? channels.channel(numbers.stdin) : undefined,
    stdout: wanted.stdout ? channels.channel(numbers.stdout) : undefined,
    stderr: wanted.stderr ? channels.channel(numbers.stderr) : undefined,
    resize: (size) => void channels.channel(numbers.resize).write(sizeText(size)),
    outcome: outcomeOf(channels.channel(numbers.error), protocol),
    destroy: () => socket.terminate(),
  };
}

/**
 * Opens port forwarding over SPDY/3.1.
 * @throws StreamRefused if the server refuses; the connection's error if the connection breaks
 */
export async function portsOverSpdy(url: string, options: StreamClientOptions): Promise<RemotePorts> {
  const { socket, head } = await upgraded(url, options);
  return portsOf(new SpdyConnection(socket, { role: 'client', head }));
}

/**
 * Opens port forwarding over SPDY/3.1 tunnelled through WebSocket (KEP-4006), with the protocol
 * `SPDY/3.1+portforward.k8s.io`.
 * @throws StreamRefused if the server refuses; the connection's error if the connection breaks
 */
export async function portsOverWebSocket(url: string, options: StreamClientOptions): Promise<RemotePorts> {
  const { protocols, headers } = options;
  // The `ws` library rejects protocol names with a slash, so the header is set directly.
  const offered = { ...headers, 'Sec-WebSocket-Protocol': protocols.join(', ') };
  const { socket, opened } = webSocket(url, { ...options, protocols: [], headers: offered });
  let protocol: string | undefined;
  socket.on('upgrade', ({ headers: answered }) => {
    protocol = answered['sec-websocket-protocol'];
    delete answered['sec-websocket-protocol'];
  });
  await opened;
  if (protocol === undefined || !protocols.includes(protocol)) {
    socket.terminate();
    throw new StreamRefused(101, `negotiated the protocol ${protocol}`);
  }
  return portsOf(new SpdyConnection(createWebSocketStream(socket), { role: 'client' }));
}

function portsOf(connection: SpdyConnection): RemotePorts {
  let requests = 0;
  return {
    async connect(port) {
      const headers = { [streamHeaders.port]: String(port), [streamHeaders.requestId]: String(requests++) };
      const error = await connection.open({ ...headers, [streamHeaders.type]: 'error' });
      error.end();
      return { error, data: await connection.open({ ...headers, [streamHeaders.type]: 'data' }) };
    },
    closed: connection.closed,
    destroy: () => connection.destroy(),
  };
}

function webSocket(
  url: string,
  { protocols, ...options }: StreamClientOptions,
): { readonly socket: WebSocket; readonly opened: Promise<void> } {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), [...protocols], { ...options, perMessageDeflate: false });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on('error', reject);
  socket.on('open', resolve);
  socket.on('unexpected-response', (request, response) => {
    bodyOf(response)
      .then((body) => reject(new StreamRefused(response.statusCode ?? 0, body)), reject)
      .finally(() => request.destroy());
  });
  return { socket, opened: promise };
}

interface Upgraded {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly response: IncomingMessage;
}

function upgraded(url: string, { protocols, headers = {}, ...options }: StreamClientOptions): Promise<Upgraded> {
  return new Promise((resolve, reject) => {
    const asked = (url.startsWith('https:') ? secureRequest : plainRequest)(url, {
      ...{ ...options, method: 'POST', agent: false },
      headers: {
        ...headers,
        Connection: 'Upgrade',
        Upgrade: 'SPDY/3.1',
        [PROTOCOL_HEADER]: [...protocols],
        'Content-Length': '0',
      },
    });
    asked.on('error', reject);
    asked.on('upgrade', (response, socket, head) => resolve({ response, socket, head }));
    asked.on('response', (response) => {
      bodyOf(response).then((body) => reject(new StreamRefused(response.statusCode ?? 0, body)), reject);
    });
    asked.end();
  });
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let body = '';
  for await (const piece of response.setEncoding('utf8')) body += piece;
  return body;
}

function outcomeOf(error: Readable, protocol: string): Promise<StreamStatus> {
  const outcome = (async (): Promise<StreamStatus> => {
    let text = '';
    for await (const piece of error) text += Buffer.from(piece).toString();
    if (!tellsExitCode(protocol)) return text === '' ? { status: 'Success' } : { status: 'Failure', message: text };
    if (text === '') throw new Error('connection ended before the outcome was received');
    return JSON.parse(text);
  })();
  outcome.catch(() => {});
  return outcome;
}

function sizeText({ columns, rows }: TerminalSize): string {
  return `${JSON.stringify({ Width: columns, Height: rows })}\n`;
}
