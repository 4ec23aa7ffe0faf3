import { NamespaceMode } from '@node-agent/cri-client';
import { describe, expect, test } from 'vitest';
import type { AssemblySettings } from '../src/ports.ts';
import { makePod, makeWorld, startKubelet, type World } from './node.ts';

const K64 = 65_536;
const userNamespaces = { range: { firstId: K64, length: 2 * K64 }, maxPods: 2 };

const start = (world: World, settings: Partial<AssemblySettings> = { userNamespaces }) =>
  startKubelet(world, [], undefined, [], {}, settings);

/** Wraps a machine so that the requests which its runtime receives are recorded by call. */
function watching(world: World) {
  const told: { sandboxes: unknown[]; containers: { options: unknown; mounts: readonly unknown[] }[] } = {
    sandboxes: [],
    containers: [],
  };
  const cri = new Proxy(world.cri, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const { config } = (args[0] ?? {}) as { config?: Parameters<typeof world.cri.createContainer>[0]['config'] };
        const options = config?.linux?.securityContext?.namespaceOptions?.usernsOptions;
        if (name === 'runPodSandbox') told.sandboxes.push(options);
        if (name === 'createContainer') told.containers.push({ options, mounts: config?.mounts ?? [] });
        return Reflect.apply(member, target, args);
      };
    },
  });
  return { told, world: { ...world, cri } };
}

describe('pod with a user namespace', () => {
  test('a pod with a user namespace has the same IDs in sandbox, containers and mounts; other pods have the node’s', async () => {
    const { told, world } = watching(await makeWorld());
    const { setPods, stop } = start(world);
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    const container = {
      name: 'main',
      image: 'busybox',
      imagePullPolicy: 'Never',
      command: ['sleep', '9'],
      volumeMounts,
    };
    setPods([makePod('own', { hostUsers: false, volumes: [{ name: 'data', emptyDir: {} }], containers: [container] })]);
    await world.clock.advance(5000);
    const file = JSON.parse(new TextDecoder().decode(await world.fs.readFile('/root/pods/uid-own/userns')));
    const ids = { mode: NamespaceMode.POD, uids: file.uidMappings, gids: file.gidMappings };
    expect(file.uidMappings).toEqual([{ hostId: expect.any(Number), containerId: 0, length: K64 }]);
    expect(told.sandboxes).toEqual([ids]);
    expect(told.containers[0]?.options).toEqual(ids);
    const mapped = { uidMappings: file.uidMappings, gidMappings: file.gidMappings };
    const paths = ['/data', '/etc/hosts', '/dev/termination-log'];
    expect(told.containers[0]?.mounts).toEqual(
      paths.map((containerPath) => expect.objectContaining({ containerPath, ...mapped })),
    );

    setPods([makePod('plain')]);
    await world.clock.advance(20_000);
    expect(told.sandboxes[1]).toMatchObject({ mode: NamespaceMode.NODE });
    expect(await world.fs.exists('/root/pods/uid-own/userns')).toBe(false);
    await stop();
  });

  test('K1: a pod with a user namespace keeps its IDs over a kubelet restart, and releases them when it is gone', async () => {
    const { told, world } = watching(await makeWorld());
    const pods = ['one', 'two'].map((name) => makePod(name, { hostUsers: false }));
    const first = start(world);
    first.setPods(pods);
    await world.clock.advance(5000);
    await first.stop();

    const second = start(world);
    const third = makePod('three', { hostUsers: false });
    second.setPods([...pods, third]);
    await world.clock.advance(5000);
    expect(told.sandboxes).toHaveLength(2);
    const failed = world.events
      .eventsOf({ kind: 'Pod', namespace: 'default', name: 'three', uid: 'uid-three' })
      .find(({ reason }) => reason === 'FailedCreatePodSandBox');
    expect(failed?.message).toBe(
      'Failed to create pod sandbox: create user namespace: could not find an empty slot to allocate a user namespace',
    );
    second.setPods([...pods.slice(1), third]);
    await world.clock.advance(120_000);
    expect(told.sandboxes).toHaveLength(3);
    expect(told.sandboxes[2]).toEqual(told.sandboxes[0]);
    await second.stop();
  });

  test('a pod with a user namespace waits with the reason if the runtime or the kernel does not support it', async () => {
    const world = await makeWorld();
    const pod = { kind: 'Pod', namespace: 'default', name: 'own', uid: 'uid-own' };
    const messages = () => world.events.eventsOf(pod).map(({ message }) => message);
    const old = new Proxy(world.cri, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        if (name !== 'status') return member.bind(target);
        return async (...args: unknown[]) => ({ ...(await Reflect.apply(member, target, args)), runtimeHandlers: [] });
      },
    });
    const without = start({ ...world, cri: old });
    without.setPods([makePod('own', { hostUsers: false })]);
    await world.clock.advance(5000);
    expect(messages()).toEqual([
      "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    ]);
    await without.stop();

    const kernel = start(world, { userNamespaces: { unavailable: 'the kernel has none' } });
    kernel.setPods([makePod('own', { hostUsers: false })]);
    await world.clock.advance(5000);
    expect(messages()).toContain(
      "Failed to create pod sandbox: can't set `spec.hostUsers: false`, the kernel has none",
    );
    await kernel.stop();
  });
});
