// The whole kubelet with containerd and runc in the most common setup: cgroup v2 with the systemd driver.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, statfs } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '@node-agent/pod-spec';
import { GroupSide, type ManifestPod } from '@node-agent/tools-compare/groups';
import { ioStat, pressureOf, samplesOf } from './figures.ts';
import { binaries, KUBELET } from './guest-binaries.ts';
import { groupsBelow, propertyOf, run, systemd, textOf, textsOf } from './machine.ts';

const { signal } = new AbortController();
/** Time limit of a test. An emulated machine on busy CPUs needs minutes instead of seconds. */
const TIMEOUT = { timeout: 2_700_000 };
const IMAGE = 'node-agent.local/busybox:1';
const MI = 1024 ** 2;
/** Number of bytes that can be written until the free space is below the eviction threshold. */
const DISK_ROOM = 256 * MI;

function pod(name: string, script: string, resources: object = {}, more: object = {}): ManifestPod {
  const container = { name: 'main', image: IMAGE, imagePullPolicy: 'Never', command: ['sh', '-c', script], resources };
  return {
    name,
    spec: {
      ...{ hostNetwork: true, dnsPolicy: 'Default', terminationGracePeriodSeconds: 1 },
      containers: [container],
      ...more,
    },
  } as ManifestPod;
}

const FOREVER = 'trap "exit 0" TERM; while :; do sleep 1 & wait $!; done';
const both = { cpu: '125m', memory: '64Mi' };
const guaranteed = pod('guaranteed', FOREVER, { requests: both, limits: both });
const burstable = pod('burstable', FOREVER, { requests: { cpu: '250m', memory: '32Mi' }, limits: { memory: '128Mi' } });
const bestEffort = pod('best-effort', FOREVER);

