import type { RpcFault } from '@node-agent/fake-cri';
import { describe, expect, test } from 'vitest';
import { ids, makePod, makeWorld, type StartedKubelet, startKubelet, type World } from './node.ts';

const phases = ({ kubelet }: StartedKubelet): string[] =>
  kubelet.getPods().map(({ metadata, status }) => `${metadata.name} ${status?.phase}`);

const warnings = ({ events }: World, name: string): string[] =>
  events
    .eventsOf({ kind: 'Pod', namespace: 'default', name, uid: `uid-${name}` })
    .filter(({ type }) => type === 'Warning')
    .map(({ reason, message }) => `${reason}: ${message}`);

describe('full disk', () => {
  test.each([
    ['root', '/root/pods'],
    ['log', '/logs/pods'],
  ])(
    'a full disk in the %s directory causes an event for each pod that it blocks, until there is space',
    async (_name, under) => {
      const world = await makeWorld();
      const node = startKubelet(world);
      const full = world.fs.injectFault({ operation: 'mkdir', path: under, code: 'ENOSPC', times: Infinity });
      node.setPods([makePod('web')]);
      await world.clock.advance(60_000);
      expect(phases(node)).toEqual(['web Pending']);
      expect(warnings(world, 'web').join('\n')).toContain('ENOSPC');

      full.remove();
      await world.clock.advance(60_000);
      expect(phases(node)).toEqual(['web Running']);
      await node.stop();
    },
  );
});

describe('K2: container runtime', () => {
  const away: readonly (readonly [string, RpcFault])[] = [
    ['hangs', { kind: 'hang' }],
    ['fails', { kind: 'error', code: 'UNAVAILABLE', message: 'connection refused' }],
    ['answers with empty responses', { kind: 'nonsense', nonsense: 'empty' }],
    ['answers without metadata', { kind: 'nonsense', nonsense: 'noMetadata' }],
    ['answers with unknown states', { kind: 'nonsense', nonsense: 'unknownState' }],
    ['answers without ids', { kind: 'nonsense', nonsense: 'noIds' }],
    ['answers without labels', { kind: 'nonsense', nonsense: 'noLabels' }],
  ];

  test.each(away)(
    'K2: a runtime that %s for a minute keeps its running pods, and new pods start afterwards',
    async (_name, fault) => {
      const world = await makeWorld();
      const node = startKubelet(world);
      node.setPods([makePod('old')]);
      await world.clock.advance(10_000);
      const [before] = await ids(world.cri);
      expect(phases(node)).toEqual(['old Running']);

      world.cri.faults.add({ rpc: '*', fault });
      node.setPods([makePod('old'), makePod('new')]);
      await world.clock.advance(60_000);
      world.cri.faults.clear();
      await world.clock.advance(180_000);

      expect(phases(node)).toEqual(['old Running', 'new Running']);
      expect(world.cri.liveContainers().map(({ id }) => id)).toContain(before);
      expect(world.cri.liveContainers()).toHaveLength(2);
      expect(node.kubelet.health()).toEqual({ syncloop: undefined, pleg: undefined, runtime: undefined });
      await node.stop();
      expect(world.clock.pendingTimers).toBe(0);
    },
  );

  test('K2: the kubelet waits for a runtime that is unavailable at the start, and health reports the reason', async () => {
    const world = await makeWorld();
    world.cri.crash();
    const node = startKubelet(world);
    node.setPods([makePod('web')]);
    await world.clock.advance(60_000);
    expect(node.kubelet.health().runtime).toContain('connection error: the runtime is not running');
    world.cri.recover();
    await world.clock.advance(15_000);
    expect(phases(node)).toEqual(['web Running']);
    await node.stop();
  });

  test('K2: a runtime that hangs is reported as down within a minute', async () => {
    const world = await makeWorld();
    const node = startKubelet(world);
    await world.clock.advance(10_000);
    world.cri.faults.add({ rpc: '*', fault: { kind: 'hang' } });
    await world.clock.advance(60_000);
    expect(node.kubelet.health().runtime).toContain('container runtime is down');
    await node.stop();
  });
});
