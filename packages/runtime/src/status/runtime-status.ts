import type { RuntimeService } from '@node-agent/cri-client';
import { PodRuntimeError } from '../errors.ts';

/** Condition of the runtime, such as `RuntimeReady`. */
export interface RuntimeCondition {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}

/** A runtime handler. */
export interface RuntimeHandlerInfo {
  /** Name of the runtime handler; '' for the default handler. */
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** Status that the runtime reports about itself. */
export interface RuntimeStatus {
  readonly runtimeReady: RuntimeCondition;
  readonly networkReady: RuntimeCondition;
  readonly handlers: readonly RuntimeHandlerInfo[];
  readonly supplementalGroupsPolicy: boolean;
  readonly userNamespacesHostNetwork: boolean;
}

/**
 * Reads the runtime's status. A missing condition counts as false.
 * @throws CriError
 * @throws PodRuntimeError `BadAnswer` if the response has no status
 */
export async function readRuntimeStatus(
  cri: Pick<RuntimeService, 'status'>,
  signal?: AbortSignal,
): Promise<RuntimeStatus> {
  const { status, runtimeHandlers, features } = await cri.status({}, signal);
  if (status === null) throw new PodRuntimeError('BadAnswer', 'runtime status is nil');
  const condition = (type: string): RuntimeCondition => {
    const found = status.conditions.find((candidate) => candidate.type === type);
    return {
      ok: found?.status ?? false,
      reason: found?.reason ?? '',
      message: found?.message ?? `no ${type} condition`,
    };
  };
  return {
    runtimeReady: condition('RuntimeReady'),
    networkReady: condition('NetworkReady'),
    handlers: runtimeHandlers.map((handler) => ({
      name: handler.name,
      recursiveReadOnlyMounts: handler.features?.recursiveReadOnlyMounts ?? false,
      userNamespaces: handler.features?.userNamespaces ?? false,
    })),
    supplementalGroupsPolicy: features?.supplementalGroupsPolicy ?? false,
    userNamespacesHostNetwork: features?.userNamespacesHostNetwork ?? false,
  };
}
