import type { Pod } from './api.ts';

/** State of a pod, as tables show it. */
export interface PodState {
  /** Number of ready containers and sidecars, and of all of them, such as `1/2`. */
  readonly ready: string;
  /** A phase or reason, as in kubectl: `Running`, `CrashLoopBackOff`, `Init:0/1`, `Terminating`. */
  readonly status: string;
  readonly restarts: number;
  /** Whether the pod is in the desired state: all containers are ready, or the pod has succeeded. */
  readonly isReady: boolean;
}

type Statuses = NonNullable<NonNullable<Pod['status']>['containerStatuses']>;
type ContainerStatus = Statuses[number];

/** Summarizes a pod's state by the rules of kubectl (`pkg/printers/internalversion/printers.go: printPod`). */
export function podState(pod: Pod): PodState {
  const { spec, metadata } = pod;
  const status = pod.status;
  const inits = status?.initContainerStatuses ?? [];
  const mains = status?.containerStatuses ?? [];
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const isSidecar = (name: string): boolean => sidecars.some((container) => container.name === name);
  const counted = [...inits.filter(({ name }) => isSidecar(name)), ...mains];
  const readyCount = counted.filter(({ ready }) => ready).length;
  const total = spec.containers.length + sidecars.length;
  const restarts = [...inits, ...mains].reduce((sum, { restartCount }) => sum + restartCount, 0);
  const initReason = waitingInit(inits, (spec.initContainers ?? []).length, isSidecar);
  const hasInitialized = (status?.conditions ?? []).some((c) => c.type === 'Initialized' && c.status === 'True');
  const phase = status?.reason || status?.phase || 'Unknown';
  let shown = initReason !== undefined && !hasInitialized ? initReason : (mainReason(mains) ?? phase);
  if (metadata.deletionTimestamp !== undefined && !['Failed', 'Succeeded'].includes(status?.phase ?? '')) {
    shown = 'Terminating';
  }
  const isReady = status?.phase === 'Succeeded' || (status?.phase === 'Running' && total > 0 && readyCount === total);
  return { ready: `${readyCount}/${total}`, status: shown, restarts, isReady };
}

/** Returns the state of the first init container that delays the others, or `undefined`. */
function waitingInit(statuses: Statuses, count: number, isSidecar: (name: string) => boolean): string | undefined {
  for (const [index, { name, state, started }] of statuses.entries()) {
    if (state?.terminated?.exitCode === 0) continue;
    if (isSidecar(name) && started === true) continue;
    if (state?.terminated) return `Init:${terminatedReason(state.terminated)}`;
    const { reason } = state?.waiting ?? {};
    return reason && reason !== 'PodInitializing' ? `Init:${reason}` : `Init:${index}/${count}`;
  }
  return undefined;
}

/** Returns the reason of the first container that neither runs nor has completed as wanted, or `undefined`. */
function mainReason(statuses: Statuses): string | undefined {
  let completed: string | undefined;
  let isAnyRunning = false;
  for (const { state, ready } of statuses) {
    if (state?.waiting?.reason) return state.waiting.reason;
    if (state?.terminated) {
      const reason = terminatedReason(state.terminated);
      if (reason !== 'Completed') return reason;
      completed ??= reason;
    } else if (state?.running) isAnyRunning ||= ready;
  }
  return completed !== undefined && isAnyRunning ? 'Running' : completed;
}

function terminatedReason({
  reason,
  signal,
  exitCode,
}: NonNullable<NonNullable<ContainerStatus['state']>['terminated']>): string {
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`);
}
