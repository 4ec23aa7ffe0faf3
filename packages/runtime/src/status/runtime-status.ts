import type { RuntimeService } from '@node-agent/cri-client';
import { PodRuntimeError } from '../errors.ts';

/** One of the runtime's conditions. */
export interface RuntimeCondition {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}

/** One way in which the runtime can run pods. */
export interface RuntimeHandlerInfo {
  /** '' for the default one. */
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** What the runtime says of itself. */
export interface RuntimeStatus {
  readonly runtimeReady: RuntimeCondition;
  readonly networkReady: RuntimeCondition;
  readonly handlers: readonly RuntimeHandlerInfo[];
  readonly supplementalGroupsPolicy: boolean;
  readonly userNamespacesHostNetwork: boolean;
}

/**
 * What a runtime answers to Status. A condition that it does not mention does not hold.
 * @throws CriError, and PodRuntimeError `BadAnswer` where there is no status in the answer
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
