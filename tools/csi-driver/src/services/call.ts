import type { CsiVolumeCapability } from '@node-agent/contracts';
import { GrpcError } from '@node-agent/grpc';
import { isRefusal, type Refusal } from '../rules/refusal.ts';
import type { RequestFields } from '../rules/requests.ts';
import { capabilityOf } from './wire.ts';

/** Call of an RPC that is being handled. */
export interface Call {
  /** Called between two changes of the operation, at which a fault can happen. */
  readonly middle: () => Promise<void>;
}

/** Returns the value of a rule. @throws GrpcError if the rule rejected the request */
export function accepted<T>(result: T | Refusal): T {
  if (isRefusal(result)) throw new GrpcError(result);
  return result;
}

/** Checks the result of a rule. @throws GrpcError if the rule rejected the request */
export function check(problem: Refusal | undefined): void {
  if (problem !== undefined) throw new GrpcError(problem);
}

/** Returns the capability of a request whose fields were checked. */
export function requiredCapability(wire: Parameters<typeof capabilityOf>[0] | null): CsiVolumeCapability {
  if (wire === null) throw new GrpcError({ code: 'INVALID_ARGUMENT', details: 'volume_capability is required' });
  return accepted(capabilityOf(wire));
}

/** Returns the fields of a request that are checked before its handler is called. */
export function fieldsOf(request: object): RequestFields {
  const { volumeCapability, volumeCapabilities, ...rest } = request as RequestFields & {
    readonly volumeCapability?: Parameters<typeof capabilityOf>[0] | null;
    readonly volumeCapabilities?: readonly Parameters<typeof capabilityOf>[0][];
  };
  return {
    ...rest,
    ...(volumeCapability && { capability: capabilityOf(volumeCapability) }),
    ...(volumeCapabilities && { capabilities: volumeCapabilities.map(capabilityOf) }),
  };
}
