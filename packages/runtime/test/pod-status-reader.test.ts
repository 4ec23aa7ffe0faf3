import { memoryForeignFiles } from '@node-agent/host/testing';
import type { RuntimePod } from '@node-agent/pod-spec';
import { describe, expect, test, vi } from 'vitest';
import { pod } from './builders.ts';
import { Machine, type MachineOptions, once, sleeper } from './machine.ts';

/**
 * Returns a fake machine with a kubelet. `read` returns how often the runtime's method `call` was called since the last
 * call of `read`.
 */
function counting(call = 'podSandboxStatus'): {
  readonly machine: Machine;
  readonly kubelet: ReturnType<Machine['kubelet']>;
  readonly read: () => number;
} {
  const machine = new Machine();
  let count = 0;
  const { cri } = machine;
  const kubelet = machine.kubelet(
    new Proxy(cri, {
      get(target, name) {
        if (name === call) count++;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }),
  );
  // The constructor reads the method to see whether it exists, which is not counted.
  count = 0;
  const read = (): number => {
    const counted = count;
    count = 0;
    return counted;
  };
  return { machine, kubelet, read };
}

test("reads a sandbox's status once while the sandbox is ready, and again when it is not", async () => {
  const { machine, kubelet, read } = counting();
  const web = pod({ containers: [sleeper('a')] });
  await machine.sync(kubelet, web);
  expect(read()).toBe(1);
  const status = await machine.status(kubelet, web);
  expect(status.ips).toHaveLength(1);
  expect(read()).toBe(0);

  machine.cri.killSandbox(status.sandboxes[0]?.id ?? '');
  expect((await machine.status(kubelet, web)).sandboxes).toMatchObject([{ state: 'notReady' }]);
  expect(read()).toBe(1);
  await machine.status(kubelet, web);
  expect(read()).toBe(1);
});

test('returns the status of a sandbox that another kubelet process read before', async () => {
  const { machine, kubelet, read } = counting();
  const web = pod({ containers: [sleeper('a')] });
  await machine.sync(kubelet, web);
  const { sandboxes, ips } = await machine.status(kubelet, web);
  expect(await machine.status(machine.kubelet(), web)).toMatchObject({ sandboxes, ips });
  read();
  kubelet.forget(web.metadata.uid);
  await machine.status(kubelet, web);
  expect(read()).toBe(1);
});

test('reads the status of a sandbox without IPs again', async () => {
  const { machine, kubelet, read } = counting();
  const web = pod({ hostNetwork: true, containers: [sleeper('a')] });
  await machine.sync(kubelet, web);
  await machine.status(kubelet, web);
  expect(read()).toBe(2);
});

test('reads an exited container once with its termination message, and a running container each time', async () => {
  const { machine, kubelet, read } = counting('containerStatus');
  const web = pod({ restartPolicy: 'Never', containers: [sleeper('a'), once('b', 3)] });
  await machine.sync(kubelet, web);
  await machine.clock.advance(1000);
  const status = await machine.status(kubelet, web);
  expect(new Map(status.containers.map(({ name, state }) => [name, state]))).toEqual(
    new Map([
      ['a', 'running'],
      ['b', 'exited'],
    ]),
  );
  read();
  expect((await machine.status(kubelet, web)).containers).toEqual(status.containers);
  expect(read()).toBe(1);
  kubelet.forget(web.metadata.uid);
  expect((await machine.status(kubelet, web)).containers).toEqual(status.containers);
  expect(read()).toBe(2);
});

test('K4: does not keep a removed container', async () => {
  const { machine, kubelet, read } = counting('containerStatus');
  const web = pod({ restartPolicy: 'Never', containers: [sleeper('a'), once('b')] });
  await machine.sync(kubelet, web);
  await machine.clock.advance(1000);
  const id = (await machine.status(kubelet, web)).containers.find(({ name }) => name === 'b')?.id ?? '';
  await machine.cri.removeContainer({ containerId: id });
  expect((await machine.status(kubelet, web)).containers.map(({ name }) => name)).toEqual(['a']);
  expect(read()).toBeGreaterThan(0);
});

test('reads an exited container again if its termination message may come from a log that is written late', async () => {
  const { machine, kubelet, read } = counting('containerStatus');
  const terminationMessagePolicy = 'FallbackToLogsOnError';
  const web = pod({ restartPolicy: 'Never', containers: [once('b', 3, { terminationMessagePolicy })] });
  await machine.sync(kubelet, web);
  await machine.clock.advance(1000);
  await machine.status(kubelet, web);
  read();
  await machine.status(kubelet, web);
  expect(read()).toBe(1);
});

test('W6: omits a termination message on a volume that hangs, without opening its file', async () => {
  const hostPath = '/mnt/server/message';
  const mount = {
    hostPath,
    containerPath: '/message',
    readOnly: false,
    recursiveReadOnly: false,
    selinuxRelabel: false,
  };
  const containerMounts = async () => [{ ...mount, propagation: 'None' as const }];
  const components: NonNullable<MachineOptions['components']> = { mounts: { containerMounts } };
  const machine = new Machine({ components });
  const { fs, clock } = machine;
  Object.assign(components, { foreignFiles: memoryForeignFiles({ clock, fs }) });
  await fs.mkdir('/mnt/server');
  const opened = vi.spyOn(fs, 'openBeneath');
  fs.injectFault({ path: (path) => path.startsWith('/mnt/server'), code: 'EIO', hangs: true });
  const kubelet = machine.kubelet();
  const web = pod({ restartPolicy: 'Never', containers: [once('b', 3, { terminationMessagePath: '/message' })] });
  await machine.sync(kubelet, web);
  await machine.clock.advance(1000);
  const { containers } = await machine.status(kubelet, web);
  expect(containers).toMatchObject([{ exitCode: 3, message: expect.stringContaining('ETIMEDOUT') }]);
  expect(opened).not.toHaveBeenCalledWith('/mnt/server', expect.anything());
});

describe('containers created with the runtime’s own tools, without the kubelet’s labels', () => {
  const sandboxConfig = (uid: string) => ({
    metadata: { name: 'stranger', uid, namespace: 'default', attempt: 0 },
    logDirectory: '/var/log/pods/stranger',
  });
  const addContainer = async (machine: Machine, podSandboxId: string, name: string, uid: string): Promise<string> => {
    const { cri } = machine;
    const config = { metadata: { name, attempt: 0 }, image: { image: 'busybox' }, command: ['sleep', '3600'] };
    const { containerId } = await machine.settle(
      cri.createContainer({ podSandboxId, config, sandboxConfig: sandboxConfig(uid) }),
    );
    await machine.settle(cri.startContainer({ containerId }));
    return containerId;
  };
  const listed = async (machine: Machine, kubelet: ReturnType<Machine['kubelet']>, uid: string) => {
    const found = (await machine.settle(kubelet.getPods())).find((candidate) => candidate.uid === uid);
    const of = ({ sandboxes, containers }: Pick<RuntimePod, 'sandboxes' | 'containers'>) => ({
      sandboxes: sandboxes.map(({ id, state }) => `${id} ${state}`),
      containers: containers.map(({ id, name, state }) => `${id} ${name} ${state}`),
    });
    return {
      inList: of(found ?? { sandboxes: [], containers: [] }),
      inLook: of(await machine.settle(kubelet.getPodStatus(uid, '', ''))),
    };
  };

  test('containers created with the runtime’s own tools have the same status in their pod as in the list of all pods', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const { podSandboxId } = await machine.settle(machine.cri.runPodSandbox({ config: sandboxConfig('u-2') }));
    const id = await addContainer(machine, podSandboxId, 'c', 'u-2');
    const { inList, inLook } = await listed(machine, kubelet, 'u-2');
    expect(inList).toEqual({ sandboxes: [`${podSandboxId} ready`], containers: [`${id} c running`] });
    expect(inLook).toEqual(inList);
    await machine.settle(machine.cri.stopPodSandbox({ podSandboxId }));
    expect((await listed(machine, kubelet, 'u-2')).inLook.containers).toEqual([`${id} c exited`]);
    await machine.settle(machine.cri.removePodSandbox({ podSandboxId }));
    expect((await listed(machine, kubelet, 'u-2')).inLook).toEqual({ sandboxes: [], containers: [] });
  });

  test('a container created with the runtime’s own tools is shown in a pod of the kubelet', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')] });
    await machine.sync(kubelet, web);
    const podSandboxId = (await machine.status(kubelet, web)).sandboxes[0]?.id ?? '';
    await addContainer(machine, podSandboxId, 'theirs', 'uid-1');
    const { inList, inLook } = await listed(machine, kubelet, 'uid-1');
    expect(inList.containers).toHaveLength(2);
    expect(inLook).toEqual(inList);
  });

  test('containers created with the runtime’s own tools do not affect reading the kubelet’s pods by label', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const { cri } = machine;
    const list = vi.spyOn(cri, 'listContainers');
    const { podSandboxId } = await machine.settle(cri.runPodSandbox({ config: sandboxConfig('u-2') }));
    await machine.settle(kubelet.getPods());
    await machine.settle(cri.stopPodSandbox({ podSandboxId }));
    await machine.settle(cri.removePodSandbox({ podSandboxId }));
    for (const uid of ['uid-1', 'u-2', 'u-2']) await machine.settle(kubelet.getPodStatus(uid, '', ''));
    const labelled = (uid: string) => ({ 'io.kubernetes.pod.uid': uid });
    const filters = list.mock.calls.map(([request]) => request.filter?.labelSelector);
    expect(filters).toEqual([undefined, labelled('uid-1'), undefined, labelled('u-2')]);
  });
});
