import type { Clock } from '@node-agent/async';
import type { CsiNodeCapabilities } from '@node-agent/contracts';
import { GrpcError, type GrpcTransport, type Init, type UnaryRpc } from '@node-agent/grpc';

/** Function that decodes a response, so that an invalid response is distinguished from a failed call. */
export type Undecoded<Res> = () => Res;

/** One connection to the driver. */
export interface OpenConnection {
  readonly client: ReturnType<GrpcTransport['client']>;
  /** Calls in progress. */
  calls: number;
  /** Whether the connection is lost, so that no further call uses it. */
  isLost: boolean;
  /** Capabilities that the driver reported on this connection. */
  capabilities: CsiNodeCapabilities | undefined;
}

/** Dependencies of a {@link DriverConnection}. */
export interface DriverConnectionComponents {
  readonly clock: Clock;
  readonly transport: GrpcTransport;
}

/**
 * The connection to a driver's socket. The first call opens the connection. When the connection is lost, the next call
 * opens a new connection immediately: gRPC's own back-off would make calls fail for seconds after the driver is back.
 */
export class DriverConnection {
  readonly #components: DriverConnectionComponents;
  readonly #options: Parameters<GrpcTransport['client']>[1];
  readonly #open = new Set<OpenConnection>();
  #current: OpenConnection | undefined;
  #isClosed = false;

  constructor(components: DriverConnectionComponents, options: Parameters<GrpcTransport['client']>[1]) {
    this.#components = components;
    this.#options = options;
  }

  /** Returns the connection that the next call uses. @throws GrpcError `CANCELLED` after {@link close} */
  current(): OpenConnection {
    if (this.#isClosed) throw new GrpcError({ code: 'CANCELLED', details: 'grpc: the client connection is closing' });
    this.#current ??= this.#connect();
    return this.#current;
  }

  /** Makes a call on the connection. @throws GrpcError */
  async call<Req, Res>(
    connection: OpenConnection,
    rpc: UnaryRpc<Req, Res>,
    request: Init<Req>,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<Undecoded<Res>> {
    connection.calls++;
    try {
      return await connection.client.unary(undecoded(rpc), request, options);
    } catch (error) {
      const failure = GrpcError.from(error);
      if (failure.code === 'UNAVAILABLE') this.#lose(connection);
      throw failure;
    } finally {
      connection.calls--;
      this.#closeIfUnused(connection);
    }
  }

  /** Closes the connection; calls in progress fail with `CANCELLED`. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#open) connection.client.close();
    this.#open.clear();
  }

  #connect(): OpenConnection {
    const { clock, transport } = this.#components;
    const onConnectivity = (isConnected: boolean): void => {
      if (!isConnected) this.#lose(connection);
    };
    const client = transport.client({ clock, onConnectivity }, this.#options);
    const connection: OpenConnection = { client, calls: 0, isLost: false, capabilities: undefined };
    this.#open.add(connection);
    return connection;
  }

  #lose(connection: OpenConnection): void {
    connection.isLost = true;
    if (this.#current === connection) this.#current = undefined;
    this.#closeIfUnused(connection);
  }

  #closeIfUnused(connection: OpenConnection): void {
    if (!connection.isLost || connection.calls > 0) return;
    this.#open.delete(connection);
    connection.client.close();
  }
}

function undecoded<Req, Res>(rpc: UnaryRpc<Req, Res>): UnaryRpc<Req, Undecoded<Res>> {
  const { name, decode, create } = rpc.response;
  return {
    ...rpc,
    response: {
      name,
      decode: (bytes) => () => decode(bytes),
      create: (message) => () => create(message as Init<Res>),
      encode: () => {
        throw new Error('a received response cannot be encoded');
      },
    },
  };
}
