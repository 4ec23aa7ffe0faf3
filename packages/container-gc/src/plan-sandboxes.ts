import { isRemovable, type PodStateProvider } from './policy.ts';

/** The data of a sandbox that the plan needs. */
export interface GcSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly ready: boolean;
  readonly attempt: number;
  readonly createdAtMs: number;
}

/**
 * Returns the sandboxes to remove, first attempts first. Sandboxes with containers are kept. If the pod is removed, all
 * other sandboxes are removed; otherwise the pod's newest sandbox and its ready sandboxes are kept, too. Upstream never
 * removes a ready sandbox, not even of a removed pod (`evictSandboxes`, `pkg/kubelet/kuberuntime/kuberuntime_gc.go`).
 * @param occupied IDs of the sandboxes that have containers
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
    // A ready sandbox serves its pod. If the pod is removed, a ready sandbox was created by a call whose caller had
    // already given up (K4).
    const isOfUse = sandbox.ready || isNewest;
    if (isOfUse && !isRemovable(sandbox.podUid, pods, evictNonDeletedPods)) continue;
    removed.push(sandbox);
  }
  return removed.reverse();
}

/**
 * Orders sandboxes by attempt number, newest first. Upstream orders sandboxes by time, which is wrong after the clock
 * was set back.
 */
function newestFirst(a: GcSandbox, b: GcSandbox): number {
  return b.attempt - a.attempt || b.createdAtMs - a.createdAtMs;
}
