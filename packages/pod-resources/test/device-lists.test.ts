import { describe, expect, it } from 'vitest';
import { placedDevices } from '../src/device-lists.ts';

describe('placedDevices', () => {
  // Quadratic time would exceed the test's timeout.
  it('placedDevices takes time linear in nodes and devices, even for a plugin that reports very many nodes', () => {
    const of = (nodes: number) =>
      new Map([['example.com/gpu', new Map(Array.from({ length: nodes }, (_, node) => [node, ['a']] as const))]]);
    const [device] = placedDevices(of(300_000));
    expect(device?.numaNodes.length).toBe(300_000);
  });
});
