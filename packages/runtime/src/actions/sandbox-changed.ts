import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';

/** What is to become of a pod's sandbox. */
export interface SandboxVerdict {
  /** Whether a new one is needed. */
  readonly changed: boolean;
  /** The attempt number of the new one, or of the one that stays. */
  readonly attempt: number;
  /** The newest sandbox there is; '' for none, or none worth mentioning. */
  readonly sandboxId: string;
}

/**
 * Whether a pod's newest sandbox still serves it: it is ready and the only ready one, on the network that the pod
 * asks for, and has an address unless that is the host's (`PodSandboxChanged` in `pkg/kubelet/kuberuntime/util`).
 */
export function podSandboxChanged(pod: Pod, status: Pick<RuntimePodStatus, 'sandboxes'>): SandboxVerdict {
  const newest = status.sandboxes[0];
  if (newest === undefined) return { changed: true, attempt: 0, sandboxId: '' };
  // The highest attempt, not the newest's: a runtime refuses a second sandbox of a number that it has seen.
  const attempt = Math.max(...status.sandboxes.map((sandbox) => sandbox.attempt));
  const next = { changed: true, attempt: attempt + 1, sandboxId: newest.id };

  const ready = status.sandboxes.filter((sandbox) => sandbox.state === 'ready').length;
  if (ready > 1 || newest.state !== 'ready') return next;
  const hostNetwork = pod.spec.hostNetwork ?? false;
  if (newest.hostNetwork !== hostNetwork) return { ...next, sandboxId: '' };
  if (!hostNetwork && newest.ips.length === 0 && newest.networkReported !== false) return next;
  return { changed: false, attempt: newest.attempt, sandboxId: newest.id };
}
