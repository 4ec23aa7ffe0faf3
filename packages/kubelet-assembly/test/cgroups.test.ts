import { type CgroupName, systemdPath } from '@node-agent/cm-cgroups';
import { describe, expect, test } from 'vitest';
import { MemoryCgroups } from './memory-cgroups.ts';
import { makePod, makeWorld, startKubelet } from './node.ts';

const GROUP = '/kubepods/besteffort/poduid-web';

describe('the groups of a node', () => {
  test("S5, N5: a pod's sandbox is made in its group, which is gone when the pod is", async () => {
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

  test('K1: groups that a kubelet left behind go, once all sources have spoken', async () => {
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

  test.each(['systemd', 'cgroupfs'] as const)('a runtime that has the driver %s decides', async (told) => {
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
  });

  test("S5: a pod's sandbox is put where systemd makes its slice", async () => {
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
