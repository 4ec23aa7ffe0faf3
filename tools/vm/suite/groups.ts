import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { driverPath, openGroups, PodCgroups, ProcessGroups } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { groupsBelow, kill, open, propertyOf, ROOT, run, systemd, textOf, textsOf } from './machine.ts';
import { makePod } from './pods.ts';

const MI = 1024 ** 2;
const { signal } = new AbortController();
/** Time limit of a test, long enough for an emulated machine. Without a limit, a hanging test is not reported by name. */
const TIMEOUT = { timeout: 500_000 };
const FILES = ['cpu.weight', 'cpu.max', 'memory.max', 'memory.min', 'memory.low', 'pids.max', 'hugetlb.2MB.max'];

const guaranteed: Pod = makePod('g-1', { cpu: '125m', memory: '64Mi' }, { cpu: '125m', memory: '64Mi' });
const burstable: Pod = makePod('b-1', { cpu: '250m', memory: '32Mi' }, { memory: '128Mi' });
const bestEffort: Pod = makePod('e-1');
const ALL = [guaranteed, burstable, bestEffort];

for (const driver of ['cgroupfs', 'systemd'] as const) {
  describe(`pod cgroups on cgroup v2, driver ${driver}`, TIMEOUT, () => {
    const root = driver === 'systemd' ? '/suite.slice' : '/suite';
    const at = (...parts: string[]): string => driverPath(['suite', ...parts], driver);
    const make = (limitBytes = 1024 * MI): PodCgroups =>
      new PodCgroups(
        { open: () => open(driver) },
        {
          // `cgroupRoot` has cgroupfs notation with either driver.
          cgroupRoot: '/suite',
          podPidsLimit: 20,
          memoryQos: 'TieredReservation',
          limits: {
            cpuShares: 2048,
            memoryBytes: limitBytes,
            pidsLimit: 5000,
            hugePageLimits: 'unlimited',
            cpus: '0-1',
          },
        },
      );
    const cgroups = make();
    const groupOf = (pod: Pod): string => cgroups.podCgroupParent(pod);

    before(async () => {
      const manager = await open(driver);
      await manager.create(manager.parse(root), { cpus: '0-1' });
    });
    after(async () => {
      const manager = await open(driver);
      await manager.destroy(manager.parse(root), signal);
      assert.deepEqual(await groupsBelow(root), []);
    });

    test('PodCgroups creates the cgroups of one pod per QoS class with the expected file contents', async () => {
      for (const pod of ALL) assert.equal(await cgroups.ensure(pod, signal), true);
      await cgroups.updateQos(ALL, signal);
      assert.deepEqual(ALL.map(groupOf), [
        at('kubepods', 'podg-1'),
        at('kubepods', 'burstable', 'podb-1'),
        at('kubepods', 'besteffort', 'pode-1'),
      ]);
      // systemd rounds a quota of 12.5 % up to 13 %.
      const quota = driver === 'systemd' ? '13000' : '12500';
      const none = { 'memory.min': '0', 'memory.low': '0' };
      const huge = String(1n << 62n);
      const expected: [string, Record<string, string>][] = [
        [
          at('kubepods'),
          {
            'cpu.weight': '79',
            'cpu.max': 'max 100000',
            'memory.max': String(1024 * MI),
            'memory.min': String(96 * MI),
            'memory.low': '0',
            'pids.max': '5000',
            'hugetlb.2MB.max': huge,
          },
        ],
        [
          at('kubepods', 'burstable'),
          {
            'cpu.weight': '10',
            'cpu.max': 'max 100000',
            'memory.max': 'max',
            'memory.min': '0',
            'memory.low': String(32 * MI),
            'pids.max': 'max',
            'hugetlb.2MB.max': huge,
          },
        ],
        [
          at('kubepods', 'besteffort'),
          {
            'cpu.weight': '1',
            'cpu.max': 'max 100000',
            'memory.max': 'max',
            ...none,
            'pids.max': 'max',
            'hugetlb.2MB.max': huge,
          },
        ],
        [
          groupOf(guaranteed),
          {
            'cpu.weight': '5',
            'cpu.max': `${quota} 100000`,
            'memory.max': String(64 * MI),
            'memory.min': String(64 * MI),
            'memory.low': '0',
            'pids.max': '20',
            'hugetlb.2MB.max': '0',
          },
        ],
        [
          groupOf(burstable),
          {
            'cpu.weight': '10',
            'cpu.max': 'max 100000',
            'memory.max': String(128 * MI),
            'memory.min': '0',
            'memory.low': String(32 * MI),
            'pids.max': '20',
            'hugetlb.2MB.max': '0',
          },
        ],
        [
          groupOf(bestEffort),
          {
            'cpu.weight': '1',
            'cpu.max': 'max 100000',
            'memory.max': 'max',
            ...none,
            'pids.max': '20',
            'hugetlb.2MB.max': '0',
          },
        ],
      ];
      for (const [group, values] of expected) {
        const found = await textsOf(group, FILES);
        // The kernel rounds the huge page limit to whole pages, depending on the supported page sizes.
        if (found['hugetlb.2MB.max'] === 'max' || found['hugetlb.2MB.max'] === '9223372036854771712')
          values['hugetlb.2MB.max'] = found['hugetlb.2MB.max'];
        assert.deepEqual(found, values, group);
        console.log(
          `${group}: ${Object.entries(found)
            .map(([file, value]) => `${file}=${value}`)
            .join(' ')}`,
        );
      }
      assert.equal(await textOf(at('kubepods'), 'cpuset.cpus'), '0-1');
      assert.deepEqual(await cgroups.pods(signal), new Set(['g-1', 'b-1', 'e-1']));
    });

    test('PodCgroups applies larger requests and limits to an existing pod', async () => {
      const larger = makePod('b-1', { cpu: '500m', memory: '48Mi' }, { memory: '256Mi' });
      await cgroups.update(larger, signal);
      assert.deepEqual(await textsOf(groupOf(burstable), ['cpu.weight', 'memory.max', 'memory.low']), {
        'cpu.weight': '20',
        'memory.max': String(256 * MI),
        'memory.low': String(48 * MI),
      });
      if (driver === 'systemd') {
        const unit = groupOf(burstable).split('/').at(-1) ?? '';
        assert.equal(await propertyOf(unit, 'MemoryMax'), String(256 * MI));
        assert.equal(await propertyOf(unit, 'CPUWeight'), '20');
      }
    });

    test('enforces the PID limit of a pod in the kernel', async () => {
      const script = `echo $$ > ${ROOT}${groupOf(bestEffort)}/cgroup.procs; for i in $(seq 40); do sleep 30 & done; wait`;
      const child = spawn('bash', ['-c', script], { stdio: ['ignore', 'ignore', 'pipe'] });
      const closed = once(child, 'close');
      let errors = '';
      child.stderr.on('data', (bytes: Buffer) => {
        errors += bytes;
      });
      for (let tries = 0; tries < 200 && !/fork/.test(errors); tries++)
        await new Promise((resolve) => setTimeout(resolve, 100));
      assert.match(errors, /fork: .*(?:Resource temporarily unavailable|retry)/);
      assert.equal(await textOf(groupOf(bestEffort), 'pids.current'), '20');
      await cgroups.destroy('e-1', signal);
      assert.deepEqual(await cgroups.pods(signal), new Set(['g-1', 'b-1']));
      await closed;
      assert.equal(child.signalCode, 'SIGKILL');
    });

    if (driver === 'systemd') {
      test('PodCgroups keeps its cgroups unchanged when systemd reloads its units or re-executes itself', async () => {
        const groups = [at('kubepods'), groupOf(guaranteed), groupOf(burstable)];
        const all = () => Promise.all(groups.map((group) => textsOf(group, [...FILES, 'cgroup.controllers'])));
        const earlier = await all();
        await run('systemctl', 'daemon-reload');
        assert.deepEqual(await all(), earlier);
        await run('systemctl', 'daemon-reexec');
        assert.deepEqual(await all(), earlier);
        for (const pod of [guaranteed, burstable]) assert.equal(await cgroups.exists(pod, signal), true);
        // systemd closed the D-Bus connection when it re-executed itself.
        await cgroups.update(burstable, signal);
        assert.equal(await textOf(groupOf(burstable), 'memory.max'), String(128 * MI));
      });

      test('PodCgroups recreates a unit with its limits after it was stopped externally', async () => {
        const unit = groupOf(burstable).split('/').at(-1) ?? '';
        await run('systemctl', 'stop', unit);
        assert.equal(await cgroups.exists(burstable, signal), false);
        assert.equal(await cgroups.ensure(burstable, signal), true);
        assert.equal(await textOf(groupOf(burstable), 'memory.max'), String(128 * MI));
        assert.equal(await propertyOf(unit, 'ActiveState'), 'active');
      });

      test('PodCgroups kills a scope that systemd created inside a pod, and removes it together with the pod', async () => {
        const slice = groupOf(burstable).split('/').at(-1) ?? '';
        await systemd.version();
        const scope = spawn(
          'systemd-run',
          [
            '--scope',
            `--slice=${slice}`,
            '--unit=cri-containerd-1',
            '-p',
            'Delegate=yes',
            'sh',
            '-c',
            'trap "" TERM; while :; do sleep 1; done',
          ],
          { stdio: 'ignore' },
        );
        const closed = once(scope, 'close');
        const group = `${groupOf(burstable)}/cri-containerd-1.scope`;
        for (let tries = 0; tries < 100 && ['-', ''].includes(await textOf(group, 'cgroup.procs')); tries++)
          await new Promise((resolve) => setTimeout(resolve, 100));
        assert.notEqual(await textOf(group, 'cgroup.procs'), '-');
        const beganMs = performance.now();
        await cgroups.destroy('b-1', signal);
        console.log(`destroyed in ${Math.round(performance.now() - beganMs)} ms`);
        await closed;
        assert.deepEqual(
          (await groupsBelow(root)).filter((path) => path.includes('podb')),
          [],
        );
        assert.equal(await propertyOf('cri-containerd-1.scope', 'LoadState'), 'not-found');
      });
    }

    test('a restarted kubelet finds existing pod cgroups and removes them', async () => {
      const next = make();
      const left = await next.pods(signal);
      assert.ok(left.has('g-1'));
      for (const uid of left) await next.destroy(uid, signal);
      assert.deepEqual(await next.pods(signal), new Set());
      assert.deepEqual(
        await groupsBelow(root),
        [at('kubepods'), at('kubepods', 'besteffort'), at('kubepods', 'burstable')].sort(),
      );
    });
  });
}

