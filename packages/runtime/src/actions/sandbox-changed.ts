import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';

/** Verdict on a pod's sandbox. */
export interface SandboxVerdict {
  /** Whether a new sandbox is needed. */
  readonly changed: boolean;
  /** Attempt number of the new sandbox, or of the existing one if it is kept. */
  readonly attempt: number;
  /** ID of the newest sandbox; '' if there is none, or if the host network setting changed. */
  readonly sandboxId: string;
}

/**
 * Returns whether a pod needs a new sandbox. The newest sandbox is kept if it is ready, is the only ready one, has the
 * network mode of the pod, and has an address unless it uses the host network (`PodSandboxChanged` in
 * `pkg/kubelet/kuberuntime/util`).
 */
export function podSandboxChanged(pod: Pod, status: Pick<RuntimePodStatus, 'sandboxes'>): SandboxVerdict {
  const newest = status.sandboxes[0];
  if (newest === undefined) return { changed: true, attempt: 0, sandboxId: '' };
  // The number is one above the highest attempt, which need not be the attempt of the newest sandbox: a runtime rejects
  // a second sandbox with a number that it has seen.
  const attempt = Math.max(...status.sandboxes.map((sandbox) => sandbox.attempt));
  const next = { changed: true, attempt: attempt + 1, sandboxId: newest.id };

  const ready = status.sandboxes.filter((sandbox) => sandbox.state === 'ready').length;
  if (ready > 1 || newest.state !== 'ready') return next;
  const hostNetwork = pod.spec.hostNetwork ?? false;
  if (newest.hostNetwork !== hostNetwork) return { ...next, sandboxId: '' };
  if (!hostNetwork && newest.ips.length === 0 && newest.networkReported !== false) return next;
  return { changed: false, attempt: newest.attempt, sandboxId: newest.id };
}
