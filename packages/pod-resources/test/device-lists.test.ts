import { describe, expect, it } from 'vitest';
import { placedDevices } from '../src/device-lists.ts';

describe('placedDevices', () => {
  it('costs as much as there are nodes and devices, of a plugin that tells of nodes without end, too', () => {
    const of = (nodes: number) =>
      new Map([['example.com/gpu', new Map(Array.from({ length: nodes }, (_, node) => [node, ['a']] as const))]]);
    const startedAtMs = performance.now();
    const [device] = placedDevices(of(100_000));
    // One by one it would be seconds; half a second is slow for 100,000.
    expect(performance.now() - startedAtMs).toBeLessThan(1_500);
    expect(device?.numaNodes.length).toBe(100_000);
  });
});
