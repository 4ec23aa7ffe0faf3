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

/** Maximum size of a CRI message, in bytes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Options of a {@link FakeCriServer}. */
export interface FakeCriServerOptions {
  /** `unix:///absolute/path` or `tcp://host:port`. Port 0 selects a free port. */
  readonly endpoint: string;
}

/** A {@link FakeRuntime}, or another implementation that can crash and recover. */
export type ServedRuntime = RuntimeService & ImageService & Pick<FakeRuntime, 'crash' | 'recover'>;

/**
 * Serves a {@link FakeRuntime} over gRPC. A call is cancelled when its client disconnects. A crash of the runtime drops
 * every connection. After {@link recover} the same endpoint serves again.
 */
export class FakeCriServer {
  readonly #runtime: ServedRuntime;
  readonly #address: Address;
  readonly #sockets = new Set<Socket>();
  #listener: NetServer | undefined;
  #grpc: Server | undefined;
  #port = 0;

  /** @throws TypeError if the endpoint is malformed */
  constructor({ runtime }: { readonly runtime: ServedRuntime }, { endpoint }: FakeCriServerOptions) {
    this.#runtime = runtime;
    this.#address = parseAddress(endpoint);
  }

  /** The listening endpoint, with the actual port for TCP. */
  get endpoint(): string {
    const address = this.#address;
    return address.kind === 'unix' ? `unix://${address.path}` : `tcp://${address.host}:${this.#port || address.port}`;
  }

  /**
   * Starts listening.
   * @throws Error if another process listens at the endpoint
   */
  async start(): Promise<void> {
    const address = this.#address;
    if (address.kind === 'unix') await removeStaleSocket(address.path);
    const grpc = newServer(this.#runtime);
    const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
    // The server owns its sockets so that a crash can drop them without a GOAWAY, as a killed process does.
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

  /** Ends all calls and stops listening. The runtime and its containers are not changed. */
  async close(): Promise<void> {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#listener = undefined;
    const closed = new Promise((resolve) => listener.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    this.#grpc?.forceShutdown();
    await closed;
  }

  /**
   * Simulates a crash of the runtime's process: connections drop and the endpoint is closed. Containers keep running.
   */
  async crash(): Promise<void> {
    this.#runtime.crash();
    await this.close();
  }

  /** Restarts the runtime's process and listens at the same endpoint. */
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
    throw new TypeError(`endpoint ${JSON.stringify(endpoint)}: must be unix:///path or tcp://host:port`);
  }
  return { kind: 'tcp', host, port: Number(port) };
}

/**
 * Removes a socket file without a listener. A killed server leaves its socket file, which would prevent the next server
 * from listening.
 */
async function removeStaleSocket(path: string): Promise<void> {
  const answers = await new Promise<boolean>((resolve) => {
    const socket = connect(path);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
  if (answers) throw new Error(`listen at ${path}: another process listens there`);
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
    // Sends the headers immediately, so that the client knows before the first event that the stream is established.
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
