import { sleep } from '@node-agent/async';
import { typicalLatencies } from '@node-agent/fake-cri';
import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { pod } from './builders.ts';
import { Machine, sleeper } from './machine.ts';

const PODS = 50;
const CONCURRENCY = 4;

const pods: readonly Pod[] = Array.from({ length: PODS }, (_, n) =>
  pod({ containers: [sleeper('a')] }, { name: `web-${n}`, uid: `uid-${n}` }),
);

/** Returns a runtime whose machine starts `CONCURRENCY` sandboxes at full speed; more of them slow each other down. */
function busyRuntime({ cri, clock }: Machine): Machine['cri'] {
  let running = 0;
  return new Proxy(cri, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'runPodSandbox') return typeof value === 'function' ? value.bind(target) : value;
      return async (...given: Parameters<typeof target.runPodSandbox>) => {
        running++;
        const slowdown = Math.max(0, running / CONCURRENCY - 1);
        await sleep(clock, slowdown * (typicalLatencies.runPodSandboxMs ?? 0));
        return await target.runPodSandbox(...given).finally(() => running--);
      };
    },
  });
}

/** Returns the time at which each pod became ready, in ms after the first call. */
async function readyTimes(runtimeOf: (machine: Machine) => Machine['cri']): Promise<number[]> {
  const machine = new Machine({ runtime: { latencies: typicalLatencies }, options: { startConcurrency: CONCURRENCY } });
  const kubelet = machine.kubelet(runtimeOf(machine));
  const ready: number[] = [];
  const signal = new AbortController().signal;
  const work = pods.map(async (aPod) => {
    const { uid, name, namespace } = aPod.metadata;
    const result = await kubelet.syncPod(aPod, await kubelet.getPodStatus(uid, name, namespace), signal);
    expect(result.error).toBeUndefined();
    ready.push(machine.clock.monotonic());
  });
  await machine.settle(Promise.all(work));
  expect(machine.live()).toHaveLength(PODS);
  return ready;
}

/** Returns how long the runtime calls alone would take for the same pods, with the same concurrency. */
function bareRuntimeMs(): number {
  const { runPodSandboxMs = 0, createContainerMs = 0, startContainerMs = 0 } = typicalLatencies;
  return Math.ceil(PODS / CONCURRENCY) * (runPodSandboxMs + createContainerMs + startContainerMs);
}

test('on a busy machine, a batch of pods starts little slower than its runtime calls alone, and half of the pods in half of the time', async () => {
  const ready = await readyTimes(busyRuntime);
  const lastMs = ready.at(-1) ?? 0;
  const medianMs = ready[PODS / 2] ?? 0;
  expect(lastMs / bareRuntimeMs()).toBeLessThan(1.15);
  expect(medianMs / lastMs).toBeLessThan(0.6);
});

test('if sandboxes do not slow each other down, a batch of pods starts much faster', async () => {
  const ready = await readyTimes(({ cri }) => cri);
  expect((ready.at(-1) ?? Number.NaN) / bareRuntimeMs()).toBeLessThan(0.3);
});

test('W3: only a few containers of a pod are prepared at a time, to limit memory', async () => {
  let madeReady = 0;
  let created = 0;
  const containerMounts = async (): Promise<[]> => {
    madeReady++;
    expect(madeReady - created).toBeLessThanOrEqual(8);
    return [];
  };
  const machine = new Machine({
    runtime: { latencies: typicalLatencies },
    components: { mounts: { containerMounts } },
  });
  const cri = new Proxy(machine.cri, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'createContainer') return typeof value === 'function' ? value.bind(target) : value;
      return async (...given: Parameters<typeof target.createContainer>) => {
        created++;
        return await target.createContainer(...given);
      };
    },
  });
  const names = Array.from({ length: 100 }, (_, index) => `c${index}`);
  const { error } = await machine.sync(machine.kubelet(cri), pod({ containers: names.map((name) => sleeper(name)) }));
  expect(error).toBeUndefined();
  expect(machine.live()).toHaveLength(names.length);
});

test('C7: only a few images of a pod are requested at a time, so that other pods get their turn', async () => {
  const names = Array.from({ length: 50 }, (_, index) => `c${index}`);
  const asked: string[] = [];
  const machine = new Machine({
    images: {
      async ensureImageExists({ metadata: { name } }, { image = '' }) {
        asked.push(name);
        await sleep(machine.clock, 100);
        return { imageRef: image };
      },
    },
  });
  const kubelet = machine.kubelet();
  const many = pod({ containers: names.map((name) => sleeper(name)) }, { name: 'many', uid: 'many' });
  const one = pod({ containers: [sleeper('a')] }, { name: 'one', uid: 'one' });
  const first = machine.sync(kubelet, many);
  await machine.clock.settle();
  await Promise.all([first, machine.sync(kubelet, one)]);
  expect(asked).toHaveLength(names.length + 1);
  expect(asked.indexOf('one')).toBeLessThan(9);
  expect(machine.live()).toHaveLength(names.length + 1);
});
