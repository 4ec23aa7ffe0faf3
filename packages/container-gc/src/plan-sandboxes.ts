import { isRemovable, type PodStateProvider } from './policy.ts';

/** A sandbox as the plan sees it. */
export interface GcSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly ready: boolean;
  readonly attempt: number;
  readonly createdAtMs: number;
}

/**
 * Which sandboxes go, the oldest first: those that are not ready and hold no container, all of them where their pod is
 * gone, and all but the pod's newest sandbox where it is not (`evictSandboxes`,
 * `pkg/kubelet/kuberuntime/kuberuntime_gc.go`).
 * @param occupied ids of the sandboxes that containers belong to
 */
export function planSandboxGc<S extends GcSandbox>(
  sandboxes: readonly S[],
  occupied: ReadonlySet<string>,
  pods: PodStateProvider,
  evictNonDeletedPods: boolean,
): readonly S[] {
  const seen = new Set<string>();
  const removed: S[] = [];
  for (const sandbox of [...sandboxes].sort(newestFirst)) {
    const isNewest = !seen.has(sandbox.podUid);
    seen.add(sandbox.podUid);
    if (sandbox.ready || occupied.has(sandbox.id)) continue;
    if (isNewest && !isRemovable(sandbox.podUid, pods, evictNonDeletedPods)) continue;
    removed.push(sandbox);
  }
  return removed.reverse();
}

function newestFirst(a: GcSandbox, b: GcSandbox): number {
  return b.createdAtMs - a.createdAtMs || b.attempt - a.attempt;
}
