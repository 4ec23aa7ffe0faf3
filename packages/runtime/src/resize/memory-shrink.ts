import type { PodSandboxStats } from '@node-agent/cri-client';
import { aggregateText } from '@node-agent/telemetry';
import type { ContainerUpdate } from '../actions/resize-actions.ts';

/** Memory limits that decrease. */
export interface ShrinkingMemory {
  /** New limit of the pod; absent if it does not decrease. */
  readonly podBytes?: number;
  /** New limits by container name. */
  readonly containers: ReadonlyMap<string, number>;
}

/** Returns the containers whose memory limit decreases or is newly set, with the new limit. */
export function shrinkingContainers(updates: readonly ContainerUpdate[]): ReadonlyMap<string, number> {
  return new Map(
    updates.flatMap(({ container: { name }, current, desired }) => {
      const { memoryLimitBytes: limit } = desired;
      const shrinks = limit !== 0 && (current.memoryLimitBytes === 0 || limit < current.memoryLimitBytes);
      return shrinks ? [[name, limit] as const] : [];
    }),
  );
}

/**
 * Returns why memory limits cannot be decreased now: the pod or a container uses more and would be OOM killed
 * (`validateMemoryResizeAction` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`). Returns `undefined` if the limits
 * can be decreased. For a container, upstream's message shows the pod's usage.
 */
export function shrinkProblem({ podBytes, containers }: ShrinkingMemory, stats: PodSandboxStats): string | undefined {
  const problems: string[] = [];
  if (podBytes !== undefined) {
    const used = stats.linux?.memory?.usageBytes?.value;
    if (used === undefined) problems.push('missing pod memory usage');
    else if (used >= podBytes) {
      problems.push(`attempting to set pod memory limit (${podBytes}) below current usage (${used})`);
    }
  }
  for (const { attributes, memory } of stats.linux?.containers ?? []) {
    const name = attributes?.metadata?.name ?? '';
    const limit = containers.get(name);
    if (limit === undefined) continue;
    const used = memory?.usageBytes?.value;
    if (used === undefined) problems.push(`missing container ${JSON.stringify(name)} memory usage`);
    else if (used >= limit) {
      const what = `container ${JSON.stringify(name)} memory limit (${limit})`;
      problems.push(`attempting to set ${what} below current usage (${used})`);
    }
  }
  if (problems.length === 0) return undefined;
  return `cannot decrease memory limits: ${aggregateText(problems)}`;
}
