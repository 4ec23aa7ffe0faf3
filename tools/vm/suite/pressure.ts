// Behaviour of cgroups under memory pressure and after external changes, on a real cgroup v2 with systemd.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PodCgroups } from '@node-agent/cm-cgroups';
import { cgroupMemoryGauge, EvictionManager, type EvictionStats, parseThresholds } from '@node-agent/eviction';
import { nodeFileSystem } from '@node-agent/host';
import { type OomKill, OomWatcher, openKmsg, parseMemoryEvents } from '@node-agent/oom-watcher';
import { groupsBelow, open, ROOT, run, systemd, textOf, textsOf } from './machine.ts';
import { makePod } from './pods.ts';

type MemoryFigures = NonNullable<Awaited<ReturnType<EvictionStats['summary']>>['node']['memory']>;

const MI = 1024 ** 2;
const { signal } = new AbortController();
const TIMEOUT = { timeout: 300_000 };

/** Starts a program in a cgroup. */
function startIn(group: string, command: string): ChildProcess {
  return spawn('bash', ['-c', `echo $$ > ${ROOT}${group}/cgroup.procs; ${command}`], { stdio: 'ignore' });
}

async function until(what: string, condition: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  for (let tries = 0; tries < seconds * 10; tries++) {
    if (await condition()) return;
    await sleep(100);
  }
  assert.fail(`timed out waiting until: ${what}`);
}

describe('out of memory', TIMEOUT, () => {
  const kills: OomKill[] = [];
  const events: string[] = [];
  const ending = new AbortController();
  const watcher = new OomWatcher(
    {
      open: openKmsg,
      uptimeMs: () => os.uptime() * 1000,
      recorder: { event: (_node, type, reason, message) => events.push(`${type} ${reason}: ${message}`) },
      onKill: (one) => kills.push(one),
    },
    { nodeRef: { kind: 'Node', name: 'vm' }, periodMs: 100 },
  );
  let watching: Promise<void>;

  before(() => {
    watching = watcher.start(ending.signal);
  });
  after(async () => {
    ending.abort();
    await watching;
    await (await open('cgroupfs')).destroy(['oom'], signal);
  });

  test('an OOM kill of a cgroup kills all its processes, is reported by memory.events and the kernel log, and is no SystemOOM', async () => {
    const manager = await open('cgroupfs');
    await manager.create(['oom', 'whole'], { memoryBytes: 32 * MI, oomGroup: true });
    await manager.create(['oom', 'other'], { memoryBytes: 32 * MI });
    const bystander = startIn('/oom/other', 'exec sleep 300');
    // The second process in the cgroup is killed together with the hog.
    const hog = startIn('/oom/whole', 'sleep 300 & exec tail /dev/zero');
    const [, ended] = await once(hog, 'exit');
    assert.equal(ended, 'SIGKILL');
    const found = parseMemoryEvents(await textOf('/oom/whole', 'memory.events'));
    assert.ok(found.oom >= 1 && found.oomKill >= 2, JSON.stringify(found));
    assert.equal(found.oomGroupKill, 1);
    assert.equal(parseMemoryEvents(await textOf('/oom/other', 'memory.events')).oomKill, 0);
    await until('the kernel log reports the kill', () => kills.some(({ group }) => group === '/oom/whole'));
    const kill = kills.find(({ group }) => group === '/oom/whole');
    assert.equal(kill?.limitGroup, '/oom/whole');
    assert.equal(kill?.constraint, 'CONSTRAINT_MEMCG');
    assert.equal(kill?.processName, 'tail');
    assert.ok(!kills.some(({ group }) => group === '/oom/other'));
    assert.deepEqual(events, []);
    assert.equal(bystander.exitCode, null);
    bystander.kill('SIGKILL');
    console.log(`OOM kill of a cgroup: ${JSON.stringify(kill)} ${JSON.stringify(found)}`);
  });

  test('an OOM kill at the limit of a parent cgroup names the parent', async () => {
    const manager = await open('cgroupfs');
    await manager.create(['oom', 'parent'], { memoryBytes: 24 * MI });
    await manager.create(['oom', 'parent', 'child'], {});
    const hog = startIn('/oom/parent/child', 'exec tail /dev/zero');
    await once(hog, 'exit');
    await until('the kernel log reports the kill', () => kills.some(({ group }) => group === '/oom/parent/child'));
    const kill = kills.find(({ group }) => group === '/oom/parent/child');
    assert.equal(kill?.limitGroup, '/oom/parent');
    assert.equal(parseMemoryEvents(await textOf('/oom/parent', 'memory.events')).oomKill, 1);
  });

  test('a system-wide OOM kill records the SystemOOM event with the victim', async () => {
    // The victim has its own cgroup; otherwise all processes of a systemd unit would be killed.
    await (await open('cgroupfs')).create(['oom', 'victim'], {});
    const victim = startIn('/oom/victim', 'echo 1000 > /proc/self/oom_score_adj; exec sleep 300');
    await until('the victim sleeps', async () => (await run('cat', `/proc/${victim.pid}/comm`)) === 'sleep');
    const ended = once(victim, 'exit');
    // SysRq f runs the OOM killer.
    await writeFile('/proc/sysrq-trigger', 'f');
    await ended;
    await until('the event is recorded', () => events.length > 0);
    assert.deepEqual(events, [`Warning SystemOOM: System OOM encountered, victim process: sleep, pid: ${victim.pid}`]);
  });
});

