import { sleep } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { messages } from '@node-agent/cri-client';
import { describe, expect, it } from 'vitest';
import { StatsError } from '../src/errors.ts';
import { resourceMetrics } from '../src/resource-metrics.ts';
import { SharedCollection } from '../src/shared-collection.ts';
import { StatsProvider } from '../src/stats-provider.ts';
import { summaryJson } from '../src/summary.ts';
import { CONTAINER, type Numbers, START_MS, UID, World } from './world.ts';

const options = { nodeName: 'node-1', rootDirectory: '/var/lib/kubelet', podLogsDirectory: '/var/log/pods' };
const signal = new AbortController().signal;
const main: Numbers = { cpuNs: 5_000_000_000, usage: 3000, inactiveFile: 1000, rss: 700, pids: [11] };

async function node() {
  const world = new World(2);
  await world.writeMachine();
  await world.writeGroup('/', { cpuNs: 9_000_000_000, usage: 6000, inactiveFile: 2000, rss: 900 });
  await world.addPod(main);
  return { world, provider: new StatsProvider(world.components, options) };
}

describe('shared collection', () => {
  const made = (maxAgeMs = 5000) => {
    const clock = new FakeClock();
    const ends: ((value: number | Error) => void)[] = [];
    let begun = 0;
    const collect = (): Promise<number> => {
      begun += 1;
      return new Promise((resolve, reject) =>
        ends.push((value) => (typeof value === 'number' ? resolve(value) : reject(value))),
      );
    };
    const work = { collect, isWhole: (value: number) => value >= 0 };
    const shared = new SharedCollection<number>({ clock }, { maxAgeMs, deadlineMs: 20_000 }, work);
    return { clock, ends, shared, begun: () => begun };
  };

  it('a collection serves all callers during its run and within its maximum age', async () => {
    const { clock, ends, shared, begun } = made();
    const asked = [shared.get({}, signal), shared.get({}, signal)];
    ends[0]?.(1);
    expect(await Promise.all(asked)).toEqual([1, 1]);
    await clock.advance(5000);
    expect(await shared.get({}, signal)).toBe(1);
    await clock.advance(1);
    void shared.get({}, signal);
    expect(begun()).toBe(2);
  });

  it('N2: callers that request fresh stats do not share a collection that already runs, but share the next collection', async () => {
    const { ends, shared, begun } = made();
    const old = shared.get({}, signal);
    const fresh = [shared.get({ fresh: true }, signal), shared.get({ fresh: true }, signal)];
    ends[0]?.(1);
    expect(await old).toBe(1);
    await Promise.resolve();
    await expect.poll(begun).toBe(2);
    ends[1]?.(2);
    expect(await Promise.all(fresh)).toEqual([2, 2]);
    const again = shared.get({ fresh: true }, signal);
    ends[2]?.(3);
    expect(await again).toBe(3);
  });

  it('a collection continues after its first caller aborts', async () => {
    const { ends, shared } = made();
    const gone = new AbortController();
    const first = shared.get({}, gone.signal);
    const second = shared.get({}, signal);
    gone.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    ends[0]?.(1);
    expect(await second).toBe(1);
  });

  it('a collection that hangs ends at its deadline, and the next call starts a new one', async () => {
    const { clock, ends, shared, begun } = made();
    const hung = shared.get({}, signal);
    const outcome = expect(hung).rejects.toMatchObject({ code: 'Timeout' });
    await clock.advance(20_000);
    await outcome;
    const next = shared.get({}, signal);
    expect(begun()).toBe(2);
    ends[1]?.(2);
    expect(await next).toBe(2);
  });

  it('a collection with a missing part serves its waiting callers and is not reused later', async () => {
    const { ends, shared, begun } = made();
    const asked = [shared.get({}, signal), shared.get({}, signal)];
    ends[0]?.(-1);
    expect(await Promise.all(asked)).toEqual([-1, -1]);
    void shared.get({}, signal);
    expect(begun()).toBe(2);
  });

  it('a failed collection rejects for all waiting callers, and the next call retries', async () => {
    const { ends, shared } = made();
    const asked = [shared.get({}, signal), shared.get({}, signal)];
    ends[0]?.(new Error('no'));
    for (const one of asked) await expect(one).rejects.toThrow('no');
    const next = shared.get({}, signal);
    ends[1]?.(2);
    expect(await next).toBe(2);
  });
});

