import { mayRun, type RuntimePod, type RuntimePodStatus } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PodCache } from '../src/index.ts';
import { toPod, toStatus, truth } from './kit.ts';

const uid = fc.constantFrom('a', 'b', 'c', 'd');
const named = fc.record({ uid, name: fc.constantFrom('x', 'y'), runs: fc.boolean() });
const step = fc.oneof(
  fc.record({ op: fc.constant('list' as const), pods: fc.uniqueArray(named, { selector: (pod) => pod.uid }) }),
  fc.record({ op: fc.constant('set' as const), pod: named, atMs: fc.nat({ max: 9 }) }),
  fc.record({ op: fc.constant('fail' as const), uid, atMs: fc.nat({ max: 9 }) }),
  fc.record({ op: fc.constant('delete' as const), uid, atMs: fc.nat({ max: 9 }) }),
);

it('P4: after any sequence of reads and lists, runningPods returns the same UIDs as a search through all pods', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const cache = new PodCache();
      // Pods in the last list that have not been read since.
      let listed = new Map<string, RuntimePod>();
      cache.list([]);
      for (const one of steps) {
        if (one.op === 'list') {
          const pods = one.pods.map((pod) => ({ ...toPod(pod.uid, stateOf(pod.runs)), ...nameOf(pod.name) }));
          listed = new Map(pods.map((pod) => [pod.uid, pod]));
          cache.list(pods);
        } else {
          const id = one.op === 'set' ? one.pod.uid : one.uid;
          const known = cache.get(id)?.observedAtMs ?? Number.NEGATIVE_INFINITY;
          if (one.op === 'set') {
            const status = { ...toStatus(id, stateOf(one.pod.runs), one.atMs), ...nameOf(one.pod.name) };
            cache.set(id, status, one.atMs);
          } else if (one.op === 'fail') cache.setError(id, new Error('unreadable'), one.atMs);
          else cache.delete(id, one.atMs);
          if (one.op !== 'fail' && known <= one.atMs) listed.delete(id);
        }
        const statuses = ['a', 'b', 'c', 'd'].flatMap((id) => cache.get(id)?.status ?? []);
        for (const name of ['x', 'y']) {
          const all: readonly (RuntimePod | RuntimePodStatus)[] = [...listed.values(), ...statuses];
          const found = all.filter((pod) => pod.name === name && pod.namespace === 'default' && mayRun(pod));
          const running = cache.runningPods(name, 'default') ?? [];
          expect([...running].sort()).toEqual([...new Set(found.map((pod) => pod.uid))].sort());
        }
      }
    }),
    { numRuns: 200 },
  );
});

function stateOf(runs: boolean): ReturnType<typeof truth> {
  return runs ? truth({ c: 'running' }) : truth({ c: 'exited' }, { s: 'notReady' });
}

function nameOf(name: string): { readonly name: string; readonly namespace: string } {
  return { name, namespace: 'default' };
}