describe("reserved resources and the kubelet's own cgroup", TIMEOUT, () => {
  test('PodCgroups sets the system-reserved limits on system.slice', async () => {
    const reserved = {
      level: 'system-reserved' as const,
      cgroup: '/system.slice',
      limits: { cpuShares: 512, memoryBytes: 900 * MI },
    };
    const cgroups = new PodCgroups({ open: () => open('systemd') }, { reserved: [reserved] });
    await cgroups.ensure(bestEffort, signal);
    assert.deepEqual(await textsOf('/system.slice', ['cpu.weight', 'memory.max']), {
      'cpu.weight': '20',
      'memory.max': String(900 * MI),
    });
    assert.equal(await propertyOf('system.slice', 'MemoryMax'), String(900 * MI));
    await cgroups.destroy('e-1', signal);
    await run('systemctl', 'set-property', '--runtime', 'system.slice', 'MemoryMax=infinity', 'CPUWeight=100');
    const manager = await open('systemd');
    await manager.destroy(['kubepods'], signal);
  });

  test('ProcessGroups moves a process to its configured cgroup', async () => {
    const child = spawn('sleep', ['60']);
    const ending = new AbortController();
    const groups = new ProcessGroups(
      { fs: nodeFileSystem, open: () => openGroups({ fs: nodeFileSystem, kill }) },
      { pid: child.pid ?? 0, kubelet: '/own/kubelet' },
    );
    const running = groups.start(ending.signal);
    for (let tries = 0; tries < 100 && (await textOf('/own/kubelet', 'cgroup.procs')) !== String(child.pid); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal(await textOf('/own/kubelet', 'cgroup.procs'), String(child.pid));
    ending.abort();
    await running.catch(() => undefined);
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
    await (await open('cgroupfs')).destroy(['own'], signal);
  });

  after(async () => {
    systemd.close();
    await writeFile('/proc/self/oom_score_adj', '0');
  });
});
