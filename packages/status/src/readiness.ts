import type { ProbeResults } from '@node-agent/contracts';
import {
  bareContainerId,
  type Container,
  type ContainerStatus,
  initFailed,
  isRestartableInit,
  type Pod,
} from '@node-agent/pod-spec';
import { exited } from './exited.ts';

/** Probe results that a container's status shows. */
export type StatusProbeResults = Pick<ProbeResults, 'readiness' | 'startup'>;

/** Results for containers without probes. */
export const noProbeResults: StatusProbeResults = { startup: () => undefined, readiness: () => undefined };

/**
 * Adds `started` and `ready` to the statuses of main and init containers (R1; `UpdatePodStatus` in
 * `pkg/kubelet/prober/prober_manager.go`).
 * @param previous the last reported statuses; after a kubelet restart they apply until the first probe result (S6)
 */
export function withReadiness(
  containers: readonly Container[],
  statuses: readonly ContainerStatus[],
  previous: readonly ContainerStatus[],
  probes: StatusProbeResults,
): readonly ContainerStatus[] {
  const specs = new Map(containers.map((container) => [container.name, container]));
  return statuses.map((status) => {
    const spec = specs.get(status.name);
    const before = previous.find(({ name, containerID }) => name === status.name && containerID === status.containerID);
    const started = isStarted(spec, status, before, probes);
    return { ...status, started, ready: isReady(spec, status, before, probes, started) };
  });
}

/**
 * Like {@link withReadiness}, for init containers. An init container that is not a sidecar is ready when it has
 * succeeded.
 */
export function withInitReadiness(
  pod: Pod,
  statuses: readonly ContainerStatus[],
  previous: readonly ContainerStatus[],
  probes: StatusProbeResults,
): readonly ContainerStatus[] {
  const containers = pod.spec.initContainers ?? [];
  const sidecars = new Set(containers.filter(isRestartableInit).map((container) => container.name));
  return withReadiness(containers, statuses, previous, probes).map((status) => {
    if (sidecars.has(status.name)) return status;
    const terminated = status.state?.terminated;
    return { ...status, ready: terminated != null && !initFailed(exited(terminated)) };
  });
}

function isStarted(
  spec: Container | undefined,
  status: ContainerStatus,
  before: ContainerStatus | undefined,
  probes: StatusProbeResults,
): boolean {
  if (status.state?.running == null) return false;
  if (spec?.startupProbe === undefined) return true;
  const result = probes.startup(bareContainerId(status.containerID));
  return result === undefined ? before?.started === true : result === 'success';
}

function isReady(
  spec: Container | undefined,
  status: ContainerStatus,
  before: ContainerStatus | undefined,
  probes: StatusProbeResults,
  started: boolean,
): boolean {
  if (!started) return false;
  if (spec?.readinessProbe === undefined) return true;
  const result = probes.readiness(bareContainerId(status.containerID));
  return result === undefined ? before?.ready === true : result === 'success';
}
