import { setImmediate } from 'node:timers/promises';
import { type Clock, systemClock } from '@node-agent/async';
import { describe, expect, it } from 'vitest';
import { KernelReads } from '../src/kernel-reads.ts';
import { StatsProvider } from '../src/stats-provider.ts';
import { Snapshot } from './snapshot.ts';
import { World } from './world.ts';

const options = { nodeName: 'node-1', rootDirectory: '/var/lib/kubelet', podLogsDirectory: '/var/log/pods' };
const signal = new AbortController().signal;

async function node(version: 1 | 2): Promise<World> {
  const world = new World(version);
  await world.writeMachine();
  await world.writeGroup('/', { cpuNs: 9_000_000_000, usage: 6000, inactiveFile: 2000, rss: 900 });
  await world.addPod({ cpuNs: 5_000_000_000, usage: 3000, inactiveFile: 1000, rss: 700, pids: [11] });
  await world.write('/proc/11/fd/0', '');
  await world.fs.symlink('socket:[77]', '/proc/11/fd/1');
  await world.write('/proc/11/limits', 'Max open files            1024                 4096                 files\n');
  return world;
}

describe.each([1, 2] as const)('synchronous kernel reads, cgroup v%s', (version) => {
  it('synchronous reads return the same metrics as reads through threads and use no thread', async () => {
    const byThreads = await node(version);
    const told = await new StatsProvider(byThreads.components, options).cadvisorMetrics(signal);
    expect(told).toMatch(/^container_sockets\{.* 1 /m);

    const atOnce = await node(version);
    const kernelFiles = await Snapshot.of(atOnce);
    const asked: string[] = [];
    const fs = new Proxy(atOnce.fs, {
      get: (target, method: keyof typeof atOnce.fs) => {
        const value: unknown = target[method];
        if (typeof value !== 'function') return value;
        return (path: string, ...rest: readonly unknown[]): unknown => {
          asked.push(path);
          return value.call(target, path, ...rest);
        };
      },
    });
    const provider = new StatsProvider({ ...atOnce.components, fs, kernelFiles }, options);
    const asking = provider.cadvisorMetrics(signal);
    const ended = asking.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([ended, atOnce.clock.advance(0)]))) await setImmediate();
    expect(await asking).toBe(told);
    expect(asked.filter((path) => /^\/sys\/fs\/cgroup|^\/proc\/\d/.test(path))).toEqual([]);
  });
});

describe('KernelReads', () => {
  it('synchronous reads yield to other tasks from time to time', async () => {
    const world = await node(2);
    let turns = 0;
    const clock: Pick<Clock, 'setTimer'> = {
      setTimer: (callback, delayMs) => {
        turns += 1;
        return systemClock.setTimer(callback, delayMs);
      },
    };
    const reads = new KernelReads({ fs: world.fs, kernelFiles: await Snapshot.of(world), clock });
    for (let look = 0; look < 1000; look += 1) {
      await reads.text('/proc/stat');
      await reads.turn();
    }
    expect(turns).toBe(7);
  });

  it('synchronous reads fail with the error of the kernel', async () => {
    const world = await node(2);
    const reads = new KernelReads({ fs: world.fs, kernelFiles: await Snapshot.of(world), clock: world.clock });
    expect(() => reads.text('/proc/12/status')).toThrow(/no such file/);
    await expect(reads.modifiedAtMs('/none')).rejects.toThrow(/no such file/);
  });
});
