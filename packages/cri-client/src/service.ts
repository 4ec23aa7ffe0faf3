import { type ServiceDefinitionOf, serviceDefinition } from '@node-agent/grpc';
import { imageServiceRpcs, runtimeServiceRpcs } from './generated/services.ts';

export type { ServiceDefinitionOf } from '@node-agent/grpc';

/** `runtime.v1.RuntimeService` for a gRPC server: a handler gets whole requests and may leave fields of its answer out. */
export const runtimeServiceDefinition: ServiceDefinitionOf<typeof runtimeServiceRpcs> =
  serviceDefinition(runtimeServiceRpcs);

/** `runtime.v1.ImageService` for a gRPC server. */
export const imageServiceDefinition: ServiceDefinitionOf<typeof imageServiceRpcs> = serviceDefinition(imageServiceRpcs);
