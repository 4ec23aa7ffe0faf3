import { expect, test } from 'vitest';
import { criPods } from '../src/index.ts';
import { pod } from './builders.ts';
import { Machine, sleeper } from './machine.ts';

/** Creates a runtime with one running pod, and a reader of the runtime's pods that starts no container. */
async function withOnePod() {
  const machine = new Machine();
  const kubelet = machine.kubelet();
  const web = pod({ containers: [sleeper('a')] });
  await machine.sync(kubelet, web);
  let asked = 0;
  /** Whether the runtime's lists are empty. */
  const lists = { empty: false };
  const cri = new Proxy(machine.cri, {
    get(target, name) {
      if (name === 'podSandboxStatus') asked++;
      if (lists.empty && name === 'listPodSandbox') return async () => ({ items: [] });
      if (lists.empty && name === 'listContainers') return async () => ({ containers: [] });
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const pods = criPods(cri, { clock: machine.clock, fs: machine.fs });
  const status = () => pods.getPodStatus(web.metadata.uid, '', '');
  return { machine, kubelet, web, pods, lists, status, asked: () => asked };
}

test('criPods shows the same pods as a PodRuntime', async () => {
  const { machine, kubelet, web, pods, status } = await withOnePod();
  expect(await pods.getPods()).toEqual(await kubelet.getPods());
  const { name, namespace } = web.metadata;
  expect(await status()).toEqual(await kubelet.getPodStatus(web.metadata.uid, name, namespace));
  machine.cri.killSandbox((await status()).sandboxes[0]?.id ?? '');
  expect(await status()).toMatchObject({ name, namespace, sandboxes: [{ state: 'notReady' }] });
});

test('getPod returns one pod as getPods does, and lists no other pod unless a list by label shows the pod incompletely', async () => {
  const { machine, web } = await withOnePod();
  await machine.sync(machine.kubelet(), pod({ containers: [sleeper('b')] }, { name: 'other', uid: 'uid-2' }));
  const filters: unknown[] = [];
  const cri = new Proxy(machine.cri, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'listPodSandbox') return value.bind(target);
      return (request: { readonly filter?: unknown }, signal?: AbortSignal) => {
        filters.push(request.filter);
        return value.call(target, request, signal);
      };
    },
  });
  const kubelet = machine.kubelet(cri);
  const all = await kubelet.getPods();
  filters.length = 0;
  for (const { uid } of [web.metadata, { uid: 'uid-2' }]) {
    expect(await kubelet.getPod(uid)).toEqual(all.find((one) => one.uid === uid));
  }
  expect(await kubelet.getPod('unknown')).toBeUndefined();
  expect(filters).toEqual(
    [web.metadata.uid, 'uid-2', 'unknown'].map((uid) => ({ labelSelector: { 'io.kubernetes.pod.uid': uid } })),
  );

  const config = { metadata: { name: 'bare', namespace: 'default', uid: 'uid-3', attempt: 0 }, logDirectory: '/l' };
  await machine.settle(machine.cri.runPodSandbox({ config, runtimeHandler: '' }));
  const found = (await kubelet.getPods()).find(({ uid }) => uid === 'uid-3');
  expect(found?.sandboxes).toHaveLength(1);
  expect(await kubelet.getPod('uid-3')).toEqual(found);
});

test('getPod returns only its pod if the runtime ignores the filter of a list', async () => {
  const { machine, web } = await withOnePod();
  await machine.clock.advance(1_000);
  await machine.sync(machine.kubelet(), pod({ containers: [sleeper('b')] }, { name: 'other', uid: 'uid-2' }));
  const cri = new Proxy(machine.cri, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const listsAll = name === 'listPodSandbox' || name === 'listContainers';
      return (request: object, ...rest: unknown[]) => value.call(target, listsAll ? {} : request, ...rest);
    },
  });
  const kubelet = machine.kubelet(cri);
  const all = await kubelet.getPods();
  expect(all.map(({ uid }) => uid).toSorted()).toEqual([web.metadata.uid, 'uid-2']);
  for (const one of all) expect(await kubelet.getPod(one.uid)).toEqual(one);
  expect(await kubelet.getPod('unknown')).toBeUndefined();
});

test('runtime events contain the pod, the container and the kind of event', async () => {
  const { machine, web, pods, status } = await withOnePod();
  const stop = new AbortController();
  const id = (await status()).containers[0]?.id ?? '';
  const stopped = (async () => {
    for await (const item of pods.containerEvents(stop.signal)) if (item.kind === 'stopped') return item;
    return undefined;
  })();
  await machine.clock.advance(0);
  machine.cri.killContainer(id, { exitCode: 1 });
  expect(await stopped).toMatchObject({ podUid: web.metadata.uid, podName: web.metadata.name, containerId: id });
  stop.abort();
});

test('K4: criPods forgets a pod that is no longer listed', async () => {
  const { pods, lists, status, asked } = await withOnePod();
  await status();
  await status();
  expect(asked(), 'a sandbox that is ready is read once').toBe(1);
  lists.empty = true;
  expect(await pods.getPods()).toEqual([]);
  lists.empty = false;
  await status();
  expect(asked()).toBe(2);
});

test('criPods reads a pod without the kubelet’s labels after an event, before any list shows it', async () => {
  const { machine, pods } = await withOnePod();
  const stop = new AbortController();
  const told = (async () => {
    for await (const { podUid } of pods.containerEvents(stop.signal)) if (podUid === 'bare-u') return podUid;
    return undefined;
  })();
  await machine.clock.advance(0);
  const metadata = { name: 'bare', namespace: 'default', uid: 'bare-u', attempt: 0 };
  const { podSandboxId } = await machine.cri.runPodSandbox({ config: { metadata } });
  expect(await told).toBe('bare-u');
  expect(await pods.getPodStatus('bare-u', '', '')).toMatchObject({ name: 'bare', sandboxes: [{ id: podSandboxId }] });
  stop.abort();
});
