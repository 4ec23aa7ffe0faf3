export { type CallOptions, GrpcClient, type GrpcClientComponents, type GrpcClientOptions } from './client.ts';
export { type GrpcCode, GrpcError, type GrpcErrorOptions, goCodeName, grpcCode, grpcStatus } from './errors.ts';
export { GrpcServer, type GrpcServerOptions } from './server.ts';
export {
  type Handlers,
  type MethodDefinition,
  type RpcTable,
  type Service,
  type ServiceDefinitionOf,
  service,
  serviceDefinition,
} from './service.ts';
export { type GrpcTransport, unixSockets } from './transport.ts';
export type { Init, MessageType, OpenEnum, StreamRpc, UnaryRpc } from './wire.ts';
