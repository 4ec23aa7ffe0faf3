import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseMountInfo } from '../src/mounter.ts';

it('reads the mount table of proc(5)', () => {
  const text = [
    '22 28 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw',
    '36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:9 - ext3 /dev/root rw,errors=continue',
    '40 28 0:40 / /with\\040blank\\134 rw - tmpfs tmpfs rw,size=4096k',
    '41 40 0:41 / /with\\040blank\\134 rw - ramfs none rw',
    '',
  ].join('\n');
  expect([...parseMountInfo(text)]).toEqual([
    ['/sys', 'sysfs'],
    ['/mnt2', 'ext3'],
    ['/with blank\\', 'ramfs'],
  ]);
});

it('W3: passes over lines that make no sense', () => {
  fc.assert(fc.property(fc.string(), (text) => void parseMountInfo(text)));
  expect(parseMountInfo('a b c d e f\n- x').size).toBe(0);
});
