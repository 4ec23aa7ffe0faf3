import { expect, test } from 'vitest';
import { makePod, makeWorld, startKubelet, type World } from './node.ts';

const MINUTES = 10;

/** Wraps a port so that its calls are counted by method. */
function counting<T extends object>(port: T, asked: Map<string, number>): T {
  return new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        asked.set(String(name), (asked.get(String(name)) ?? 0) + 1);
        return Reflect.apply(value, target, args);
      };
    },
  });
}

interface AtRest {
  readonly fs: Readonly<Record<string, number>>;
  readonly cri: Readonly<Record<string, number>>;
  /** Number of instants per minute at which a timer was due, not counting the timers of the in-memory machine. */
  readonly wakings: number;
}

/** Returns the calls to the file system and the runtime per minute while pods run and nothing changes. */
async function askedAtRest(pods: number): Promise<AtRest> {
  const machine = await makeWorld();
  const wakings = new Set<number>();
  const clock = noting(machine.clock, wakings);
  const world: World = { ...machine, clock };
  const [files, calls] = [new Map<string, number>(), new Map<string, number>()];
  const counted: World = { ...world, fs: counting(world.fs, files), cri: counting(world.cri, calls) };
  const logs = { maxSizeBytes: 10 * 2 ** 20, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 10_000 };
  const { setPods, status, stop } = startKubelet(counted, [], undefined, [], {}, { logs });
  const volumes = [
    { name: 'filled', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
    { name: 'scratch', emptyDir: {} },
  ];
  const container = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const containers = [{ ...container, volumeMounts }];
  setPods(Array.from({ length: pods }, (_, index) => makePod(`p${index}`, { volumes, containers })));
  await world.clock.advance(300_000);
  expect(status.getStatuses().filter(({ status: { phase } }) => phase === 'Running')).toHaveLength(pods);
  for (const asked of [files, calls, wakings]) asked.clear();
  await world.clock.advance(MINUTES * 60_000);
  await stop();
  const perMinute = (asked: Map<string, number>) =>
    Object.fromEntries([...asked].map(([name, times]) => [name, times / MINUTES]));
  return { fs: perMinute(files), cri: perMinute(calls), wakings: wakings.size / MINUTES };
}

/** Wraps a clock so that the instants at which its timers are due are recorded. */
function noting(clock: World['clock'], instants: Set<number>): World['clock'] {
  return new Proxy(clock, {
    get(target, name) {
      if (name === 'setTimer') {
        return (delayMs: number, callback: () => void) =>
          target.setTimer(delayMs, () => {
            instants.add(Math.round(target.monotonic()));
            callback();
          });
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

test('an idle pod costs one check of its log every ten seconds, and two other file system calls per minute', async () => {
  const [few, many] = [await askedAtRest(2), await askedAtRest(12)];
  const perPod = (name: string): number => ((many.fs[name] ?? 0) - (few.fs[name] ?? 0)) / 10;
  expect(perPod('stat')).toBeCloseTo(6, 0);
  expect(perPod('readlink')).toBeLessThanOrEqual(1.1);
  const others = Object.keys(many.fs).filter((name) => !['stat', 'readlink'].includes(name));
  // The remaining calls measure the disk usage of each pod, once every ten minutes.
  expect(others.reduce((sum, name) => sum + perPod(name), 0)).toBeLessThan(1.1);
  const writes = others.filter((name) => /write|chmod|chown|rename|symlink/i.test(name));
  expect(writes.filter((name) => perPod(name) > 0)).toEqual([]);
});

test('an idle kubelet queries the runtime equally often for many pods and for few', async () => {
  const [few, many] = [await askedAtRest(2), await askedAtRest(12)];
  expect(many.cri).toEqual(few.cri);
  const { status = 0, listContainers = 0, listPodSandbox = 0, listImages = 0, ...others } = many.cri;
  expect(others).toEqual({});
  expect([status, listContainers, listPodSandbox]).toEqual([12, expect.any(Number), expect.any(Number)]);
  // The remaining calls come from log rotation every ten seconds, and from PLEG, housekeeping and garbage collection
  // every minute.
  expect(listContainers + listPodSandbox + listImages).toBeLessThanOrEqual(12);
});

test('an idle process is woken about once per second, however many pods there are', async () => {
  const [few, many] = [await askedAtRest(2), await askedAtRest(50)];
  expect(many.wakings).toBe(few.wakings);
  expect(many.wakings).toBeLessThanOrEqual(61);
});
