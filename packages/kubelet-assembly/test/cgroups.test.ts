import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { type CgroupName, systemdPath } from '@node-agent/cm-cgroups';
import { CriError } from '@node-agent/cri-client';
import { MetricsRegistry, noEvents, noMetrics, silentLogger } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { nodeCgroups } from '../src/node-cgroups.ts';
import { MemoryCgroups } from './memory-cgroups.ts';
import { makePod, makeWorld, startKubelet } from './node.ts';

const GROUP = '/kubepods/besteffort/poduid-web';
const settings = { nodeName: 'n1', cgroups: { driver: 'systemd' } } as const;
const components = () => ({
  ...{ clock: new FakeClock(), random: seededRandom(7) },
  ...{ metrics: noMetrics, recorder: noEvents, logger: silentLogger },
});
const { signal } = new AbortController();

describe('cgroups of a node', () => {
  test("S5, N5: a pod's sandbox is created in the pod's cgroup, which is removed with the pod", async () => {
    const world = await makeWorld();
    const machine = new MemoryCgroups();
    const node = startKubelet(world, [], undefined, [], { openCgroups: async () => machine });
    node.setPods([makePod('web')]);
    await world.clock.advance(5000);
    expect(node.kubelet.getPods()[0]?.status?.phase).toBe('Running');
    expect(machine.has(GROUP)).toBe(true);
    const [sandbox] = (await world.cri.listPodSandbox({})).items;
    const { info } = await world.cri.podSandboxStatus({ podSandboxId: sandbox?.id ?? '', verbose: true });
    expect(JSON.stringify(info)).toContain(GROUP);

    node.setPods([]);
    await world.clock.advance(10_000);
    expect(machine.destroyed).toEqual([GROUP]);
    expect([...machine.groups.keys()]).toEqual(['/', '/kubepods', '/kubepods/burstable', '/kubepods/besteffort']);
    await node.stop();
  });

  test('K1: cgroups left by an earlier kubelet are removed once all sources have reported', async () => {
    const world = await makeWorld();
    const machine = new MemoryCgroups();
    machine.groups.set('/kubepods/burstable/poduid-left', {});
    const node = startKubelet(world, [], undefined, [], { openCgroups: async () => machine });
    await world.clock.advance(5000);
    expect(machine.destroyed).toEqual([]);
    node.setPods([makePod('web')]);
    await world.clock.advance(10_000);
    expect(machine.destroyed).toEqual(['/kubepods/burstable/poduid-left']);
    expect(machine.has(GROUP)).toBe(true);
    await node.stop();
  });

  test.each(['systemd', 'cgroupfs'] as const)(
    'the cgroup driver %s of the runtime takes precedence over the configuration',
    async (told) => {
      const world = await makeWorld({ cgroupDriver: told });
      const asked: string[] = [];
      const openCgroups = async (driver: string) => {
        asked.push(driver);
        return new MemoryCgroups();
      };
      const node = startKubelet(world, [], undefined, [], { openCgroups });
      await world.clock.advance(5000);
      expect(asked).toEqual([told]);
      await node.stop();
    },
  );

  test.each([
    ['no Linux information', async () => ({ linux: null })],
    [
      'no configuration',
      () => Promise.reject(new CriError({ code: 'UNIMPLEMENTED', rpc: 'RuntimeConfig', details: '' })),
    ],
  ])('the cgroup driver of the configuration is used if the runtime reports %s', async (_what, runtimeConfig) => {
    const asked: string[] = [];
    const openCgroups = async (driver: string) => {
      asked.push(driver);
      return new MemoryCgroups();
    };
    const cgroups = nodeCgroups(components, { cri: { runtimeConfig }, openCgroups }, settings);
    await cgroups?.exists(makePod('web'), signal);
    expect(asked).toEqual(['systemd']);
  });

  test.each([
    ['UNIMPLEMENTED', 'kubelet_cri_losing_support{version="1.37.0"} 1\n'],
    ['UNAVAILABLE', ''],
  ] as const)(
    'the metric kubelet_cri_losing_support is set only for a runtime without the call RuntimeConfig, not after an error: %s',
    async (code, line) => {
      const metrics = new MetricsRegistry();
      const cri = { runtimeConfig: () => Promise.reject(new CriError({ code, rpc: 'RuntimeConfig', details: '' })) };
      const openCgroups = async () => new MemoryCgroups();
      const cgroups = nodeCgroups(() => ({ ...components(), metrics }), { cri, openCgroups }, settings);
      await cgroups?.exists(makePod('web'), signal).catch(() => undefined);
      await cgroups?.exists(makePod('web'), signal).catch(() => undefined);
      expect(/^kubelet_cri_losing_support.*\n/m.exec(metrics.text())?.[0] ?? '').toBe(line);
    },
  );

  test('an unknown cgroup driver of the runtime stops the kubelet with an error that names the driver', async () => {
    const cri = { runtimeConfig: async () => ({ linux: { cgroupDriver: 7 } }) };
    const openCgroups = () => Promise.reject(new Error('not to be opened'));
    const cgroups = nodeCgroups(components, { cri, openCgroups }, settings);
    await expect(cgroups?.start(signal)).rejects.toMatchObject({
      name: 'CgroupError',
      code: 'UnsupportedDriver',
      message: 'runtime returned an unknown cgroup driver 7',
    });
  });

  test("S5: a pod's sandbox is created in the slice that systemd creates", async () => {
    const world = await makeWorld({ cgroupDriver: 'systemd' });
    class Slices extends MemoryCgroups {
      override path(name: CgroupName): string {
        return systemdPath(name);
      }
    }
    const node = startKubelet(world, [], undefined, [], { openCgroups: async () => new Slices() });
    node.setPods([makePod('web')]);
    await world.clock.advance(5000);
    const [sandbox] = (await world.cri.listPodSandbox({})).items;
    const { info } = await world.cri.podSandboxStatus({ podSandboxId: sandbox?.id ?? '', verbose: true });
    const slice = '/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poduid_web.slice';
    expect(JSON.stringify(info)).toContain(slice);
    await node.stop();
  });
});
