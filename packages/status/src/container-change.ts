import { bareContainerId, type ContainerStatus, type Pod, type PodPhase, type PodStatus } from '@node-agent/pod-spec';
import { readinessPhase, readyConditions, showsEnd } from './conditions.ts';

/** Probe result of one container. */
export type ContainerChange = Readonly<Partial<Pick<ContainerStatus, 'ready' | 'started'>>>;

/**
 * Returns the status with a probe result applied to the container with this ID, and with the conditions that follow.
 * @returns `undefined` if nothing changes or the status has no such container
 */
export function withContainerChange(
  pod: Pod,
  status: PodStatus,
  containerId: string,
  change: ContainerChange,
): PodStatus | undefined {
  let changed = false;
  const applied = (statuses: readonly ContainerStatus[]): readonly ContainerStatus[] =>
    statuses.map((container) => {
      if (bareContainerId(container.containerID) !== containerId) return container;
      const next = { ...container, ...change };
      changed ||= next.ready !== container.ready || next.started !== container.started;
      return next;
    });
  const main = applied(status.containerStatuses ?? []);
  const init = applied(status.initContainerStatuses ?? []);
  if (!changed) return undefined;

  const conditions = status.conditions ?? [];
  const statuses = [...init, ...main];
  const ready = new Map(
    readyConditions({
      pod,
      phase: readinessPhase(pod, (status.phase ?? 'Unknown') as PodPhase, statuses, showsEnd(status)),
      statuses,
      otherConditions: conditions,
    }).map((condition) => [condition.type, condition]),
  );
  return {
    ...status,
    conditions: conditions.map((condition) => ready.get(condition.type) ?? condition),
    ...(status.containerStatuses && { containerStatuses: main }),
    ...(status.initContainerStatuses && { initContainerStatuses: init }),
  };
}