describe('faulty sources of stats', () => {
  it('the error of a failed summary names the failing source: the runtime or the image file system', async () => {
    const { world, provider } = await node();
    world.trouble = async (rpc) => {
      if (rpc === 'imageFsInfo') throw new Error('no images');
      return undefined as never;
    };
    await expect(provider.summary({}, signal)).rejects.toThrow('failed to get imageFs stats: no images');
    world.trouble = async () => {
      throw new Error('gone');
    };
    const failed = provider.summary({ fresh: true }, signal);
    await expect(failed).rejects.toSatisfy((err) => StatsError.is(err) && err.code === 'Unavailable');
    await expect(failed).rejects.toThrow('failed to get imageFs stats: gone');
    await expect(provider.resourceSummary({ fresh: true }, signal)).rejects.toThrow('failed to list pod stats: gone');
  });

  it('cadvisorMetrics reports a scrape error after 10 s if the runtime hangs', async () => {
    const { world, provider } = await node();
    world.trouble = () => new Promise<never>(() => {});
    const asked = provider.cadvisorMetrics(signal);
    await world.clock.advance(10_000);
    expect(await asked).toMatch(/^container_scrape_error 1$/m);
  });

  it('a summary omits only the values of a file system that hangs', async () => {
    const { world, provider } = await node();
    const { statfs } = world;
    world.statfs = async (path) => {
      if (path === '/var/lib/layers') throw Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' });
      return await statfs(path);
    };
    const [pod] = (await provider.summary({}, signal)).pods;
    expect(pod?.containers[0]?.rootfs).toEqual({ time: '2026-03-01T12:00:00.000Z', usedBytes: 4096, inodesUsed: 3 });
  });

  it('W6: a file system that hangs does not keep a scraper from the other metrics', async () => {
    const { world, provider } = await node();
    await world.write(
      '/proc/self/mountinfo',
      '1 0 254:1 / / rw - ext4 /dev/vda1 rw\n2 0 254:2 / /mnt rw - ext4 /dev/vda2 rw\n',
    );
    const { statfs } = world;
    const { promise: isAsked, resolve } = Promise.withResolvers<void>();
    world.statfs = (path) => {
      if (path !== '/mnt') return statfs(path);
      resolve();
      return new Promise<never>(() => {});
    };
    const asked = provider.cadvisorMetrics(signal);
    await isAsked;
    await world.clock.advance(3000);
    const text = await asked;
    expect(text).toMatch(/^container_fs_limit_bytes\{[^}]*device="\/dev\/vda1"/m);
    expect(text).not.toContain('/dev/vda2');
    expect(text).toMatch(/^container_cpu_usage_seconds_total\{[^}]*container="main"/m);
  });

  it('implausible runtime values produce neither a negative number nor a wrong time', async () => {
    const { world, provider } = await node();
    await world.fs.removeAll('/sys/fs/cgroup/kubepods');
    const [stats] = world.stats;
    if (stats === undefined) throw new Error('no stats');
    world.stats = [{ ...stats, cpu: { timestamp: START_MS * 1e6, usageCoreNanoSeconds: { value: 1e12 } } }];
    await provider.summary({}, signal);
    await world.clock.advance(10_000);
    // The time decreases, then the usage decreases, then the usage exceeds all CPUs.
    for (const cpu of [
      { timestamp: (START_MS - 5000) * 1e6, usageCoreNanoSeconds: { value: 2e12 } },
      { timestamp: START_MS * 1e6, usageCoreNanoSeconds: { value: 1 } },
      { timestamp: (START_MS + 1000) * 1e6, usageCoreNanoSeconds: { value: 9e15 } },
      { timestamp: -5, usageCoreNanoSeconds: { value: 9e15 } },
    ]) {
      world.stats = [{ ...stats, cpu }];
      const [pod] = (await provider.summary({ fresh: true }, signal)).pods;
      expect(pod?.containers[0]?.cpu).not.toHaveProperty('usageNanoCores');
      if (cpu.timestamp < 0) expect(pod?.containers[0]?.cpu?.time).toBeNull();
    }
  });

  it('invalid counts from the runtime are omitted, and the other values are kept', async () => {
    const { world, provider } = await node();
    const [stats] = world.stats;
    if (stats === undefined) throw new Error('no stats');
    const fsId = { mountpoint: '/var/lib/layers' };
    const writableLayer = {
      timestamp: START_MS * 1e6,
      fsId,
      usedBytes: { value: 2 ** 64 },
      inodesUsed: { value: 2 ** 63 },
    };
    world.stats = [{ ...stats, writableLayer }];
    const text = summaryJson(await provider.summary({}, signal));
    const numbers = [...text.matchAll(/:(-?[\d.e+]+)[,}\]]/g)].map(([, number]) => Number(number));
    expect(numbers.length).toBeGreaterThan(20);
    expect(numbers.filter((number) => !(number >= 0 && number < 2 ** 63))).toEqual([]);
  });

  it('/metrics/cadvisor responds in time if sandbox status calls hang or too many sandboxes exist', async () => {
    const { world } = await node();
    const slow = Array.from({ length: 30 }, (_, n) => `slow${n}`);
    for (const id of ['b', ...slow]) {
      world.sandboxes.push({ id, metadata: { name: id, namespace: 'default', uid: id }, createdAt: 1 });
    }
    const asked: string[] = [];
    const cri = {
      ...world.cri,
      podSandboxStatus: async ({ podSandboxId = '' }, ending?: AbortSignal) => {
        asked.push(podSandboxId);
        if (podSandboxId.startsWith('slow')) await sleep(world.clock, 1_000_000, ending);
        return messages.PodSandboxStatusResponse.create({ info: { info: '{"image":"pause"}' } });
      },
    };
    const provider = new StatsProvider({ ...world.components, cri }, options);
    for (let scrape = 0; scrape < 9; scrape++) {
      const text = provider.cadvisorMetrics(signal);
      await world.clock.advance(4000);
      expect(await Promise.race([text, Promise.resolve('late')])).toMatch(/^container_scrape_error 0$/m);
      await world.clock.advance(10_000);
    }
    // Every sandbox was queried, and the sandboxes that responded were queried once.
    expect(new Set(asked).size).toBe(32);
    expect(asked.filter((id) => !id.startsWith('slow'))).toHaveLength(2);
  });

  // With quadratic cost, this would exceed the time limit of a test.
  it('resourceMetrics takes linear time for a summary with 50,000 containers', () => {
    const containers = Array.from({ length: 50_000 }, (_, n) => ({
      name: `c${n}`,
      startTime: null,
      cpu: { time: null, usageCoreNanoSeconds: n },
      memory: { time: null, workingSetBytes: n },
    }));
    const podRef = { name: 'web', namespace: 'default', uid: 'u' };
    const summary = { node: { nodeName: 'n', startTime: null }, pods: [{ podRef, startTime: null, containers }] };
    const family = resourceMetrics(summary).find(({ name }) => name === 'container_memory_working_set_bytes');
    expect([...(family?.samples ?? [])]).toHaveLength(50_000);
  });

  it('a summary is rejected with the reason if no source is available', async () => {
    const world = new World(2);
    const provider = new StatsProvider(world.components, options);
    await expect(provider.summary({}, signal)).rejects.toThrow('failed to get root cgroup stats');
    const broken = new StatsProvider(
      {
        ...world.components,
        cgroups: async () => {
          throw new Error('no mounts');
        },
      },
      options,
    );
    await expect(broken.summary({}, signal)).rejects.toThrow('failed to find the cgroups: no mounts');
  });

  it('a summary omits only the usage of files that cannot be read', async () => {
    const { world, provider } = await node();
    const logs = `/var/log/pods/default_web_${UID}`;
    await world.write(`${logs}/main/0.log`, 'x'.repeat(5000));
    await world.write(`/var/lib/kubelet/pods/${UID}/etc-hosts`, '127.0.0.1 localhost\n');
    const broken = [`${logs}/main`, logs, `/var/lib/kubelet/pods/${UID}/etc-hosts`].map((path) =>
      world.fs.injectFault({ path, code: 'EIO', times: Number.POSITIVE_INFINITY }),
    );
    const [pod] = (await provider.summary({}, signal)).pods;
    expect(pod?.containers[0]).not.toHaveProperty('logs');
    expect(pod?.containers[0]?.rootfs?.usedBytes).toBe(4096);
    for (const fault of broken) fault.remove();
    const [mended] = (await provider.summary({ fresh: true }, signal)).pods;
    expect(mended?.containers[0]?.logs?.usedBytes).toBe(8192);
  });

  it('a summary omits a cgroup that disappears while it is read', async () => {
    const { world, provider } = await node();
    world.fs.injectFault({
      operation: 'read',
      path: `/sys/fs/cgroup/kubepods/burstable/pod${UID}/cpu.stat`,
      code: 'ENODEV',
    });
    world.fs.injectFault({
      operation: 'read',
      path: `/sys/fs/cgroup/kubepods/burstable/pod${UID}/memory.stat`,
      code: 'ENODEV',
    });
    await world.fs.remove(`/sys/fs/cgroup/kubepods/burstable/pod${UID}/memory.current`);
    const [pod] = (await provider.summary({}, signal)).pods;
    // The pod's memory is now the sum of its containers.
    expect(pod?.memory?.workingSetBytes).toBe(2000);
  });
});