describe('eviction on a real cgroup tree', TIMEOUT, () => {
  const cgroups = new PodCgroups(
    { open: () => open('cgroupfs') },
    { cgroupRoot: '/evict', limits: { memoryBytes: 300 * MI } },
  );
  const pods = [makePod('modest', { memory: '16Mi' }), makePod('hog', { memory: '16Mi' }), makePod('idle')];
  const active = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  const killed: string[] = [];

  before(async () => {
    const manager = await open('cgroupfs');
    await manager.create(['evict'], {});
    for (const pod of pods) await cgroups.ensure(pod, signal);
  });
  after(async () => {
    await (await open('cgroupfs')).destroy(['evict'], signal);
  });

  /** Returns the memory stats of a cgroup as in `/stats/summary`. */
  async function memoryOf(group: string, limitBytes?: number): Promise<MemoryFigures> {
    const usageBytes = Number(await textOf(group, 'memory.current'));
    const inactive = Number(/^inactive_file (\d+)$/m.exec(await textOf(group, 'memory.stat'))?.[1]);
    const workingSetBytes = Math.max(0, usageBytes - inactive);
    return {
      time: new Date().toISOString(),
      usageBytes,
      workingSetBytes,
      ...(limitBytes !== undefined && { availableBytes: limitBytes - workingSetBytes }),
    };
  }

  test('N2: when the cgroup of all pods approaches its limit, evicts the pod that exceeds its request most, before the kernel kills a process', async () => {
    const ending = new AbortController();
    let gone = 0;
    const manager = new EvictionManager(
      {
        pods: {
          active: () => [...active.values()],
          isCritical: () => false,
          async kill({ metadata }, _how, abort) {
            killed.push(metadata.uid);
            gone = performance.now();
            await cgroups.destroy(metadata.uid, abort);
            active.delete(metadata.uid);
          },
          isGone: ({ metadata }) => !active.has(metadata.uid),
        },
        stats: {
          async summary() {
            const all = await memoryOf('/evict/kubepods', 300 * MI);
            return {
              node: {
                memory: { ...all, availableBytes: os.freemem() },
                systemContainers: [{ name: 'pods', memory: all }],
              },
              pods: await Promise.all(
                [...active.values()].map(async (pod) => {
                  const { name, namespace, uid } = pod.metadata;
                  const memory = await memoryOf(cgroups.podCgroupParent(pod));
                  return { podRef: { name, namespace, uid }, memory, containers: [{ name: 'main', memory }] };
                }),
              ),
            };
          },
        },
        disks: { layout: async () => ({ dedicatedImageFs: false, splitContainerFs: false }) },
        reclaim: { deleteUnusedContainers: async () => 0, deleteUnusedImages: async () => {} },
        gauges: [cgroupMemoryGauge(nodeFileSystem, `${ROOT}/evict/kubepods`, 2)],
      },
      {
        nodeRef: { kind: 'Node', name: 'vm' },
        thresholds: parseThresholds({ evictionHard: { 'memory.available': '100Mi' }, enforcesAllocatable: true }),
        pressureTransitionMs: 1000,
      },
    );
    const running = manager.start(ending.signal);
    const [modest, hog] = pods.map((pod) => cgroups.podCgroupParent(pod));
    // The memory of the bystander is held by a file, and its process is idle.
    const bystander = startIn(modest ?? '', 'head -c 40M /dev/zero > /dev/shm/modest; exec sleep 300');
    await until(
      'the bystander holds its memory',
      async () => Number(await textOf(modest ?? '', 'memory.current')) > 36 * MI,
    );
    await sleep(3000);
    const began = performance.now();
    const taker = startIn(hog ?? '', 'exec tail /dev/zero');
    await once(taker, 'exit');
    assert.deepEqual(killed, ['hog']);
    console.log(`evicted ${Math.round(gone - began)} ms after it started to allocate memory`);
    assert.equal(parseMemoryEvents(await textOf('/evict/kubepods', 'memory.events')).oomKill, 0);
    await until('the memory pressure has ended', () => !manager.pressure().memory, 30);
    assert.deepEqual(killed, ['hog']);
    // The kernel also reports stalls (PSI).
    assert.match(await textOf('/evict/kubepods', 'memory.pressure'), /^some avg10=\d+\.\d+ .* total=\d+\nfull /);
    ending.abort();
    await running.catch(() => undefined);
    bystander.kill('SIGKILL');
  });
});

