import type { Facts } from '../facts/facts.ts';
import type { PortCall } from '../node/lease.ts';
import type { Life } from '../world/ledger.ts';

interface Request {
  readonly containerId?: string;
  readonly podSandboxId?: string;
  readonly sandboxConfig?: { readonly metadata?: { readonly uid?: string } };
  readonly config?: { readonly metadata?: { readonly uid?: string } };
}

/** Returns the UID of the pod that a runtime call concerns, or `undefined` if the call concerns no known pod. */
export function calledFor({ port, args }: PortCall, facts: Facts): string | undefined {
  if (port !== 'cri') return undefined;
  const { containerId, podSandboxId, sandboxConfig, config } = (args[0] ?? {}) as Request;
  if (containerId) return facts.lives.byId(containerId)?.podUid;
  return sandboxConfig?.metadata?.uid ?? config?.metadata?.uid ?? facts.lives.uidOfSandbox(podSandboxId ?? '');
}

const NONE: readonly Life[] = [];

/** Returns the running containers that a call stops. */
export function stoppedBy({ port, name, args }: PortCall, facts: Facts): readonly Life[] {
  if (port !== 'cri') return NONE;
  const { containerId, podSandboxId } = (args[0] ?? {}) as Request;
  if (name === 'stopContainer' || name === 'removeContainer')
    return facts.lives.running.filter(({ id }) => id === containerId);
  if (name === 'stopPodSandbox' || name === 'removePodSandbox') {
    return facts.lives.running.filter(({ sandboxId }) => sandboxId === podSandboxId);
  }
  return NONE;
}
