import type { MethodDefinition } from '@grpc/grpc-js';
import { imageServiceRpcs, runtimeServiceRpcs } from './generated/services.ts';
import type { Init, StreamRpc, UnaryRpc } from './wire.ts';

/** What `Server.addService` of @grpc/grpc-js takes, with the types of what goes in and out. */
export type ServiceDefinitionOf<Rpcs> = {
  readonly [Name in keyof Rpcs]: Rpcs[Name] extends UnaryRpc<infer Req, infer Res> | StreamRpc<infer Req, infer Res>
    ? MethodDefinition<Req, Init<Res>>
    : never;
};

/** `runtime.v1.RuntimeService` for a gRPC server: a handler gets whole requests and may leave fields of its answer out. */
export const runtimeServiceDefinition: ServiceDefinitionOf<typeof runtimeServiceRpcs> = define(runtimeServiceRpcs);

/** `runtime.v1.ImageService` for a gRPC server. */
export const imageServiceDefinition: ServiceDefinitionOf<typeof imageServiceRpcs> = define(imageServiceRpcs);

type AnyRpc = {
  readonly name: string;
  readonly path: string;
  readonly stream: boolean;
  readonly request: AnyMessage;
  readonly response: AnyMessage;
};
type AnyMessage = { encode(message: never): Buffer; decode(bytes: Uint8Array): object };

function define<Rpcs extends { readonly [Name in keyof Rpcs]: AnyRpc }>(rpcs: Rpcs): ServiceDefinitionOf<Rpcs> {
  const methods = Object.entries<AnyRpc>(rpcs).map(([name, rpc]) => [
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
