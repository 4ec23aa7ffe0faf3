import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deviceNames, diskFigures, mountedDevices } from '../src/file-systems.ts';
import {
  blkioStat,
  bootTimeMs,
  count,
  groupOfProcess,
  ioStat,
  keyedCounts,
  limit,
  netDev,
  pressure,
  taskCount,
} from '../src/kernel-text.ts';
import { containerIdOfGroup, podUidOfGroup } from '../src/pod-groups.ts';
import { netDevText } from './world.ts';

describe('kernel numbers', () => {
  it.each([
    ['12\n', 12],
    [' 0 ', 0],
    ['-3', undefined],
    ['1.5', undefined],
    ['', undefined],
    ['max', undefined],
    ['0x10', undefined],
    [undefined, undefined],
  ])("count converts the kernel's text %j to %j", (text, expected) => {
    expect(count(text)).toBe(expected);
  });

  it.each([
    ['max', Number.POSITIVE_INFINITY],
    ['-1\n', Number.POSITIVE_INFINITY],
    ['9223372036854771712', Number.POSITIVE_INFINITY],
    ['18446744073709551615', Number.POSITIVE_INFINITY],
    ['4096', 4096],
    ['4611686018427387904', 2 ** 62],
    [undefined, undefined],
    ['none', undefined],
  ])("limit converts the kernel's text %j to $1", (text, expected) => {
    expect(limit(text)).toBe(expected);
  });

  it('keyedCounts skips invalid lines', () => {
    expect([...keyedCounts('a 1\nb -2\nc\n\nd 3 4\n67\n 8\ne 5\n')]).toEqual([
      ['a', 1],
      ['e', 5],
    ]);
  });

  it('pressure reads the lines "some" and "full", or only "some" on older kernels', () => {
    const some = 'some avg10=1.00 avg60=2.00 avg300=3.00 total=4';
    expect(pressure(some)?.full).toEqual({ total: 0, avg10: 0, avg60: 0, avg300: 0 });
    expect(pressure(`${some}\nfull avg10=0.10 avg60=0.20 avg300=0.30 total=5\n`)).toEqual({
      some: { total: 4, avg10: 1, avg60: 2, avg300: 3 },
      full: { total: 5, avg10: 0.1, avg60: 0.2, avg300: 0.3 },
    });
    expect(pressure('')).toBeUndefined();
  });

  it('ioStat and blkioStat read the I/O stats of cgroup v2 and v1', () => {
    const expected = [{ major: 8, minor: 0, readBytes: 1, writeBytes: 2, reads: 3, writes: 4 }];
    expect(ioStat('8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n')).toEqual(expected);
    expect(ioStat('8:16\nnonsense\n')).toMatchObject([{ major: 8, minor: 16, readBytes: 0 }]);
    const bytes = '8:0 Read 1\n8:0 Write 2\n8:0 Sync 9\n8:0 Total 3\nTotal 3\n';
    expect(blkioStat(bytes, '8:0 Read 3\n8:0 Write 4\n')).toEqual(expected);
  });

  it('netDev skips loopback and virtual interfaces, and returns nothing if a line is malformed', () => {
    const text = netDevText({ eth0: [1, 2], 'eth0.5': [3, 4], lo: [5, 6], veth12: [7, 8], docker0: [9, 9] });
    expect(netDev(text)?.map(({ name }) => name)).toEqual(['eth0', 'eth0.5']);
    expect(netDev(text)?.[0]).toEqual({
      ...{ name: 'eth0', rxBytes: 1, rxPackets: 4, rxErrors: 1, rxDropped: 2 },
      ...{ txBytes: 2, txPackets: 5, txErrors: 3, txDropped: 6 },
    });
    expect(netDev(`${text}eth1: 1 2 3\n`)).toBeUndefined();
    expect(netDev(text.replace(' 5 3 6', ' -5 3 6'))).toBeUndefined();
    expect(netDev(undefined)).toBeUndefined();
    // A long number follows the colon without a blank, and a line without a name is malformed.
    expect(netDev(text.replace('eth0: 1', 'eth0:1'))?.[0]?.rxBytes).toBe(1);
    expect(netDev(text.replace('eth0:', ':'))).toBeUndefined();
  });

  it('the kernel text parsers accept arbitrary text and return no invalid number', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const value of keyedCounts(text).values()) expect(value).toBeGreaterThanOrEqual(0);
        for (const one of netDev(text) ?? []) expect(one.rxBytes).toBeGreaterThanOrEqual(0);
        pressure(text);
        ioStat(text);
        blkioStat(text, text);
        groupOfProcess(text, 1);
      }),
    );
  });

  it("taskCount and bootTimeMs read the machine's number of threads and its boot time", () => {
    expect(taskCount('1.36 3.49 4.53 2/3518 3715089\n')).toBe(3518);
    expect(taskCount('1.36')).toBeUndefined();
    expect(taskCount(undefined)).toBeUndefined();
    expect(bootTimeMs('cpu 1\nbtime 1700000000\nprocesses 5\n')).toBe(1_700_000_000_000);
    expect(bootTimeMs('cpu 1\n')).toBeUndefined();
    expect(bootTimeMs(undefined)).toBeUndefined();
  });
});

