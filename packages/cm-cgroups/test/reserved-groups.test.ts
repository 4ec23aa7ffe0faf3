import { FakeClock } from '@node-agent/async/testing';
import { parseResourceList } from '@node-agent/pod-spec';
import type { EventRecorder } from '@node-agent/telemetry';
import { beforeEach, describe, expect, test } from 'vitest';
import { listResourceConfig, openCgroups, PodCgroups, type ReservedGroup } from '../src/index.ts';
import { FakeKernel } from './kernel.ts';
import { burstable } from './pods.ts';
import { FakeSystemd } from './systemd/fake-systemd.ts';

const { signal } = new AbortController();
const reserved = parseResourceList({ cpu: '500m', memory: '1Gi', pid: '1000' });

describe.each(['cgroupfs', 'systemd'] as const)('cgroups with enforced reservations, driver %s', (driver) => {
  let clock: FakeClock;
  let kernel: FakeKernel;
  let events: string[];
  const path = driver === 'systemd' ? '/system.slice' : '/system';
  const recorder: EventRecorder = { event: (_node, type, reason, text) => events.push(`${type} ${reason} ${text}`) };
  const make = (...groups: ReservedGroup[]): PodCgroups => {
    const components = { fs: kernel.fs, clock, kill: kernel.kill, systemd: new FakeSystemd(kernel) };
    return new PodCgroups({ open: () => openCgroups(components, driver), clock, recorder }, { reserved: groups });
  };
  const aboutSystem = (): string[] => events.filter((event) => event.includes('eserved'));

  beforeEach(async () => {
    clock = new FakeClock();
    kernel = new FakeKernel(clock, 2);
    events = [];
    await kernel.boot();
    await kernel.memory.mkdir('/run/systemd/system');
    await kernel.fs.writeFile('/sys/fs/cgroup/cgroup.subtree_control', '+cpuset +cpu +io +memory +hugetlb +pids');
    await kernel.fs.mkdir(`/sys/fs/cgroup${path}`);
  });

  test('enforces all reserved resources on the reserved cgroup', async () => {
    const limits = { ...listResourceConfig(reserved), cpus: '0-3', unified: { 'memory.min': String(2 ** 30) } };
    await make({ level: 'system-reserved', cgroup: path, limits }).ensure(burstable('b'), signal);
    expect(await kernel.text(`${path}/memory.max`)).toBe(String(2 ** 30));
    expect(await kernel.text(`${path}/memory.min`)).toBe(String(2 ** 30));
    expect(await kernel.text(`${path}/pids.max`)).toBe('1000');
    expect(await kernel.text(`${path}/cpu.weight`)).toBe('20');
    expect(await kernel.text(`${path}/cpuset.cpus`)).toBe('0-3');
    expect(aboutSystem()).toEqual([`Normal NodeAllocatableEnforced Updated limits on system reserved cgroup ${path}`]);
  });

  test('enforces only compressible reserved resources: memory stays unlimited', async () => {
    const limits = listResourceConfig(reserved, 'compressible');
    await make({ level: 'kube-reserved-compressible', cgroup: path, limits }).ensure(burstable('b'), signal);
    expect(await kernel.text(`${path}/cpu.weight`)).toBe('20');
    expect(await kernel.text(`${path}/memory.max`)).toBe('max');
    expect(aboutSystem()).toEqual([`Normal NodeAllocatableEnforced Updated limits on kube reserved cgroup ${path}`]);
  });

  test('a missing reserved cgroup ends the kubelet with its name in the error, and is not created', async () => {
    const cgroup = driver === 'systemd' ? '/kube.slice' : '/kube';
    const cgroups = make({ level: 'kube-reserved', cgroup, limits: listResourceConfig(reserved) });
    await expect(cgroups.start(signal)).rejects.toMatchObject({ code: 'MissingRoot' });
    const start = `Failed to enforce Kube Reserved Cgroup Limits on "${cgroup}": cgroup ["kube"] has some missing paths: `;
    expect(aboutSystem()).toEqual([`Warning FailedNodeAllocatableEnforcement ${start}/sys/fs/cgroup${cgroup}`]);
    expect(kernel.groups('')).not.toContain(cgroup);
  });

  test('a reserved cgroup without a reservation ends the kubelet', async () => {
    const cgroups = make({ level: 'system-reserved', cgroup: path, limits: undefined });
    await expect(cgroups.start(signal)).rejects.toThrow('["system"] cgroup is not configured properly');
  });

  test('a refused limit of a reserved cgroup affects no pod, and is retried each minute', async () => {
    kernel.refuse = (file) => (file === `${path}/memory.max` ? 'EBUSY' : undefined);
    const ending = new AbortController();
    const cgroups = make({ level: 'system-reserved', cgroup: path, limits: listResourceConfig(reserved) });
    const running = cgroups.start(ending.signal);
    expect(await cgroups.ensure(burstable('b'), signal)).toBe(true);
    kernel.refuse = () => undefined;
    await clock.advance(61_000);
    expect(await kernel.text(`${path}/memory.max`)).toBe(String(2 ** 30));
    expect(aboutSystem().map((event) => event.split(' ')[1])).toEqual([
      ...['FailedNodeAllocatableEnforcement', 'NodeAllocatableEnforced'],
    ]);
    ending.abort();
    await running;
  });
});
