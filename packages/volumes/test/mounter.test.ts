import { FakeClock } from '@node-agent/async/testing';
import { expect, it } from 'vitest';
import { MountCommand } from '../src/mount/mount-command.ts';

it('parses the mount table as described in proc(5), and returns the same map object for an unchanged table', async () => {
  let lines = [
    '22 28 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw',
    '36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:9 - ext3 /dev/root rw,errors=continue',
    '40 28 0:40 / /with\\040blank\\134 rw - tmpfs tmpfs rw,size=4096k',
    '41 40 0:41 / /with\\040blank\\134 rw - ramfs none rw',
    '',
  ];
  const mounter = new MountCommand({
    fs: { readFile: async () => Buffer.from(lines.join('\n'), 'latin1') },
    clock: new FakeClock(),
  });
  const points = await mounter.mountPoints();
  expect([...points]).toEqual([
    ['/sys', 'sysfs'],
    ['/mnt2', 'ext3'],
    ['/with blank\\', 'ramfs'],
  ]);
  expect(await mounter.mountPoints()).toBe(points);
  lines = lines.slice(0, 3);
  expect((await mounter.mountPoints()).get('/with blank\\')).toBe('tmpfs');
});
