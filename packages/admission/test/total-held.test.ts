import { addResources, type Pod, podRequests } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { runningTotal } from '../src/total-held.ts';

const amounts = {
  cpu: fc.constantFrom('100m', '1', '0'),
  memory: fc.constantFrom('64Mi', '1500k'),
  'a/b': fc.constant('1'),
};
const requests = fc.record(amounts, { requiredKeys: [] });

function podOf(index: number, list: Partial<Record<string, string>>): Pod {
  const resources = { requests: list as Record<string, string> };
  return {
    metadata: { name: `p${index}`, namespace: 'default', uid: `u${index}` },
    spec: { containers: [{ name: 'c', image: 'i', resources }] },
  };
}

test('N1: the running total of any lists of pods, one after another, equals the sum over each list', () => {
  const lists = fc.array(fc.array(fc.nat({ max: 7 }), { maxLength: 10 }), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(requests, { minLength: 8, maxLength: 8 }), lists, (all, chosen) => {
      const pods = all.map((list, index) => podOf(index, list));
      const totalOf = runningTotal(podRequests);
      for (const indexes of chosen) {
        const listed = indexes.flatMap((index) => pods[index] ?? []);
        const sum = addResources(...listed.map((pod) => podRequests(pod)));
        const total = totalOf(listed);
        for (const name of Object.keys(amounts)) {
          expect(total.get(name)?.nanos ?? 0n).toBe(sum.get(name)?.nanos ?? 0n);
        }
      }
    }),
  );
});

test('a total over 1,000 pods reads only the pods that were added or removed since the last total', () => {
  let reads = 0;
  const totalOf = runningTotal((pod) => {
    reads++;
    return podRequests(pod);
  });
  const pods = Array.from({ length: 1000 }, (_, index) => podOf(index, { cpu: '1' }));
  totalOf(pods);
  reads = 0;
  expect(
    totalOf([...pods.slice(2), podOf(1000, { cpu: '5' })])
      .get('cpu')
      ?.value(),
  ).toBe(1003n);
  expect(reads).toBe(3);
});

test('a total over 1,000 pods of which two were replaced or removed looks up no other pod', () => {
  const totalOf = runningTotal(podRequests);
  const pods = Array.from({ length: 1000 }, (_, index) => podOf(index, { cpu: '1' }));
  totalOf(pods);
  const spies = [vi.spyOn(Set.prototype, 'has'), vi.spyOn(Map.prototype, 'get')];
  const changed = pods.toSpliced(700, 1).with(3, podOf(1000, { cpu: '5' }));
  const sum = totalOf(changed).get('cpu');
  const known = new WeakSet<object>(pods);
  const lookedUp = spies.flatMap(({ mock }) => mock.calls.filter(([key]) => known.has(key)));
  for (const spy of spies) spy.mockRestore();
  expect(sum?.value()).toBe(1003n);
  expect(lookedUp).toHaveLength(2);
});

test('the running total starts again after the resources of a pod could not be read', () => {
  const totalOf = runningTotal(podRequests);
  const pods = [podOf(0, { cpu: '1' }), podOf(1, { cpu: '2' })];
  totalOf(pods);
  expect(() => totalOf([podOf(2, { cpu: '4' }), podOf(3, { cpu: 'much' })])).toThrow();
  expect(totalOf(pods).get('cpu')?.value()).toBe(3n);
});
