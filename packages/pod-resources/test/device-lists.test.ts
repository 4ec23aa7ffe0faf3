import { describe, expect, it } from 'vitest';
import { placedDevices } from '../src/device-lists.ts';

describe('placedDevices', () => {
  // One by one it would take longer than a test may.
  it('costs as much as there are nodes and devices, of a plugin that tells of nodes without end, too', () => {
    const of = (nodes: number) =>
      new Map([['example.com/gpu', new Map(Array.from({ length: nodes }, (_, node) => [node, ['a']] as const))]]);
    const [device] = placedDevices(of(300_000));
    expect(device?.numaNodes.length).toBe(300_000);
  });
});
