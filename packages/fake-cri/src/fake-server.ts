import { rm } from 'node:fs/promises';
import { connect, createServer, type Server as NetServer, type Socket } from 'node:net';
import {
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { CriError, grpcStatus, type ImageService, type MessageType, type RuntimeService } from '@node-agent/cri-client';
import { type RpcName, rpcs } from './core/rpcs.ts';
import type { FakeRuntime, RecoverOptions } from './fake-runtime.ts';

/** The largest message of CRI, in bytes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** How a {@link FakeCriServer} is reached. */
export interface FakeCriServerOptions {
  /** `unix:///absolute/path` or `tcp://host:port`; port 0 takes a free one. */
  readonly endpoint: string;
}

/** A {@link FakeRuntime}, or what can be crashed as one. */
export type ServedRuntime = RuntimeService & ImageService & Pick<FakeRuntime, 'crash' | 'recover'>;

/**
 * A {@link FakeRuntime} over gRPC. A client that goes away cancels its calls; a crash of the runtime drops every
 * connection, and the same endpoint answers again after {@link recover}.
 */
export class FakeCriServer {
  readonly #runtime: ServedRuntime;
  readonly #address: Address;
  readonly #sockets = new Set<Socket>();
  #listener: NetServer | undefined;
  #grpc: Server | undefined;
  #port = 0;

  /** @throws TypeError where the endpoint is not one */
  constructor({ runtime }: { readonly runtime: ServedRuntime }, { endpoint }: FakeCriServerOptions) {
    this.#runtime = runtime;
    this.#address = parseAddress(endpoint);
  }

  /** Where it listens; of a TCP endpoint, with the port that it got. */
  get endpoint(): string {
    const address = this.#address;
    return address.kind === 'unix' ? `unix://${address.path}` : `tcp://${address.host}:${this.#port || address.port}`;
  }

  /** Begins to listen. @throws Error where another process listens there */
  async start(): Promise<void> {
    const address = this.#address;
    if (address.kind === 'unix') await removeStaleSocket(address.path);
    const grpc = newServer(this.#runtime);
    const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
    // The sockets are ours, so that a crash can drop them without a farewell, as a killed process does.
    const listener = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      injector.injectConnection(socket);
    });
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      if (address.kind === 'unix') listener.listen(address.path, resolve);
      else listener.listen(this.#port || address.port, address.host, resolve);
    });
    const bound = listener.address();
    this.#port = typeof bound === 'object' && bound !== null ? bound.port : 0;
    this.#listener = listener;
    this.#grpc = grpc;
  }

  /** Ends what is under way and stops to listen; the runtime and its containers stay as they are. */
  async close(): Promise<void> {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#listener = undefined;
    const closed = new Promise((resolve) => listener.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    this.#grpc?.forceShutdown();
    await closed;
  }

  /** The runtime's process dies: connections drop, nobody listens; containers run on. */
  async crash(): Promise<void> {
    this.#runtime.crash();
    await this.close();
  }

  /** The runtime's process is started again, at the same endpoint. */
  async recover(options: RecoverOptions = {}): Promise<void> {
    this.#runtime.recover(options);
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

type Address =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

function parseAddress(endpoint: string): Address {
  const path = /^unix:\/\/(\/.+)$/.exec(endpoint)?.[1];
  if (path !== undefined) return { kind: 'unix', path };
  const [, host, port] = /^tcp:\/\/([^:/]+|\[[^\]]+\]):(\d{1,5})$/.exec(endpoint) ?? [];
  if (host === undefined || port === undefined) {
    throw new TypeError(`endpoint ${JSON.stringify(endpoint)}: expected unix:///path or tcp://host:port`);
  }
  return { kind: 'tcp', host, port: Number(port) };
}

/** A socket that nobody listens at is left by a killed server, and in the way. */
async function removeStaleSocket(path: string): Promise<void> {
  const answers = await new Promise<boolean>((resolve) => {
    const socket = connect(path);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
  if (answers) throw new Error(`${path}: another process listens there`);
  await rm(path, { force: true });
}

function newServer(runtime: ServedRuntime): Server {
  const server = new Server({
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  });
  const definition: Record<string, MethodDefinition<object, object>> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const [name, rpc] of Object.entries(rpcs)) {
    definition[name] = {
      path: rpc.path,
      requestStream: false,
      responseStream: rpc.stream,
      requestSerialize: serializer(rpc.request),
      requestDeserialize: rpc.request.decode,
      responseSerialize: serializer(rpc.response),
      responseDeserialize: rpc.response.decode,
    };
    implementation[name] = rpc.stream ? streamHandler(runtime, name) : unaryHandler(runtime, name);
  }
  server.addService(definition, implementation);
  return server;
}

function serializer(type: { readonly encode: MessageType<never>['encode'] }): (message: object) => Buffer {
  return (message) => Buffer.from(type.encode(message as never));
}

type Method = (request: object, signal: AbortSignal) => Promise<object> | AsyncIterable<object>;

function methodOf(runtime: ServedRuntime, name: string): Method {
  const method: unknown = runtime[name as RpcName];
  return (method as Method).bind(runtime);
}

function unaryHandler(runtime: ServedRuntime, name: string) {
  const method = methodOf(runtime, name);
  return (call: ServerUnaryCall<object, object>, answer: sendUnaryData<object>): void => {
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    (method(call.request, gone.signal) as Promise<object>).then(
      (response) => answer(null, response),
      (error: unknown) => answer(statusOf(error)),
    );
  };
}

function streamHandler(runtime: ServedRuntime, name: string) {
  const method = methodOf(runtime, name);
  return async (call: ServerWritableStream<object, object>): Promise<void> => {
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    // Headers go at once: a client knows that it is heard, before the first event.
    call.sendMetadata(new Metadata());
    try {
      for await (const message of method(call.request, gone.signal) as AsyncIterable<object>) call.write(message);
      call.end();
    } catch (error) {
      if (!gone.signal.aborted) call.emit('error', statusOf(error));
    }
  };
}

function statusOf(error: unknown): { code: number; details: string } {
  const { code, details } = CriError.from(error);
  return { code: grpcStatus(code), details };
}
