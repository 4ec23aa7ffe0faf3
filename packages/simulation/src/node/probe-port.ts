import { withTimeout } from '@node-agent/async';
import type { NodePorts } from '@node-agent/kubelet-assembly';
import type { Probed, ProbeTargets } from '../world/probe-targets.ts';
import type { Lease } from './lease.ts';

/** Type of the port that sends the HTTP request of a probe. */
export type ProbeHttp = NonNullable<NonNullable<NodePorts['probePorts']>['http']>;

const ANSWERS = { well: 200, badly: 503 } as const;

/** Wraps probes for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function probePort(lease: Lease, targets: ProbeTargets, tell: (probed: Probed) => void): ProbeHttp {
  const refused = { kind: 'fault', message: 'connection refused' } as const;
  const late = { kind: 'fault', message: 'context deadline exceeded' } as const;
  return async ({ target }, timeoutMs, signal) => {
    const probed = targets.ask(target, lease.nowMs);
    if (lease.dead) return await new Promise<never>(() => {});
    if (probed === undefined) return refused;
    tell(probed);
    if (probed.answer !== 'never') return { kind: 'answer', status: ANSWERS[probed.answer], body: '' };
    return await withTimeout(lease.clock, timeoutMs, () => new Promise<never>(() => {}), signal).catch(() => late);
  };
}
