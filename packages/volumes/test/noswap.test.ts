import { describe, expect, it } from 'vitest';
import { supportsNoswap } from '../src/mount/noswap.ts';
import { podOf, setUp } from './helpers.ts';

const WHOLE = '         0          0 4294967295\n';

describe('a tmpfs that is never swapped', () => {
  it.each([
    ['6.4.0', WHOLE, true],
    ['6.18.3-amd64\n', WHOLE, true],
    ['10.0', WHOLE, true],
    ['6.3.9', WHOLE, false],
    ['5.15.0', WHOLE, false],
    ['6.18.0', '0 100000 65536\n', false],
    ['none', WHOLE, false],
  ])('tmpfs uses noswap on Linux %s with the uid map %j: %s', (osRelease, uidMap, expected) => {
    expect(supportsNoswap(osRelease, uidMap)).toBe(expected);
  });

  it('W4: a tmpfs is mounted with noswap if the kernel supports it', async () => {
    const { fs, manager, mounter, signal } = setUp();
    for (const directory of ['/proc/sys/kernel', '/proc/self']) await fs.mkdir(directory);
    await fs.writeFile('/proc/sys/kernel/osrelease', '6.12.0\n');
    await fs.writeFile('/proc/self/uid_map', WHOLE);
    const memory = (sizeLimit?: string) => ({ medium: 'Memory', ...(sizeLimit && { sizeLimit }) });
    await manager.waitForAttachAndMount(podOf([{ name: 'm', emptyDir: memory('1Mi') }]), signal);
    expect(mounter.asked).toEqual(['mount tmpfs size=1048576,noswap']);
  });
});