describe('cgroup names and paths', () => {
  it('groupOfProcess returns the cgroup of a process if the CPU and memory hierarchies agree', () => {
    expect(groupOfProcess('0::/system.slice/kubelet.service\n', 2)).toBe('/system.slice/kubelet.service');
    expect(groupOfProcess('3:cpu,cpuacct:/k\n2:memory:/k\n', 1)).toBe('/k');
    expect(groupOfProcess('3:cpu,cpuacct:/k\n2:memory:/k\n1:name=systemd:/s\n', 1)).toBe('/s');
    expect(groupOfProcess('3:cpu,cpuacct:/k\n2:memory:/other\n', 1)).toBeUndefined();
    expect(groupOfProcess(undefined, 2)).toBeUndefined();
  });

  it.each([
    ['pod1234-56', '1234-56'],
    ['kubepods-burstable-pod1234_56.slice', '1234-56'],
    ['kubepods-pod1234_56.slice', '1234-56'],
    ['na-kubepods-besteffort-pod1234_56.slice', '1234-56'],
    ['burstable', undefined],
    ['kubepods-burstable.slice', undefined],
    ['pod', undefined],
    ['dev-hugepages.mount', undefined],
  ])('podUidOfGroup returns for the cgroup name %s: %s', (name, uid) => {
    expect(podUidOfGroup(name)).toBe(uid);
  });

  it.each([
    ['cri-containerd-abc.scope', 'abc'],
    ['crio-abc.scope', 'abc'],
    ['abc.scope', 'abc'],
    ['abc', 'abc'],
  ])('containerIdOfGroup returns for the cgroup name %s: %s', (name, id) => {
    expect(containerIdOfGroup(name)).toBe(id);
  });
});

describe('disks of the machine', () => {
  it('mountedDevices returns each disk at its first mount point and decodes all kinds of names', () => {
    const mountinfo = [
      '22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw',
      '30 22 254:1 /sub /a\\040b rw - ext4 /dev/vda1 rw',
      '31 22 0:20 / /run rw - tmpfs tmpfs rw',
      '32 22 254:2 / /mnt/c\\134d rw master:3 - xfs /dev/disk\\040x rw',
      'nonsense',
    ].join('\n');
    expect(mountedDevices(mountinfo)).toEqual([
      { device: '/dev/vda1', key: '254:1', mountPoint: '/' },
      { device: '/dev/disk x', key: '254:2', mountPoint: '/mnt/c\\d' },
    ]);
  });

  it('mountedDevices ignores FUSE mounts, even if they are named like a disk', () => {
    const mountinfo = [
      '22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw',
      '40 22 0:40 / /mnt/a rw - fuse /dev/fuse rw,user_id=0',
      '41 22 0:41 / /mnt/b rw - fuse /dev/fuse rw,user_id=0',
      '42 22 0:42 / /mnt/c rw - fuse.sshfs /dev/vda1 rw,user_id=0',
      '43 22 254:3 / /mnt/d rw - fuseblk /dev/vda3 rw,user_id=0',
    ].join('\n');
    expect(mountedDevices(mountinfo)).toEqual([{ device: '/dev/vda1', key: '254:1', mountPoint: '/' }]);
  });

  it('diskFigures and deviceNames read the counters of disks and their device names', () => {
    expect(diskFigures(' 254 1 vda1 10 1 80 1500 20 2 160 2500 3 4000 5000 0 0\n 7 0 loop0 x\n').get('254:1')).toEqual({
      ...{ reads: 10, readsMerged: 1, sectorsRead: 80, readMs: 1500, writes: 20, writesMerged: 2 },
      ...{ sectorsWritten: 160, writeMs: 2500, inProgress: 3, ioMs: 4000, weightedMs: 5000 },
    });
    expect([...deviceNames('major minor  #blocks  name\n\n 254        1    100 vda1\n')]).toEqual([
      ['254:1', '/dev/vda1'],
    ]);
  });
});
