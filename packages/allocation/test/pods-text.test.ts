import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dataChecksum, decodePods, encodePods, type PodResources } from '../src/index.ts';
import { PodsText } from '../src/pods-text.ts';

const cpu = (amount: number): PodResources => ({ containers: { c: { requests: { cpu: String(amount) } } } });
const entriesOf = (data: string): Record<string, unknown> => JSON.parse(data).entries ?? {};

describe('PodsText', () => {
  test('the state file has all pods, at most one removed pod per four of them, and the right checksum', () => {
    const uid = fc.nat({ max: 60 }).map((number) => `u${number}é`);
    const change = fc.record({ uid, amount: fc.option(fc.integer({ min: 1, max: 3 }), { freq: 3 }) });
    const steps = fc.array(fc.array(change, { maxLength: 20 }), { maxLength: 25 });
    fc.assert(
      fc.property(steps, (all) => {
        const text = new PodsText();
        const pods = new Map<string, PodResources>();
        for (const changes of all) {
          for (const { uid: changed, amount } of changes) {
            if (amount === null) pods.delete(changed);
            else pods.set(changed, cpu(amount));
          }
          const content = text.update(
            pods,
            changes.map((one) => one.uid),
          );
          const entries = entriesOf(content.data);
          expect(entries).toMatchObject(entriesOf(encodePods(pods).data));
          expect(Object.keys(entries).length - pods.size).toBeLessThanOrEqual(pods.size / 4);
          expect(text.checksum(content)).toBe(dataChecksum(content));
          expect(text.checksum({ data: `${content.data} ` })).toBe(dataChecksum({ data: `${content.data} ` }));
          if (pods.size === 0) expect(content).toEqual(encodePods(pods));
        }
      }),
      { numRuns: 60 },
    );
  });

  test("the first state file of a process has the pods in upstream's order, and a new pod is appended at the end", () => {
    const text = new PodsText();
    const pods = new Map([
      ['b', cpu(1)],
      ['c', cpu(2)],
    ]);
    expect(text.update(pods, [])).toEqual(encodePods(pods));
    pods.set('a', cpu(3));
    expect(Object.keys(entriesOf(text.update(pods, ['a']).data))).toEqual(['b', 'c', 'a']);
  });

  test('PodsText encodes only changed pods', () => {
    let reads = 0;
    const counted = (amount: number): PodResources => ({
      get containers() {
        reads++;
        return cpu(amount).containers;
      },
    });
    const text = new PodsText();
    const pods = new Map<string, PodResources>();
    for (let index = 0; index < 500; index++) pods.set(`u${index}`, counted(1));
    text.update(pods, []);
    reads = 0;
    pods.set('new', counted(1));
    pods.set('u7', counted(2));
    pods.delete('u8');
    const { data } = text.update(pods, ['new', 'u7', 'u8']);
    expect(reads).toBe(2);
    expect(decodePods({ data }).get('u7')).toEqual(cpu(2));
  });
});
