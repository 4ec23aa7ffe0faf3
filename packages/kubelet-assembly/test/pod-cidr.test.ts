import { FakeClock } from '@node-agent/async/testing';
import { CriError } from '@node-agent/cri-client';
import { silentLogger } from '@node-agent/telemetry';
import { expect, test } from 'vitest';
import { PodCidr } from '../src/pod-cidr.ts';
import { makeWorld, startKubelet } from './node.ts';

function setUp(configured: string) {
  const clock = new FakeClock();
  const told: string[] = [];
  const runtime: { refuses: CriError['code'] | undefined } = { refuses: undefined };
  const cri = {
    async updateRuntimeConfig({
      runtimeConfig,
    }: {
      runtimeConfig?: { networkConfig?: { podCidr?: string } | null } | null;
    }) {
      told.push(runtimeConfig?.networkConfig?.podCidr ?? '');
      if (runtime.refuses !== undefined)
        throw new CriError({ rpc: 'UpdateRuntimeConfig', code: runtime.refuses, details: 'not now' });
      return {};
    },
  };
  const podCidr = new PodCidr({ clock, logger: silentLogger, cri: cri as never }, configured);
  return { podCidr, clock, told, runtime, signal: new AbortController().signal };
}

test('passes the configured pod CIDR to the runtime, and retries until the runtime accepts the range', async () => {
  const { podCidr, clock, told, runtime, signal } = setUp('10.1.0.0/24');
  runtime.refuses = 'UNAVAILABLE';
  const started = podCidr.start(signal);
  await clock.settle();
  runtime.refuses = undefined;
  await clock.advance(10_000);
  await started;
  expect(told).toEqual(['10.1.0.0/24', '10.1.0.0/24']);
});

test('the pod CIDR is not retried if the runtime does not implement the call, and an empty pod CIDR is not passed', async () => {
  const { podCidr, told, runtime, signal } = setUp('10.1.0.0/24');
  runtime.refuses = 'UNIMPLEMENTED';
  await podCidr.start(signal);
  expect(told).toEqual(['10.1.0.0/24']);
  const none = setUp('');
  await none.podCidr.start(none.signal);
  expect(none.told).toEqual([]);
});

test('the pod CIDR of the API server replaces the configured one', async () => {
  const { podCidr, clock, told, runtime, signal } = setUp('10.1.0.0/24');
  runtime.refuses = 'UNAVAILABLE';
  const started = podCidr.start(signal);
  await clock.settle();
  runtime.refuses = undefined;
  await podCidr.update('10.2.0.0/24,fd00::/64', signal);
  await podCidr.update('10.2.0.0/24,fd00::/64', signal);
  await clock.advance(10_000);
  await started;
  expect(told).toEqual(['10.1.0.0/24', '10.2.0.0/24,fd00::/64']);
});

test('the pod CIDR is passed to the runtime when the runtime reports ready', async () => {
  const world = await makeWorld();
  const told: unknown[] = [];
  const update = world.cri.updateRuntimeConfig;
  Object.assign(world.cri, {
    updateRuntimeConfig: (...args: Parameters<typeof update>) => {
      told.push(args[0].runtimeConfig?.networkConfig?.podCidr);
      return update(...args);
    },
  });
  const kubelet = startKubelet(world, [], undefined, [], {}, { podCidr: '10.1.0.0/24' });
  await world.clock.advance(1000);
  expect(told).toEqual(['10.1.0.0/24']);
  await kubelet.stop();
});
