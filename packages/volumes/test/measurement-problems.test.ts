import { FakeClock } from '@node-agent/async/testing';
import type { Pod } from '@node-agent/pod-spec';
import { noEvents } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { expect, it } from 'vitest';
import type { VolumePlugin } from '../src/manager/plugin.ts';
import { VolumeUsages } from '../src/manager/volume-usage.ts';
import { podOf } from './helpers.ts';

/** Pods with two volumes each, and the error that each measurement throws, by pod UID. */
function make(uids: readonly string[]) {
  const { logger, lines } = captureLogger();
  const failures = new Map<string, Error>();
  const fileSystem = { totalBytes: 1, freeBytes: 1, availableBytes: 1, inodes: 1, freeInodes: 1 };
  const usage: VolumePlugin['usage'] = async (_mounted, _volume, pod) => {
    const failure = failures.get(pod.metadata.uid);
    if (failure !== undefined) throw failure;
    return { bytes: 1, inodes: 1, complete: true, fileSystem };
  };
  const pods = uids.map((uid) =>
    podOf(
      ['a', 'b'].map((name) => ({ name, emptyDir: {} })),
      uid,
    ),
  );
  const readyOf = ({ metadata, spec }: Pod) =>
    (spec.volumes ?? []).map((volume) => {
      const hostPath = `/${metadata.uid}/${volume.name}`;
      const resolved = { volume, directoryName: volume.name };
      return [volume.name, { hostPath, readOnly: false, selinuxRelabel: false, resolved }] as const;
    });
  const ready = new Map(pods.map((pod) => [pod.metadata.uid, new Map(readyOf(pod))]));
  const plugins = { of: (): VolumePlugin => ({ usage }) as VolumePlugin };
  const allMounted = (uid: string) => ready.get(uid) ?? new Map();
  const usages = new VolumeUsages({ plugins, clock: new FakeClock(), logger, recorder: noEvents, allMounted });
  const round = async (): Promise<void> => {
    const { signal } = new AbortController();
    for (const pod of pods) await usages.of(pod, signal);
  };
  const shown = (): readonly unknown[] =>
    lines.splice(0).flatMap(({ level, message, fields: { podUid, failures } }) => {
      return level === 'debug' ? [] : [[level, message, podUid, ...(failures === undefined ? [] : [failures])]];
    });
  const fail = (uid: string, why: string | undefined): void => {
    if (why === undefined) failures.delete(uid);
    else failures.set(uid, new Error(why));
  };
  return { usages, round, shown, fail, ready };
}

const FAILED = 'Failed to measure a volume';
const AGAIN = 'Measured a volume again after failures';

it('a driver that is away causes one log line for all its volumes, and one with the number of failures when it is back', async () => {
  const { round, shown, fail } = make(['u1', 'u2']);
  for (const uid of ['u1', 'u2']) fail(uid, 'driver is not registered');
  for (let i = 0; i < 3; i++) await round();
  expect(shown()).toEqual([['warn', FAILED, 'u1']]);
  fail('u1', undefined);
  await round();
  expect(shown()).toEqual([]);
  fail('u2', undefined);
  for (let i = 0; i < 2; i++) await round();
  // Three rounds with four volumes, and one with two.
  expect(shown()).toEqual([['info', AGAIN, 'u2', 14]]);
});

it('each new reason why volumes cannot be measured is logged, and a reason that has ended is logged when it comes again', async () => {
  const { round, shown, fail } = make(['u1', 'u2']);
  fail('u1', 'disk is broken');
  fail('u2', 'driver is not registered');
  for (let i = 0; i < 2; i++) await round();
  expect(shown()).toEqual([
    ['warn', FAILED, 'u1'],
    ['warn', FAILED, 'u2'],
  ]);
  fail('u2', 'driver is overloaded');
  await round();
  fail('u2', 'driver is not registered');
  await round();
  expect(shown()).toEqual([
    ['warn', FAILED, 'u2'],
    ['warn', FAILED, 'u2'],
  ]);
});

it('the failure of a measurement is dropped if the volumes of its pod are removed during the measurement', async () => {
  const { round, shown, fail, ready } = make(['u1']);
  fail('u1', 'driver is not registered');
  const mounted = ready.get('u1') ?? new Map();
  const running = round();
  ready.delete('u1');
  await running;
  ready.set('u1', mounted);
  await round();
  expect(shown()).toEqual([
    ['warn', FAILED, 'u1'],
    ['warn', FAILED, 'u1'],
  ]);
});

it('the failed measurements of a pod that is removed are forgotten', async () => {
  const { usages, round, shown, fail } = make(['u1']);
  fail('u1', 'driver is not registered');
  await round();
  usages.forget('u1');
  await round();
  expect(shown()).toEqual([
    ['warn', FAILED, 'u1'],
    ['warn', FAILED, 'u1'],
  ]);
});
