import { existsSync } from 'node:fs';
import { createServer, type Server as Listener } from 'node:net';
import { dirname } from 'node:path';
import type { handleServerStreamingCall, handleUnaryCall, Server, UntypedServiceImplementation } from '@grpc/grpc-js';
import { checkOptions, StartOnce } from '@node-agent/async';
import { GrpcError, grpcStatus } from './errors.ts';
import { OpenSockets } from './open-sockets.ts';
import { type RpcTable, type Service, serviceDefinition } from './service.ts';
import { socketPathProblem } from './socket-path.ts';

/** What a {@link GrpcServer} serves, and where. */
export interface GrpcServerOptions {
  /** The absolute path of a unix socket, in a directory that is there. What an ended process has left there is the caller's to remove. */
  readonly socketPath: string;
  readonly services: readonly Service[];
  /** The largest request that is taken; 4 MiB by default, as gRPC has it. */
  readonly maxMessageBytes?: number;
  /** The most connections at a time; 256 by default. A further one takes the place of one that has been silent. */
  readonly maxConnections?: number;
}

const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const DEFAULT_MAX_CONNECTIONS = 256;

type Handler = Service['handlers'][string];

/** One that listens, until it is closed. */
interface Running {
  readonly server: Server;
  readonly listener: Listener;
  readonly sockets: OpenSockets;
}

/** A gRPC server on a unix socket whose handlers are functions: see `Handlers`. */
export class GrpcServer {
  readonly #options: GrpcServerOptions;
  #running: Running | undefined;
  /** How often it was closed: one that begins meanwhile does not go on. */
  #closes = 0;
  #startOnce = new StartOnce('GrpcServer');

  /** @throws OptionsError naming the component or option that is wrong */
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
   * Resolves once the server listens. After {@link close} it may start again.
   * @throws AsyncError `AlreadyStarted` before {@link close}; Error that names the socket
   */
  async start(): Promise<void> {
    this.#startOnce.begin();
    const { socketPath, services, maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = this.#options;
    const { maxConnections = DEFAULT_MAX_CONNECTIONS } = this.#options;
    const problem = socketPathProblem(socketPath);
    if (problem !== undefined) throw new Error(problem);
    const closes = this.#closes;
    const grpc = await import('@grpc/grpc-js');
    // With channelz off, forceShutdown of grpc-js 1.14 ends no connection.
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
      if (this.#closes !== closes) throw new Error(`listen ${socketPath}: the server was closed meanwhile`);
    } catch (error) {
      // grpc-js holds on to each server that was made until it is shut down.
      end(running);
      throw error;
    }
    this.#running = running;
  }

  /** Ends the calls that are under way, and the socket and all connections with them, whatever their callers do. */
  close(): void {
    this.#closes++;
    this.#startOnce = new StartOnce('GrpcServer');
    if (this.#running !== undefined) end(this.#running);
    this.#running = undefined;
  }
}

function end({ server, listener, sockets }: Running): void {
  listener.close();
  server.forceShutdown();
  // What is said at the end is said first.
  setImmediate(() => sockets.close());
}

async function listen(listener: Listener, socketPath: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Those that come later are of single connections, and end nothing.
    listener.on('error', (error) => {
      reject(new Error(`listen ${socketPath}: ${whyNot(socketPath, error)}`, { cause: error }));
    });
    listener.listen(socketPath, resolve);
  });
}

/** A directory that is not there is EACCES in the words of libuv. */
function whyNot(socketPath: string, error: Error): string {
  const directory = dirname(socketPath);
  return existsSync(directory) ? error.message : `there is no directory ${directory}`;
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
