import type { Pod } from '@node-agent/pod-spec';
import { expect } from 'vitest';
import type { PodRuntimeComponents } from '../src/pod-runtime.ts';
import type { Machine } from './machine.ts';

type Cri = PodRuntimeComponents['cri'];

/**
 * Returns the runtime as seen by a kubelet that is killed at its call number `at`: before the request is sent, or
 * before the response arrives.
 */
export function killedAt(cri: Cri, at: number, sent: boolean): { readonly cri: Cri; readonly calls: () => number } {
  let calls = 0;
  const never = new Promise<never>(() => {});
  return {
    calls: () => calls,
    cri: new Proxy(cri, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name, target);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => {
          const index = calls++;
          if (index < at) return method.apply(target, args);
          if (index === at && sent) void Promise.resolve(method.apply(target, args)).catch(() => {});
          return never;
        };
      },
    }),
  };
}

/** Checks C1 in the runtime itself: no two running containers of a pod have the same name. */
export function expectNoTwins(machine: Machine): void {
  const names = machine.cri.liveContainers().map(({ podUid, name }) => `${podUid}/${name}`);
  expect(names.length, `two of one name: ${machine.live().join()}`).toBe(new Set(names).size);
}

/** Syncs a pod repeatedly with a new kubelet. At no time may two containers with the same name run. */
export async function converge(machine: Machine, web: Pod, rounds = 8): Promise<void> {
  const kubelet = machine.kubelet();
  for (let n = 0; n < rounds; n++) {
    await machine.sync(kubelet, web);
    expectNoTwins(machine);
    await machine.clock.advance(2_000);
    expectNoTwins(machine);
  }
}
