import type { Clock } from '@node-agent/async';
import { type CallOptions, GrpcClient, GrpcError, type Init, type StreamRpc, type UnaryRpc } from '@node-agent/grpc';
import type { Logger } from '@node-agent/telemetry';
import type { Endpoint } from './endpoint.ts';
import { CriError } from './errors.ts';

/** Maximum size of a response, in bytes. gRPC's own default is 4 MiB. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A gRPC connection to a runtime, which reconnects after a connection loss. The errors of calls name the RPC. */
export class Channel {
  readonly #endpoint: Endpoint;
  readonly #client: GrpcClient;
  #isConnected = false;
  #connections = 0;

  constructor(endpoint: Endpoint, clock: Clock, logger: Logger, transport: 'grpc-js' | 'lean') {
    const onConnectivity = (isConnected: boolean): void => {
      this.#isConnected = isConnected;
      if (isConnected) this.#connections++;
      logger.debug({ endpoint: endpoint.url }, isConnected ? 'Connected to the runtime' : 'Lost the runtime');
    };
    this.#endpoint = endpoint;
    const onFallback = (error: Error): void => {
      logger.warn({ endpoint: endpoint.url, err: error }, 'Stopped using the lean transport for the runtime');
    };
    const options = { target: endpoint.target, maxMessageBytes: MAX_MESSAGE_BYTES, unaryTransport: transport };
    this.#client = new GrpcClient({ clock, onConnectivity, onFallback }, options);
  }

  /** Number of connections made so far. Knowledge about the runtime's features is valid for one connection only. */
  get connections(): number {
    return this.#connections;
  }

  /** Makes a unary call. @throws CriError */
  async unary<Req, Res>(rpc: UnaryRpc<Req, Res>, request: Init<Req>, options: CallOptions): Promise<Res> {
    try {
      return await this.#client.unary(rpc, request, options);
    } catch (error) {
      throw this.#errorOf(rpc.name, error);
    }
  }

  /**
   * Makes a streaming call, which starts when the first message is requested. Ending the iteration cancels the call.
   * @throws CriError
   */
  async *stream<Req, Res>(
    rpc: StreamRpc<Req, Res>,
    request: Init<Req>,
    options: CallOptions,
  ): AsyncGenerator<Res, void, undefined> {
    try {
      yield* this.#client.stream(rpc, request, options);
    } catch (error) {
      throw this.#errorOf(rpc.name, error);
    }
  }

  /** Cancels the calls in progress, waits until they have settled, and rejects later calls. */
  async close(): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }

  #errorOf(rpc: string, error: unknown): CriError {
    const { code, details, cause } = GrpcError.from(error);
    const isAlone = code === 'DEADLINE_EXCEEDED' && !this.#isConnected;
    const where = isAlone ? `: no runtime answers at ${this.#endpoint.url}` : '';
    return new CriError({ rpc, code, details: `${details}${where}`, cause });
  }
}
