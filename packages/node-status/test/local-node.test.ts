import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { LocalNode } from '../src/local-node.ts';
import { conditionOf } from '../src/node.ts';
import type { NodeFactSources } from '../src/node-facts.ts';

const NOW = new AbortController().signal;

function setUp() {
  const clock = new FakeClock();
  const state = { errors: [] as string[], memory: false, isDown: false };
  const sources: NodeFactSources = {
    machine: async () => ({
      ...{ machineId: 'm1', systemUuid: 's1', bootId: 'b1', kernelVersion: '6.1.0', osImage: 'Debian' },
      ...{ cpuCount: 2, memoryBytes: 2 ** 30, swapBytes: 0, hugePages: [] },
    }),
    network: async () => ({ hostAddresses: ['10.0.0.1'], namedAddresses: [], defaultAddress: '10.0.0.1' }),
    runtimeVersion: async () => {
      if (state.isDown) throw new Error('the runtime is down');
      return { name: 'containerd', version: '2.1.9' };
    },
    images: async () => [],
    ephemeralStorageBytes: async () => 2 ** 30,
    readiness: () => ({ runtimeErrors: state.errors, networkErrors: [] }),
    pressure: () => ({ memory: state.memory, disk: false, pid: false }),
  };
  const options = { nodeName: 'n1', hostname: 'n1', kubeletVersion: 'v1.36.3', architecture: 'amd64' };
  return { clock, state, node: new LocalNode({ clock, sources }, options) };
}

describe('LocalNode', () => {
  test('LocalNode describes conditions, capacity and versions without an API server', async () => {
    const { node } = setUp();
    const { metadata, status } = await node.read(NOW);
    expect(metadata.name).toBe('n1');
    expect(status?.capacity).toMatchObject({ cpu: '2', memory: '1Gi', pods: '110' });
    expect(status?.nodeInfo).toMatchObject({
      ...{ kubeletVersion: 'v1.36.3', containerRuntimeVersion: 'containerd://2.1.9', kernelVersion: '6.1.0' },
    });
    expect(status?.conditions?.map(({ type, status: is }) => [type, is])).toEqual([
      ['MemoryPressure', 'False'],
      ['DiskPressure', 'False'],
      ['PIDPressure', 'False'],
      ['Ready', 'True'],
    ]);
  });

  test('LocalNode keeps the transition time of a condition that has not changed', async () => {
    const { clock, state, node } = setUp();
    const first = await node.read(NOW);
    await clock.advance(60_000);
    state.memory = true;
    state.errors = ['container runtime is down'];
    const second = await node.read(NOW);
    const times = (type: string) => [first, second].map((read) => conditionOf(read, type)?.lastTransitionTime);
    expect(times('DiskPressure')[0]).toBe(times('DiskPressure')[1]);
    expect(times('MemoryPressure')[0]).not.toBe(times('MemoryPressure')[1]);
    expect(conditionOf(second, 'Ready')).toMatchObject({ status: 'False', message: 'container runtime is down' });
  });

  test('LocalNode keeps the last known runtime version while the runtime does not respond', async () => {
    const { clock, state, node } = setUp();
    await node.read(NOW);
    state.isDown = true;
    await clock.advance(120_000);
    expect((await node.read(NOW)).status?.nodeInfo?.containerRuntimeVersion).toBe('containerd://2.1.9');
  });
});
