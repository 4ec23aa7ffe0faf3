import { type ServiceDefinitionOf, serviceDefinition } from '@node-agent/grpc';
import { imageServiceRpcs, runtimeServiceRpcs } from './generated/services.ts';

export type { ServiceDefinitionOf } from '@node-agent/grpc';

/**
 * `runtime.v1.RuntimeService` for a gRPC server. Handlers receive complete requests and may omit fields of their
 * responses.
 */
export const runtimeServiceDefinition: ServiceDefinitionOf<typeof runtimeServiceRpcs> =
  serviceDefinition(runtimeServiceRpcs);

/** `runtime.v1.ImageService` for a gRPC server. */
export const imageServiceDefinition: ServiceDefinitionOf<typeof imageServiceRpcs> = serviceDefinition(imageServiceRpcs);
