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
 * Which sandboxes go, the first attempts first, of those that hold no container: all of them where their pod is gone, and where it is
 * not, all but the pod's newest one and those that are ready (`evictSandboxes`,
 * `pkg/kubelet/kuberuntime/kuberuntime_gc.go`, which leaves a ready one of a pod that is gone for ever).
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
    if (occupied.has(sandbox.id)) continue;
    // One that is ready serves its pod. Where that is gone, a call that nobody waited for any more has made it (K4).
    const isOfUse = sandbox.ready || isNewest;
    if (isOfUse && !isRemovable(sandbox.podUid, pods, evictNonDeletedPods)) continue;
    removed.push(sandbox);
  }
  return removed.reverse();
}

/** Upstream's go by their times, which a clock that was set back turns round. */
function newestFirst(a: GcSandbox, b: GcSandbox): number {
  return b.attempt - a.attempt || b.createdAtMs - a.createdAtMs;
}
