import { expect, test } from 'vitest';
import { pod } from './builders.ts';
import { Machine, sleeper } from './machine.ts';

/** A kubelet on a machine whose readings of sandboxes are counted. */
function counting(): {
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
        if (name === 'podSandboxStatus') count++;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }),
  );
  const read = (): number => {
    const counted = count;
    count = 0;
    return counted;
  };
  return { machine, kubelet, read };
}

test('a sandbox is read once for as long as it is ready, and again when it is not', async () => {
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

test('what another kubelet has read of a sandbox is the same', async () => {
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

test('a sandbox without addresses is read again: they may be on their way', async () => {
  const { machine, kubelet, read } = counting();
  const web = pod({ hostNetwork: true, containers: [sleeper('a')] });
  await machine.sync(kubelet, web);
  await machine.status(kubelet, web);
  expect(read()).toBe(2);
});