describe('kubelet on cgroup v2 with systemd', TIMEOUT, () => {
  let side: GroupSide;
  const began = performance.now();
  const say = (text: string): void => console.log(`${((performance.now() - began) / 1000).toFixed(0)} s: ${text}`);
  const uids = new Map<string, string>();
  const path = (...parts: readonly string[]): string => {
    let slice = 'here';
    return parts.reduce((parent, part) => {
      slice += `-${part.replaceAll('-', '_')}`;
      return `${parent}/${slice}.slice`;
    }, '/here.slice');
  };
  const PARENT: Readonly<Record<string, readonly string[]>> = {
    guaranteed: [],
    burstable: ['burstable'],
    'best-effort': ['besteffort'],
  };
  const groupOf = (name: string): string => path('kubepods', ...(PARENT[name] ?? []), `pod${uids.get(name)}`);
  const containerOf = (found: Pod | undefined): string =>
    (found?.status?.containerStatuses?.[0]?.containerID ?? '').replace('containerd://', '');
  const until = async <T>(what: string, ask: () => Promise<T | undefined>, seconds = 400): Promise<T> => {
    for (let tries = 0; tries < seconds; tries++) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      await sleep(1000);
    }
    assert.fail(`timed out waiting for: ${what}\n${await side.kubelet.logTail()}`);
  };

  let leastBytesLeft = 0;

  before(async () => {
    leastBytesLeft = (await bytesLeft()) - DISK_ROOM;
    // The machine's own containerd is stopped, because the tests use another version.
    await run('systemctl', 'stop', 'containerd');
    side = await GroupSide.start({
      ...{ name: 'here', program: KUBELET, binaries, driver: 'systemd', systemd },
      ...{ subnet: '10.199.0.0/24', directory: await mkdtemp('/tmp/k-'), timeoutMs: 900_000, everyMs: 3000 },
      configuration: {
        // The runtime reports the driver, so this value is ignored.
        cgroupDriver: 'cgroupfs',
        featureGates: { MemoryQoS: true },
        memoryReservationPolicy: 'TieredReservation',
        memoryThrottlingFactor: 0.5,
        // All pods together may use 600 Mi, and eviction starts at 400 Mi.
        systemReserved: { memory: String((await memoryTotal()) - 600 * MI), cpu: '100m' },
        evictionHard: { 'memory.available': '200Mi', 'nodefs.available': String(leastBytesLeft) },
        evictionPressureTransitionPeriod: '1s',
      },
    });
    say('started the runtime and the kubelet');
  });
  after(async () => {
    await side?.stop();
    systemd.close();
  });

  test('the kubelet creates cgroups, limits and systemd units for one pod per QoS class', async () => {
    for (const one of [guaranteed, burstable, bestEffort]) await side.write(one);
    await side.running(Object.keys(PARENT), signal);
    say('the pods are running');
    for (const name of Object.keys(PARENT)) uids.set(name, (await side.pod(name))?.metadata.uid ?? '');
    const files = ['cpu.weight', 'cpu.max', 'memory.max', 'memory.min', 'memory.low', 'pids.max'];
    const table: readonly (readonly [string, readonly string[]])[] = [
      [path('kubepods'), ['75', 'max 100000', String(600 * MI), String(96 * MI), '0']],
      [path('kubepods', 'burstable'), ['10', 'max 100000', 'max', '0', String(32 * MI), 'max']],
      [path('kubepods', 'besteffort'), ['1', 'max 100000', 'max', '0', '0', 'max']],
      // systemd rounds a quota of 12.5 % up to 13 %.
      [groupOf('guaranteed'), ['5', '13000 100000', String(64 * MI), String(64 * MI), '0', '200']],
      [groupOf('burstable'), ['10', 'max 100000', String(128 * MI), '0', String(32 * MI), '200']],
      [groupOf('best-effort'), ['1', 'max 100000', 'max', '0', '0', '200']],
    ];
    for (const [group, values] of table) {
      const found = await until(
        group,
        async () => {
          const texts = await textsOf(group, files.slice(0, values.length));
          // The kubelet updates the QoS cgroups after a delay.
          return Object.values(texts).join() === values.join() ? texts : undefined;
        },
        20,
      ).catch(async () => textsOf(group, files.slice(0, values.length)));
      assert.deepEqual(Object.values(found), values, group);
      const unit = group.split('/').at(-1) ?? '';
      assert.equal(await propertyOf(unit, 'ActiveState'), 'active');
      assert.equal(await propertyOf(unit, 'CPUWeight'), values[0]);
      assert.equal(await propertyOf(unit, 'MemoryMax'), values[2] === 'max' ? 'infinity' : values[2]);
      console.log(`${group}: ${files.map((file, index) => `${file}=${values[index]}`).join(' ')}`);
    }
    for (const name of Object.keys(PARENT)) {
      const scope = `cri-containerd-${containerOf(await side.pod(name))}.scope`;
      assert.equal(await propertyOf(scope, 'ActiveState'), 'active');
      assert.notEqual(await textOf(`${groupOf(name)}/${scope}`, 'cgroup.procs'), '-');
    }
    // memory.high of a container is between its request and its limit: floor(32 + 0.5 * (128 - 32)).
    const scope = `cri-containerd-${containerOf(await side.pod('burstable'))}.scope`;
    assert.equal(await textOf(`${groupOf('burstable')}/${scope}`, 'memory.high'), String(80 * MI));
    assert.equal(await textOf(`${groupOf('burstable')}/${scope}`, 'memory.oom.group'), '1');
  });

  test('/stats/summary reports usage, pressure and process count of pods', async () => {
    const summary = JSON.parse(await side.page('/stats/summary'));
    const found = summary.pods.find(({ podRef }: { podRef: { name: string } }) => podRef.name === 'burstable-here');
    assert.ok(found?.memory?.usageBytes > 0, JSON.stringify(found));
    for (const resource of ['cpu', 'memory', 'io']) assert.ok(found[resource].psi.some.total >= 0, resource);
    assert.ok(summary.node.memory.psi.full.total >= 0);
    assert.ok(found.process_stats.process_count >= 1);
  });

  test("metrics and stats of I/O and pressure match the container's cgroup files", async () => {
    const script = 'dd if=/dev/zero of=/written bs=64k count=128 conv=fsync; while :; do :; done';
    await side.write(pod('writer', script, { requests: { cpu: '20m' }, limits: { cpu: '60m', memory: '64Mi' } }));
    await side.running(['writer'], signal);
    const found = await side.pod('writer');
    const group = path('kubepods', 'burstable', `pod${found?.metadata.uid}`);
    const scope = `${group}/cri-containerd-${containerOf(found)}.scope`;
    const labels = { namespace: 'groups', pod: 'writer-here', container: 'main' };
    await until('the data is written, and the container waits for CPU', async () => {
      const [device] = ioStat(await textOf(scope, 'io.stat'));
      const waited = pressureOf(await textOf(scope, 'cpu.pressure')).some;
      return (device?.wbytes ?? 0) >= 8 * MI && waited > 0.1 ? true : undefined;
    });
    // The counters keep growing, so a reported value must lie between the values before and after.
    const read = async (): Promise<ReadonlyMap<string, number>> => {
      const values = new Map<string, number>();
      for (const resource of ['cpu', 'memory', 'io']) {
        const { some, full } = pressureOf(await textOf(scope, `${resource}.pressure`));
        values.set(`container_pressure_${resource}_waiting_seconds_total`, some);
        values.set(`container_pressure_${resource}_stalled_seconds_total`, full);
      }
      const [device = { device: '', rbytes: 0, wbytes: 0, rios: 0, wios: 0 }] = ioStat(await textOf(scope, 'io.stat'));
      values.set('container_fs_reads_bytes_total', device.rbytes);
      values.set('container_fs_writes_bytes_total', device.wbytes);
      values.set('container_fs_reads_total', device.rios);
      values.set('container_fs_writes_total', device.wios);
      values.set('container_blkio_device_usage_total Read', device.rbytes);
      values.set('container_blkio_device_usage_total Write', device.wbytes);
      return values;
    };
    const before = await read();
    // The page may reuse values that were collected up to 5 s ago. After the pause, its values are newer than `before`.
    await sleep(6000);
    const reported = samplesOf(await side.page('/metrics/cadvisor'), labels);
    const summary = JSON.parse(await side.page('/stats/summary'));
    const after = await read();
    for (const [name, least] of before) {
      const value = reported.get(name);
      const between = value !== undefined && value >= least && value <= (after.get(name) ?? 0);
      assert.ok(between, `${name}: reported ${value}, kernel: ${least} to ${after.get(name)}`);
      console.log(`${name} ${value} (${least} to ${after.get(name)})`);
    }
    assert.match(reported.devices, /^\/dev\/vda$/);
    const ofPod = summary.pods.find(({ podRef }: { podRef: { name: string } }) => podRef.name === 'writer-here');
    const [main] = ofPod.containers;
    for (const resource of ['cpu', 'memory', 'io']) {
      for (const [kind, word] of [
        ['some', 'waiting'],
        ['full', 'stalled'],
      ] as const) {
        const { total } = main[resource].psi[kind];
        const name = `container_pressure_${resource}_${word}_seconds_total`;
        const [least = 0, most = 0] = [before.get(name), after.get(name)];
        // The unit is microseconds, as the kernel and upstream's kubelet report it, although the API documentation
        // differs.
        assert.ok(
          total / 1e6 >= least && total / 1e6 <= most,
          `summary ${resource} ${kind}: ${total}, ${least} to ${most}`,
        );
        assert.ok(ofPod[resource].psi[kind].total >= 0 && summary.node[resource].psi[kind].total >= 0);
      }
    }
    await side.remove('writer');
    say('checked metrics and stats');
  });

  test('the kubelet restarts a killed container in the same pod cgroup', async () => {
    const earlier = containerOf(await side.pod('burstable'));
    const scope = `${groupOf('burstable')}/cri-containerd-${earlier}.scope`;
    for (const pid of (await textOf(scope, 'cgroup.procs')).split('\n')) process.kill(Number(pid), 'SIGKILL');
    const next = await until('another container', async () => {
      const found = await side.pod('burstable');
      return found?.status?.containerStatuses?.[0]?.restartCount === 1 && containerOf(found) !== earlier
        ? found
        : undefined;
    });
    const group = `${groupOf('burstable')}/cri-containerd-${containerOf(next)}.scope`;
    await until('the processes of the new container', async () =>
      (await textOf(group, 'cgroup.procs')).length > 1 ? true : undefined,
    );
    assert.equal(await propertyOf(`cri-containerd-${earlier}.scope`, 'LoadState'), 'not-found');
    say('restarted a killed container');
  });

  test('K1: a killed and restarted kubelet keeps running containers, even while systemd re-executes itself', async () => {
    const names = Object.keys(PARENT);
    const before = await Promise.all(names.map(async (name) => containerOf(await side.pod(name))));
    const files = ['cpu.weight', 'cpu.max', 'memory.max', 'memory.min', 'memory.low', 'pids.max', 'cgroup.controllers'];
    const all = () =>
      Promise.all(
        [path('kubepods'), path('kubepods', 'burstable'), ...names.map(groupOf)].map((group) => textsOf(group, files)),
      );
    const limits = await all();
    await side.kubelet.stop('SIGKILL');
    await run('systemctl', 'daemon-reload');
    await side.kubelet.start();
    await run('systemctl', 'daemon-reexec');
    await side.running(names, signal);
    assert.deepEqual(await Promise.all(names.map(async (name) => containerOf(await side.pod(name)))), before);
    assert.deepEqual(await all(), limits);
    say('the kubelet runs again');
    // The cgroup of this pod is created by the re-executed systemd.
    await side.write(pod('late', FOREVER, { requests: { cpu: '20m' } }));
    await side.running(['late'], signal);
    uids.set('late', (await side.pod('late'))?.metadata.uid ?? '');
    assert.equal(await textOf(path('kubepods', 'burstable', `pod${uids.get('late')}`), 'cpu.weight'), '1');
    await side.remove('late');
  });

  test('N2: the kubelet detects a full disk and does not evict critical pods', async () => {
    const logged = async (...words: readonly string[]): Promise<string | undefined> =>
      (await readFile(side.kubelet.logFile, 'utf8'))
        .split('\n')
        .find((line) => words.every((word) => line.includes(word)));
    const script = 'sleep 5; dd if=/dev/zero of=/filled bs=64k count=6144; exec sleep 3600';
    await side.write(pod('filler', script));
    await until('the log shows DiskPressure', () => logged('node conditions changed', 'DiskPressure'));
    // On a very slow machine, a synchronize round may detect the threshold before a check between two rounds does.
    const check = await logged('a threshold appears to be crossed', 'nodefs.available');
    say(`noticed by ${check === undefined ? 'a round' : 'a check between two rounds'}`);
    // Static pods are critical: the kubelet removes unused containers and images, and then finds no pod to evict.
    await until('a round', () => logged('unable to evict any pods from the node'));
    for (const name of [...Object.keys(PARENT), 'filler']) {
      assert.equal((await side.pod(name))?.status?.phase, 'Running', name);
    }
    await side.remove('filler');
    await until('free space on the disk', async () =>
      (await bytesLeft()) > leastBytesLeft + DISK_ROOM / 2 ? true : undefined,
    );
    say('checked a full disk');
  });

  test('the kubelet reports OOMKilled for a container that exceeds its memory limit', async () => {
    const limits = { cpu: '200m', memory: '24Mi' };
    await side.write(
      pod('hog', 'sleep 2; exec tail /dev/zero', { requests: limits, limits }, { restartPolicy: 'Never' }),
    );
    const ended = await until('the pod hog has terminated', async () => {
      const found = await side.pod('hog');
      return found?.status?.phase === 'Failed' ? found : undefined;
    });
    assert.equal(ended.status?.containerStatuses?.[0]?.state?.terminated?.reason, 'OOMKilled');
    assert.equal((await side.pod('guaranteed'))?.status?.phase, 'Running');
    await side.remove('hog');
    say('checked an OOM kill');
  });

  test('the kubelet leaves no cgroups and units of terminated pods', async () => {
    for (const name of [...Object.keys(PARENT)]) await side.remove(name);
    await side.empty(signal);
    assert.deepEqual(
      (await groupsBelow('/here.slice')).map((group) => group.split('/').at(-1)),
      ['here-kubepods.slice', 'here-kubepods-besteffort.slice', 'here-kubepods-burstable.slice'],
    );
    const units = await run('systemctl', 'list-units', '--all', '--plain', '--no-legend', 'here*', 'cri-containerd*');
    assert.deepEqual(
      units
        .split('\n')
        .map((line) => line.split(' ')[0])
        .sort(),
      ['here-kubepods-besteffort.slice', 'here-kubepods-burstable.slice', 'here-kubepods.slice', 'here.slice'],
    );
    say('no cgroup or systemd unit of a removed pod is left');
  });
});

async function memoryTotal(): Promise<number> {
  return Number(/MemTotal:\s+(\d+)/.exec(await readFile('/proc/meminfo', 'utf8'))?.[1]) * 1024;
}

/** Returns the free bytes on the disk with the directories of kubelet and runtime. */
async function bytesLeft(): Promise<number> {
  const { bavail, bsize } = await statfs('/tmp');
  return bavail * bsize;
}
