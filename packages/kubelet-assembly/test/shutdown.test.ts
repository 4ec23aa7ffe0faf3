import { Channel } from '@node-agent/async';
import { FakeDevicePlugin } from '@node-agent/device-manager/testing';
import { MemorySockets } from '@node-agent/grpc/testing';
import { resources } from '@node-agent/kube-client';
import { describe, expect, it } from 'vitest';
import { boundPod, type ClusterWorld, makeCluster, seconds } from './cluster-world.ts';
import { makePod, makeWorld, startKubelet } from './node.ts';

/** Creates a fake of the part of logind that a kubelet uses. */
function makeLogind() {
  const shutdowns = new Channel<boolean>();
  const state = { locks: 0 };
  const session = {
    shutdowns,
    inhibitDelayMs: async () => 60_000,
    isPreparingForShutdown: async () => false,
    reloadConfiguration: async () => {},
    close: () => shutdowns.close(),
  };
  const acquire = async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    state.locks++;
    const release = async (): Promise<void> => {
      state.locks--;
      resolve();
    };
    return { ended, release };
  };
  return { state, shutdowns, ports: { logind: { connect: async () => session }, inhibitor: { acquire } } };
}

const GRACE_PERIODS = [
  { priority: 0, shutdownGracePeriodSeconds: 20 },
  { priority: 2_000_000_000, shutdownGracePeriodSeconds: 10 },
];

async function readyOf({ client }: ClusterWorld): Promise<unknown> {
  const node = await client.get(resources.nodes, { name: 'n1' });
  return node.status?.conditions?.find(({ type }) => type === 'Ready');
}

async function phaseOf({ client }: ClusterWorld, name: string): Promise<string | undefined> {
  return (await client.get(resources.pods, { name, namespace: 'default' })).status?.phase;
}

describe('node shutdown', () => {
  it('a node shutdown stops pods by priority, rejects new ones, and reports not ready until the shutdown is cancelled', async () => {
    const world = await makeCluster();
    const { clock, client } = world;
    const logind = makeLogind();
    const kubelet = world.start({ shutdown: logind.ports }, { shutdown: { gracePeriods: GRACE_PERIODS } });
    await seconds(clock, 15);
    expect(logind.state.locks).toBe(1);
    // The containers ignore SIGTERM, so they stop only when their grace period is over.
    const create = (name: string, spec: Parameters<typeof boundPod>[1]) =>
      client.create(resources.pods, boundPod(name, spec), {});
    await create('plain', { terminationGracePeriodSeconds: 8 });
    await create('critical', { priority: 2_000_001_000, terminationGracePeriodSeconds: 120 });
    await seconds(clock, 5);
    expect(await phaseOf(world, 'plain')).toBe('Running');
    expect(await phaseOf(world, 'critical')).toBe('Running');
    expect(await readyOf(world)).toMatchObject({ status: 'True' });

    logind.shutdowns.push(true);
    await seconds(clock, 2);
    expect(await readyOf(world)).toMatchObject({
      ...{ status: 'False', reason: 'KubeletNotReady', message: 'node is shutting down' },
    });
    await create('late', {});
    await seconds(clock, 2);
    const late = await client.get(resources.pods, { name: 'late', namespace: 'default' });
    expect(late.status).toMatchObject({
      ...{ phase: 'Failed', reason: 'NodeShutdown' },
      message: 'Pod was rejected: Pod was rejected as the node is shutting down.',
    });
    expect(await phaseOf(world, 'plain')).toBe('Running');
    await seconds(clock, 6);
    const message = 'Pod was terminated in response to imminent node shutdown.';
    const plain = await client.get(resources.pods, { name: 'plain', namespace: 'default' });
    expect(plain.status).toMatchObject({ phase: 'Failed', reason: 'Terminated', message });
    expect(plain.status?.conditions).toContainEqual(
      expect.objectContaining({
        ...{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
        observedGeneration: plain.metadata.generation,
      }),
    );
    expect(await phaseOf(world, 'critical')).toBe('Running');
    expect(logind.state.locks).toBe(1);
    await seconds(clock, 11);
    expect(await phaseOf(world, 'critical')).toBe('Failed');
    expect(logind.state.locks).toBe(0);
    expect(await world.fs.exists('/root/graceful_node_shutdown_state')).toBe(true);

    logind.shutdowns.push(false);
    await seconds(clock, 2);
    expect(await readyOf(world)).toMatchObject({ status: 'True', reason: 'KubeletReady' });
    expect(logind.state.locks).toBe(1);
    await create('next', {});
    await seconds(clock, 5);
    expect(await phaseOf(world, 'next')).toBe('Running');
    await kubelet.stop();
    expect(logind.state.locks).toBe(0);
  });

  it('a node shutdown is not delayed if graceful shutdown is not configured', async () => {
    const world = await makeWorld();
    const logind = makeLogind();
    const node = startKubelet(world, [], undefined, [], { shutdown: logind.ports });
    node.setPods([makePod('web')]);
    await world.clock.advance(5000);
    expect(node.kubelet.getPods()[0]?.status?.phase).toBe('Running');
    expect(logind.state.locks).toBe(0);
    await node.stop();
  });

  it('N9: a pod that was in admission when a node shutdown began is rejected', async () => {
    const world = await makeWorld();
    const { clock } = world;
    const logind = makeLogind();
    const transport = new MemorySockets();
    const directory = '/root/device-plugins';
    const node = startKubelet(
      world,
      [],
      undefined,
      [],
      { deviceTransport: transport, shutdown: logind.ports },
      { devices: { directory }, shutdown: { gracePeriods: GRACE_PERIODS } },
    );
    await clock.advance(1000);
    const { promise: answered, resolve } = Promise.withResolvers<object>();
    const resource = 'example.com/gpu';
    const plugin = new FakeDevicePlugin({ resource, directory, transport, clock, allocate: () => answered }, [
      { ID: 'a', health: 'Healthy' },
    ]);
    await plugin.start();
    await plugin.register();
    await clock.advance(1000);
    const main = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
    node.setPods([makePod('slow', { containers: [{ ...main, resources: { limits: { [resource]: '1' } } }] })]);
    await clock.advance(2000);
    logind.shutdowns.push(true);
    await clock.advance(1000);
    resolve({});
    await clock.advance(2000);
    expect(node.kubelet.getPods()[0]?.status).toMatchObject({ phase: 'Failed', reason: 'NodeShutdown' });
    expect((await world.cri.listPodSandbox({})).items).toEqual([]);
    expect(logind.state.locks).toBe(0);
    await node.stop();
  });
});
