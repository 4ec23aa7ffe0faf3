import { existsSync } from 'node:fs';
import { createServer, type Server as Listener } from 'node:net';
import { dirname } from 'node:path';
import type { handleServerStreamingCall, handleUnaryCall, Server, UntypedServiceImplementation } from '@grpc/grpc-js';
import { checkOptions, StartOnce } from '@node-agent/async';
import { GrpcError, grpcStatus } from './errors.ts';
import { OpenSockets } from './open-sockets.ts';
import { type RpcTable, type Service, serviceDefinition } from './service.ts';
import { socketPathProblem } from './socket-path.ts';

/** The options of {@link GrpcServer}. */
export interface GrpcServerOptions {
  /**
   * The absolute path of a unix socket. Its directory must exist. The caller must remove a socket left by a previous
   * process.
   */
  readonly socketPath: string;
  readonly services: readonly Service[];
  /** The size limit of a request, in bytes. Default: 4 MiB, gRPC's default. */
  readonly maxMessageBytes?: number;
  /**
   * The maximum number of connections. Default: 256. Beyond the limit, a new connection replaces one that has been
   * silent.
   */
  readonly maxConnections?: number;
}

const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const DEFAULT_MAX_CONNECTIONS = 256;

type Handler = Service['handlers'][string];

/** A listening server. */
interface Running {
  readonly server: Server;
  readonly listener: Listener;
  readonly sockets: OpenSockets;
}

/** A gRPC server on a unix socket. Its handlers are functions: see `Handlers`. */
export class GrpcServer {
  readonly #options: GrpcServerOptions;
  readonly #startOnce = new StartOnce('GrpcServer');
  #running: Running | undefined;
  #isClosed = false;

  /** @throws OptionsError naming the invalid component or option */
  constructor(options: GrpcServerOptions) {
    checkOptions('GrpcServer', options, {
      socketPath: 'string',
      services: 'list',
      maxMessageBytes: 'limit?',
      maxConnections: 'limit?',
    });
    this.#options = options;
  }

  /**
   * Resolves once the server listens. To listen again after {@link close}, create a new server.
   * @throws AsyncError `AlreadyStarted` if called again; Error naming the socket if the server cannot listen
   */
  async start(): Promise<void> {
    this.#startOnce.begin();
    const { socketPath, services, maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = this.#options;
    const { maxConnections = DEFAULT_MAX_CONNECTIONS } = this.#options;
    const problem = socketPathProblem(socketPath);
    if (problem !== undefined) throw new Error(problem);
    if (this.#isClosed) throw new Error(`listen ${socketPath}: the server is closed`);
    const grpc = await import('./grpc-js.ts');
    // Channelz must stay enabled: without channelz, `forceShutdown` of grpc-js 1.14 closes no connection.
    const server = new grpc.Server({ 'grpc.max_receive_message_length': maxMessageBytes });
    const connections = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
    const sockets = new OpenSockets(maxConnections);
    const listener = createServer((socket) => {
      sockets.add(socket);
      connections.injectConnection(socket);
    });
    const running = { server, listener, sockets };
    try {
      for (const { rpcs, handlers } of services) {
        server.addService(serviceDefinition(rpcs), implementation(rpcs, handlers));
      }
      await listen(listener, socketPath);
      if (this.#isClosed) throw new Error(`listen ${socketPath}: the server was closed during the start`);
    } catch (error) {
      // The server must be shut down, because grpc-js keeps a reference to each server until then.
      end(running);
      throw error;
    }
    this.#running = running;
  }

  /** Ends the calls in progress, and closes the listening socket and all connections. */
  close(): void {
    this.#isClosed = true;
    if (this.#running !== undefined) end(this.#running);
    this.#running = undefined;
  }
}

function end({ server, listener, sockets }: Running): void {
  listener.close();
  server.forceShutdown();
  // The sockets are closed in a later turn of the event loop, so that grpc-js can send its last frames before.
  setImmediate(() => sockets.close());
}

async function listen(listener: Listener, socketPath: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // An error after the start concerns a single connection and is ignored.
    listener.on('error', (error) => {
      reject(new Error(`listen ${socketPath}: ${whyNot(socketPath, error)}`, { cause: error }));
    });
    listener.listen(socketPath, resolve);
  });
}

/**
 * Returns the reason for which listening failed. libuv reports a missing directory as EACCES, so the directory is
 * checked here.
 */
function whyNot(socketPath: string, error: Error): string {
  const directory = dirname(socketPath);
  return existsSync(directory) ? error.message : `the directory ${directory} does not exist`;
}

function implementation(rpcs: RpcTable, handlers: Service['handlers']): UntypedServiceImplementation {
  const calls = Object.entries(rpcs).map(([name, { stream }]) => {
    const handler = handlers[name];
    if (handler === undefined) throw new Error(`no handler for ${name}`);
    return [name, stream ? streaming(handler) : unary(handler)] as const;
  });
  return Object.fromEntries(calls);
}

function unary(handler: Handler): handleUnaryCall<object, object> {
  return (call, answer) => {
    const ending = new AbortController();
    call.on('cancelled', () => ending.abort());
    const asked = async (): Promise<object> => await (handler(call.request as never, ending.signal) as Promise<object>);
    asked().then(
      (response) => answer(null, response),
      (error: unknown) => answer(statusOf(error)),
    );
  };
}

function streaming(handler: Handler): handleServerStreamingCall<object, object> {
  return (call) => {
    const ending = new AbortController();
    call.on('cancelled', () => ending.abort());
    const told = async (): Promise<void> => {
      for await (const message of handler(call.request as never, ending.signal) as AsyncIterable<object>) {
        if (ending.signal.aborted) return;
        if (call.write(message)) continue;
        await new Promise<void>((resolve) => {
          const goOn = (): void => {
            call.off('drain', goOn);
            ending.signal.removeEventListener('abort', goOn);
            resolve();
          };
          call.on('drain', goOn);
          ending.signal.addEventListener('abort', goOn);
        });
      }
    };
    told().then(
      () => call.end(),
      (error: unknown) => {
        if (!ending.signal.aborted) call.emit('error', statusOf(error));
      },
    );
  };
}

function statusOf(error: unknown): { readonly code: number; readonly details: string } {
  const { code, details } = GrpcError.from(error);
  return { code: grpcStatus(code), details };
}
