import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { describe, expect, it } from 'vitest';
import { createTerminationMessageFile, parseCpuList, thermalThrottlePaths } from '../../src/config/host-files.ts';

describe('createTerminationMessageFile', () => {
  it('makes an empty file that any user may write, with another name each time', async () => {
    const fs = new MemoryFileSystem({ clock: new FakeClock() });
    const numbers = [0.5, 0];
    const random = { next: () => numbers.shift() ?? 0 };
    const first = await createTerminationMessageFile(fs, random, '/root', 'uid-1', 'app');
    const second = await createTerminationMessageFile(fs, random, '/root', 'uid-1', 'app');
    expect([first, second]).toEqual([
      '/root/pods/uid-1/containers/app/80000000',
      '/root/pods/uid-1/containers/app/00000000',
    ]);
    expect(await fs.stat(first)).toMatchObject({ kind: 'file', sizeBytes: 0, mode: 0o666 });
    expect(await fs.stat('/root/pods/uid-1/containers/app')).toMatchObject({ mode: 0o750 });
  });
});

describe('thermalThrottlePaths', () => {
  it('finds the directories that are there', async () => {
    const fs = new MemoryFileSystem({ clock: new FakeClock() });
    expect(await thermalThrottlePaths(fs)).toEqual([]);
    await fs.mkdir('/sys/devices/system/cpu/cpu1/thermal_throttle');
    await fs.writeFile('/sys/devices/system/cpu/possible', '0-2\n');
    expect(await thermalThrottlePaths(fs)).toEqual(['/sys/devices/system/cpu/cpu1/thermal_throttle']);
  });

  it.each([
    ['0', [0]],
    ['0-2,8\n', [0, 1, 2, 8]],
    ['', []],
    ['3-1,x,4', [4]],
  ])('reads %j', (text, cpus) => {
    expect(parseCpuList(text)).toEqual(cpus);
  });
});
