import type { Pod } from '@node-agent/pod-spec';
import { expect } from 'vitest';
import type { PodRuntimeComponents } from '../src/pod-runtime.ts';
import type { Machine } from './machine.ts';

type Cri = PodRuntimeComponents['cri'];

/** The runtime as one kubelet sees it that is killed at its `at`th call: before it is sent, or before it is answered. */
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

/** C1, by what the runtime itself says. */
export function expectNoTwins(machine: Machine): void {
  const names = machine.cri.liveContainers().map(({ podUid, name }) => `${podUid}/${name}`);
  expect(names.length, `two of one name: ${machine.live().join()}`).toBe(new Set(names).size);
}

/** Syncs a pod by a new kubelet, again and again; no two containers of a name live at any time. */
export async function converge(machine: Machine, web: Pod, rounds = 8): Promise<void> {
  const kubelet = machine.kubelet();
  for (let n = 0; n < rounds; n++) {
    await machine.sync(kubelet, web);
    expectNoTwins(machine);
    await machine.clock.advance(2_000);
    expectNoTwins(machine);
  }
}
