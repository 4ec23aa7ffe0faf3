import type { Clock } from '@node-agent/async';
import { type CallOptions, GrpcClient, GrpcError, type Init, type StreamRpc, type UnaryRpc } from '@node-agent/grpc';
import type { Logger } from '@node-agent/telemetry';
import type { Endpoint } from './endpoint.ts';
import { CriError } from './errors.ts';

/** The largest answer that is accepted, in bytes; gRPC's own default is 4 MiB. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** One gRPC connection to a runtime, as often as it has to be made. What fails says which RPC it was. */
export class Channel {
  readonly #endpoint: Endpoint;
  readonly #client: GrpcClient;
  #isConnected = false;
  #connections = 0;

  constructor(endpoint: Endpoint, clock: Clock, logger: Logger) {
    const onConnectivity = (isConnected: boolean): void => {
      this.#isConnected = isConnected;
      if (isConnected) this.#connections++;
      logger.debug({ endpoint: endpoint.url }, isConnected ? 'Connected to the runtime' : 'Lost the runtime');
    };
    this.#endpoint = endpoint;
    const options = { target: endpoint.target, maxMessageBytes: MAX_MESSAGE_BYTES };
    this.#client = new GrpcClient({ clock, onConnectivity }, options);
  }

  /** How many times the runtime was connected to so far: what was learned of it holds for one connection. */
  get connections(): number {
    return this.#connections;
  }

  /** @throws CriError */
  async unary<Req, Res>(rpc: UnaryRpc<Req, Res>, request: Init<Req>, options: CallOptions): Promise<Res> {
    try {
      return await this.#client.unary(rpc, request, options);
    } catch (error) {
      throw this.#errorOf(rpc.name, error);
    }
  }

  /** The call begins when the first message is asked for and is cancelled when the iteration ends. @throws CriError */
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

  /** Cancels what is under way, waits until it has ended, and refuses what comes after. */
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
