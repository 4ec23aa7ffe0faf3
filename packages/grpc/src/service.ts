import type { Init, StreamRpc, UnaryRpc } from './wire.ts';

/** The RPCs of a service by method name, generated from a .proto file. */
export type RpcTable = Readonly<
  Record<
    string,
    {
      readonly name: string;
      readonly path: string;
      readonly stream: boolean;
      readonly request: { encode(message: never): Buffer; decode(bytes: Uint8Array): object };
      readonly response: { encode(message: never): Buffer; decode(bytes: Uint8Array): object };
    }
  >
>;

/**
 * A method of a service in the format of @grpc/grpc-js. The type is declared here, because users of this package need
 * not install that library.
 */
export interface MethodDefinition<Req, Res> {
  /** Path of the RPC: `/package.Service/Method`. */
  readonly path: string;
  /** Name of the method in the .proto file. */
  readonly originalName?: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (request: Req) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Req;
  readonly responseSerialize: (response: Res) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Res;
}

/** The service definition for `Server.addService` of @grpc/grpc-js, with typed requests and responses. */
export type ServiceDefinitionOf<Rpcs> = {
  readonly [Name in keyof Rpcs]: Rpcs[Name] extends UnaryRpc<infer Req, infer Res> | StreamRpc<infer Req, infer Res>
    ? MethodDefinition<Req, Init<Res>>
    : never;
};

/**
 * Returns a service definition for a server of @grpc/grpc-js. Handlers get complete requests and may leave out fields
 * of the response.
 */
export function serviceDefinition<Rpcs extends RpcTable>(rpcs: Rpcs): ServiceDefinitionOf<Rpcs> {
  const methods = Object.entries(rpcs).map(([name, rpc]) => [
    name,
    {
      path: rpc.path,
      originalName: rpc.name,
      requestStream: false,
      responseStream: rpc.stream,
      requestSerialize: rpc.request.encode,
      requestDeserialize: rpc.request.decode,
      responseSerialize: rpc.response.encode,
      responseDeserialize: rpc.response.decode,
    },
  ]);
  return Object.fromEntries(methods);
}

/**
 * A handler for each RPC. A thrown `GrpcError` becomes the status of the call; any other error becomes `UNKNOWN` with
 * its message.
 */
export type Handlers<Rpcs> = {
  readonly [Name in keyof Rpcs]: Rpcs[Name] extends UnaryRpc<infer Req, infer Res>
    ? (request: Req, signal: AbortSignal) => Promise<Init<Res>>
    : Rpcs[Name] extends StreamRpc<infer Req, infer Res>
      ? (request: Req, signal: AbortSignal) => AsyncIterable<Init<Res>>
      : never;
};

/** A service with its handlers, for a `GrpcServer`. */
export interface Service {
  readonly rpcs: RpcTable;
  readonly handlers: Readonly<
    Record<string, (request: never, signal: AbortSignal) => Promise<object> | AsyncIterable<object>>
  >;
}

/** Combines RPCs and handlers, checking that their types match. */
export function service<Rpcs extends RpcTable>(rpcs: Rpcs, handlers: Handlers<Rpcs>): Service {
  return { rpcs, handlers: handlers as unknown as Service['handlers'] };
}