it('a summary omits the counts of open files and processes of a container that has too many, and keeps its other values', async () => {
  const { world, provider } = await node();
  await world.write('/proc/11/fd/0', '');
  const files = /^container_file_descriptors\{.*container="main".*\} (\d+) /m;
  expect(files.exec(await provider.cadvisorMetrics(signal))?.[1]).toBe('1');
  await world.write('/proc/11/status', 'Name:\tx\nFDSize:\t1048576\n');
  await world.clock.advance(6000);
  const text = await provider.cadvisorMetrics(signal);
  expect(text).not.toMatch(files);
  expect(text).toMatch(/^container_processes\{.*container="main".*\} 1 /m);
  await world.fs.remove('/proc/11/status');
  const pids = Array.from({ length: 30_000 }, (_one, index) => index + 1000);
  await world.writeGroup(`/kubepods/burstable/pod${UID}/${CONTAINER}`, { ...main, pids });
  await world.clock.advance(6000);
  const many = await provider.cadvisorMetrics(signal);
  expect(many).not.toMatch(files);
  expect(many).toMatch(/^container_processes\{.*container="main".*\} 30000 /m);
});

it('StatsProvider rejects an invalid stats option with an error that names the option', () => {
  const { components } = new World(2);
  expect(() => new StatsProvider(components, { ...options, maxAgeMs: -1 })).toThrow('maxAgeMs');
  expect(() => new StatsProvider(components, { ...options, deadlineMs: 0 })).toThrow('deadlineMs');
});
