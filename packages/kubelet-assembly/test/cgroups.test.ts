import { type CgroupManager, type CgroupName, cgroupfsPath } from '@node-agent/cm-cgroups';
import { describe, expect, test } from 'vitest';
import { makePod, makeWorld, startKubelet } from './node.ts';

/** Groups by their paths: what a machine has, and what was done to it. */
class MemoryCgroups implements CgroupManager {
  readonly version = 2;
  readonly groups: Set<string> = new Set(['/']);
  readonly destroyed: string[] = [];

  path(name: CgroupName): string {
    return cgroupfsPath(name);
  }
  async exists(name: CgroupName): Promise<boolean> {
    return this.groups.has(cgroupfsPath(name));
  }
  async missing(name: CgroupName): Promise<readonly string[]> {
    return (await this.exists(name)) ? [] : [cgroupfsPath(name)];
  }
  async create(name: CgroupName): Promise<void> {
    this.groups.add(cgroupfsPath(name));
  }
  async update(): Promise<void> {}
  async destroy(name: CgroupName): Promise<void> {
    if (this.groups.delete(cgroupfsPath(name))) this.destroyed.push(cgroupfsPath(name));
  }
  async children(name: CgroupName): Promise<readonly string[]> {
    const parent = `${cgroupfsPath(name)}/`;
    return [...this.groups].flatMap((path) => {
      const rest = path.startsWith(parent) ? path.slice(parent.length) : '/';
      return rest.includes('/') ? [] : [rest];
    });
  }
}

const GROUP = '/kubepods/besteffort/poduid-web';

describe('the groups of a node', () => {
  test("S5, N5: a pod's sandbox is made in its group, which is gone when the pod is", async () => {
    const world = await makeWorld();
    const machine = new MemoryCgroups();
    const node = startKubelet(world, [], undefined, [], { openCgroups: async () => machine });
    node.setPods([makePod('web')]);
    await world.clock.advance(5000);
    expect(node.kubelet.getPods()[0]?.status?.phase).toBe('Running');
    expect(machine.groups).toContain(GROUP);
    const [sandbox] = (await world.cri.listPodSandbox({})).items;
    const { info } = await world.cri.podSandboxStatus({ podSandboxId: sandbox?.id ?? '', verbose: true });
    expect(JSON.stringify(info)).toContain(GROUP);

    node.setPods([]);
    await world.clock.advance(10_000);
    expect(machine.destroyed).toEqual([GROUP]);
    expect(machine.groups).toEqual(new Set(['/', '/kubepods', '/kubepods/burstable', '/kubepods/besteffort']));
    await node.stop();
  });

  test('K1: groups that a kubelet left behind go, once all sources have spoken', async () => {
    const world = await makeWorld();
    const machine = new MemoryCgroups();
    machine.groups.add('/kubepods/burstable/poduid-left');
    const node = startKubelet(world, [], undefined, [], { openCgroups: async () => machine });
    await world.clock.advance(5000);
    expect(machine.destroyed).toEqual([]);
    node.setPods([makePod('web')]);
    await world.clock.advance(10_000);
    expect(machine.destroyed).toEqual(['/kubepods/burstable/poduid-left']);
    expect(machine.groups).toContain(GROUP);
    await node.stop();
  });

  test('a runtime that has the systemd driver is refused by name', async () => {
    const world = await makeWorld({ cgroupDriver: 'systemd' });
    const node = startKubelet(world, [], undefined, [], { openCgroups: async () => new MemoryCgroups() });
    await world.clock.advance(5000);
    await expect(node.stop()).rejects.toThrow(/cgroups ended: the container runtime uses the systemd cgroup driver/);
  });
});
