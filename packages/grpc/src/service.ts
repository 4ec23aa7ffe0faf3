import type { MethodDefinition } from '@grpc/grpc-js';
import type { Init, StreamRpc, UnaryRpc } from './wire.ts';

/** The RPCs of a service by their methods' names, as they are generated of a .proto. */
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

/** What `Server.addService` of @grpc/grpc-js takes, with the types of what goes in and out. */
export type ServiceDefinitionOf<Rpcs> = {
  readonly [Name in keyof Rpcs]: Rpcs[Name] extends UnaryRpc<infer Req, infer Res> | StreamRpc<infer Req, infer Res>
    ? MethodDefinition<Req, Init<Res>>
    : never;
};

/** A service for a server of @grpc/grpc-js: a handler gets whole requests and may leave fields of its answer out. */
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

/** A function for each RPC. What it throws is the answer's status: a `GrpcError` as it is, anything else `UNKNOWN` with its message. */
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

/** Joins RPCs and handlers, so that the types of both are seen to fit. */
export function service<Rpcs extends RpcTable>(rpcs: Rpcs, handlers: Handlers<Rpcs>): Service {
  return { rpcs, handlers: handlers as unknown as Service['handlers'] };
}
