export type { Init, MessageType, OpenEnum, StreamRpc, UnaryRpc } from '@node-agent/grpc';
export { CriClient } from './client.ts';
export type { CriClientComponents, CriClientOptions } from './client-options.ts';
export {
  type ContainerEventComponents,
  type ContainerEventItem,
  type ContainerEventOptions,
  watchContainerEvents,
} from './container-events.ts';
export type { ContainerBrief } from './container-states.ts';
export { enumName } from './enum-name.ts';
export { CriError, type CriErrorCode, type CriErrorOptions, grpcStatus } from './errors.ts';
export { messages } from './generated/codec.ts';
export {
  type ImageService,
  imageServiceRpcs,
  RpcMethods,
  type RuntimeService,
  runtimeServiceRpcs,
} from './generated/services.ts';
// Messages and enums of runtime.v1 (about 170), under their names in proto/runtime/v1/api.proto.
export * from './generated/types.ts';
export type { TraceContext } from './trace-context.ts';
