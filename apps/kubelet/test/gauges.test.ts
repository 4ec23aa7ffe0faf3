import { FakeClock } from '@node-agent/async/testing';
import type { CgroupDriver } from '@node-agent/cm-cgroups';
import { defaultConfiguration } from '@node-agent/config';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { expect, test } from 'vitest';
import { nodeGauges } from '../src/node/gauges.ts';

const { signal } = new AbortController();

/** Creates a machine with cgroup v2 and one cgroup of all pods per driver, each with its own memory usage. */
async function machine(uses: Readonly<Record<string, number>>): Promise<MemoryFileSystem> {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  await fs.mkdir('/sys/fs/cgroup');
  await fs.writeFile('/sys/fs/cgroup/cgroup.controllers', 'cpu memory\n');
  for (const [group, bytes] of Object.entries(uses)) {
    await fs.mkdir(`/sys/fs/cgroup/${group}`);
    await fs.writeFile(`/sys/fs/cgroup/${group}/memory.current`, `${bytes}\n`);
    await fs.writeFile(`/sys/fs/cgroup/${group}/memory.stat`, 'inactive_file 0\n');
  }
  return fs;
}

test('N2: reads the memory of all pods only from the cgroup of the current driver', async () => {
  const fs = await machine({ kubepods: 7, 'kubepods.slice': 1 });
  let driver: CgroupDriver | undefined;
  const gauges = await nodeGauges({ fs, kernel: fs }, defaultConfiguration(), () => driver);
  const gauge = gauges.find((one) => one.signal === 'allocatableMemory.available');
  expect(await gauge?.available(signal)).toBeNaN();
  driver = 'cgroupfs';
  expect(await gauge?.available(signal)).toBe(-7);
  driver = 'systemd';
  expect(await gauge?.available(signal)).toBe(-1);
});

test('the cgroup of all pods is not read if allocatable is not enforced on pods', async () => {
  const fs = await machine({ kubepods: 7 });
  const configuration = defaultConfiguration({ enforceNodeAllocatable: ['none'] });
  const gauges = await nodeGauges({ fs, kernel: fs }, configuration, () => 'cgroupfs');
  expect(gauges.map((one) => one.signal)).toEqual(['memory.available', 'pid.available']);
});