describe('cgroups with external changes', TIMEOUT, () => {
  for (const driver of ['cgroupfs', 'systemd'] as const) {
    const root = `hands-${driver}`;
    const cgroups = new PodCgroups(
      { open: () => open(driver) },
      { cgroupRoot: `/${root}`, podPidsLimit: 20, limits: { cpus: '0-1' } },
    );
    const pod = makePod('b-1', { cpu: '250m', memory: '32Mi' }, { memory: '128Mi' });
    const FILES = ['cpu.weight', 'memory.max', 'pids.max'];
    const EXPECTED = { 'cpu.weight': '10', 'memory.max': String(128 * MI), 'pids.max': '20' };

    before(async () => {
      const manager = await open(driver);
      await manager.create([root], { cpus: '0-1' });
    });
    after(async () => {
      await (await open(driver)).destroy([root], signal);
    });

    test(`${driver}: sets the limits of a pod cgroup again after it was recreated externally`, async () => {
      assert.equal(await cgroups.ensure(pod, signal), true);
      const group = cgroups.podCgroupParent(pod);
      assert.deepEqual(await textsOf(group, FILES), EXPECTED);
      assert.equal(await cgroups.ensure(pod, signal), false);
      await rmdir(`${ROOT}${group}`);
      await run('mkdir', `${ROOT}${group}`);
      assert.equal(await textOf(group, 'memory.max'), 'max');
      assert.equal(await cgroups.ensure(pod, signal), true);
      assert.deepEqual(await textsOf(group, FILES), EXPECTED);
      assert.equal(await cgroups.ensure(pod, signal), false);
    });

    test(`${driver}: enables a controller again after it was disabled externally, with its limits`, async () => {
      const group = cgroups.podCgroupParent(pod);
      const parent = group.slice(0, group.lastIndexOf('/'));
      await writeFile(`${ROOT}${parent}/cgroup.subtree_control`, '-pids');
      assert.equal(await textOf(group, 'pids.max'), '-');
      if (driver === 'cgroupfs') assert.equal(await cgroups.exists(pod, signal), false);
      await cgroups.ensure(pod, signal);
      assert.equal(await cgroups.exists(pod, signal), true);
      await cgroups.update(pod, signal);
      assert.deepEqual(await textsOf(group, FILES), EXPECTED);
    });

    test(`${driver}: limits huge pages to a pod's request, and to zero for other pods`, async (context) => {
      if ((await textOf(cgroups.podCgroupParent(pod), 'hugetlb.2MB.max')) === '-')
        return context.skip('the machine has no huge pages of 2 MB');
      const huge = { cpu: '10m', memory: '8Mi', 'hugepages-2Mi': '4Mi' };
      const large = makePod('h-1', huge, huge);
      await cgroups.ensure(large, signal);
      assert.equal(await textOf(cgroups.podCgroupParent(large), 'hugetlb.2MB.max'), String(4 * MI));
      assert.equal(await textOf(cgroups.podCgroupParent(pod), 'hugetlb.2MB.max'), '0');
      await cgroups.destroy('h-1', signal);
    });

    test(`${driver}: kills a fork bomb as a whole and removes its cgroup`, async () => {
      const group = cgroups.podCgroupParent(pod);
      const bomb = startIn(group, 'trap "" TERM; while :; do (trap "" TERM; sleep 100) & sleep 0.01; done');
      await until(
        'the fork bomb has started processes',
        async () => (await textOf(group, 'cgroup.procs')).split('\n').length > 5,
      );
      const ended = once(bomb, 'exit');
      const beganMs = performance.now();
      await cgroups.destroy('b-1', signal);
      console.log(`${driver}: removed the cgroup of a fork bomb in ${Math.round(performance.now() - beganMs)} ms`);
      await ended;
      assert.deepEqual(
        (await groupsBelow(`/${root}`)).filter((path) => path.includes('podb')),
        [],
      );
    });
  }
});

after(() => systemd.close());
