import type { NodePorts } from '@node-agent/kubelet-assembly';
import type { HookTargets } from '../world/hook-targets.ts';
import type { Lease } from './lease.ts';

/** Type of the port that sends the HTTP request of a hook. */
export type HookHttp = NonNullable<NodePorts['hookHttp']>;

/** Wraps the HTTP requests of hooks for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function hookPort(lease: Lease, targets: HookTargets): HookHttp {
  return async ({ target }, signal) => {
    const call = { port: 'http', name: 'hook', args: [target] } as const;
    const isAnswered = await lease.call(call, signal, (linked) => targets.ask(target, linked));
    return isAnswered ? { kind: 'answer', status: 200, body: '' } : { kind: 'fault', message: 'connection refused' };
  };
}
