import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOfText, systemPath } from '../src/byte-names.ts';
import { isOld, LONGEST_BACK_OFF_MS, mayAsk, placeOf, type Suspicion, suspect } from '../src/foreign/hang-rule.ts';
import { isKernelServed } from '../src/foreign/kernel-served.ts';
import { fromHelperError, toHelperError } from '../src/helper/protocol.ts';
import { systemError } from '../src/system-error.ts';
import { MemoryFileSystem } from '../src/testing.ts';

describe('back-off rules for file systems that hang', () => {
  test.each([
    ['/data/x', ['/', '/proc', '/data'], '/data'],
    ['/data', ['/', '/data'], '/data'],
    ['/data2/x', ['/', '/data'], '/data2/x'],
    ['/data/nfs/a/b', ['/', '/data', '/data/nfs'], '/data/nfs'],
    ['/etc/hosts', ['/'], '/etc/hosts'],
    ['/etc/hosts', [], '/etc/hosts'],
  ])('a call to %s with mounts at %j is attributed to the file system at %s', (path, points, place) => {
    expect(placeOf(path, points)).toBe(place);
  });

  test('the pause after each hang of a file system grows to a bound, and after the pause only one call at a time is allowed', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.nat(), (times, nowMs) => {
        let suspicion = suspect(undefined, nowMs);
        for (let n = 0; n < times; n++) {
          const next = suspect(suspicion, nowMs);
          expect(next.refusedUntilMs).toBeGreaterThanOrEqual(suspicion.refusedUntilMs);
          suspicion = next;
        }
        const { refusedUntilMs } = suspicion;
        expect(refusedUntilMs - nowMs).toBeLessThanOrEqual(LONGEST_BACK_OFF_MS);
        expect(mayAsk(suspicion, 0, refusedUntilMs - 1)).toBe(false);
        expect(mayAsk(suspicion, 0, refusedUntilMs)).toBe(true);
        expect(mayAsk(suspicion, 1, refusedUntilMs)).toBe(false);
      }),
    );
    expect(mayAsk(undefined, 3, 0)).toBe(true);
  });
});

describe('a file system that hung', () => {
  test('calls to a file system that hung are refused for 10 s, then twice as long each time, up to 5 min', () => {
    const pauses: number[] = [];
    let suspicion: Suspicion | undefined;
    for (let n = 0; n < 7; n++) {
      suspicion = suspect(suspicion, 1000);
      pauses.push(suspicion.refusedUntilMs - 1000);
    }
    expect(suspicion?.hangs).toBe(7);
    expect(pauses).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  });

  test('a past hang is forgotten when the longest pause has passed since calls were allowed again', () => {
    const suspicion = { hangs: 1, refusedUntilMs: 50 };
    expect(isOld(suspicion, 50 + LONGEST_BACK_OFF_MS)).toBe(false);
    expect(isOld(suspicion, 51 + LONGEST_BACK_OFF_MS)).toBe(true);
  });
});

test.each([
  ['disks', ['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs', 'zfs', 'bcachefs', 'jfs', 'nilfs2', 'reiserfs']],
  ['media', ['vfat', 'msdos', 'exfat', 'ntfs3', 'hfsplus', 'iso9660', 'udf']],
  ['images', ['squashfs', 'erofs', 'cramfs']],
  ['memory', ['tmpfs', 'ramfs', 'rootfs', 'devtmpfs']],
  ['layers', ['overlay']],
])('the kernel serves the file system types for %s itself, without another server or program', (_what, types) => {
  expect(types.filter((type) => !isKernelServed(type))).toEqual([]);
});

test('network and FUSE file system types are not served by the kernel alone', () => {
  const types = [
    'nfs4',
    'cifs',
    '9p',
    'ceph',
    'virtiofs',
    'fuse.sshfs',
    'fuseblk',
    'gfs2',
    'autofs',
    'efivarfs',
    '',
    undefined,
  ];
  expect(types.filter(isKernelServed)).toEqual([]);
});

describe('errors from helper processes', () => {
  test('an error in a helper process is thrown in the kubelet with the same code, path and message', () => {
    const met = systemError('ENOENT', 'stat', '/a');
    const told = toHelperError(met, '/b');
    expect(told).toEqual({ code: 'ENOENT', syscall: 'stat', path: '/a', message: met.message });
    expect(fromHelperError(told)).toMatchObject({ code: 'ENOENT', syscall: 'stat', path: '/a', message: met.message });
  });

  test.each([
    [new Error('odd'), { code: 'EIO', syscall: 'call', path: '/b', message: 'odd' }],
    ['odd', { code: 'EIO', syscall: 'call', path: '/b', message: 'odd' }],
    [undefined, { code: 'EIO', syscall: 'call', path: '/b', message: 'undefined' }],
  ])('a helper process reports as EIO a thrown value that is not a system error: %s', (thrown, told) => {
    expect(toHelperError(thrown, '/b')).toEqual(told);
  });
});

test('a path is passed to the system as text if it is valid UTF-8, and as bytes otherwise', () => {
  expect(systemPath('/caf\u00e9')).toBe('/caf\u00e9');
  expect(systemPath('/a\udc80')).toEqual(Buffer.from([0x2f, 0x61, 0x80]));
  expect(bytesOfText('\udc80\ud800x')).toEqual(Uint8Array.from([0x80, 0xef, 0xbf, 0xbd, 0x78]));
});

test('MemoryFileSystem lists all its paths, mount points and names', async () => {
  const fs = new MemoryFileSystem({ clock: { now: () => 0 } });
  await fs.mkdir('/b/c');
  await fs.writeFile('/b/c/file', 'text');
  await fs.symlink('c/file', '/b/link');
  await fs.mkdir('/a');
  fs.mount('/a');
  expect(fs.paths()).toEqual(['/a', '/b', '/b/c', '/b/c/file', '/b/link']);
  expect(fs.mountPoints()).toEqual(['/a']);
  expect([fs.names('/b'), fs.names('/'), fs.names('/b/c/file'), fs.names('/none/x')]).toEqual([
    ...[['c', 'link'], ['a', 'b'], [], []],
  ]);
  // 10 bytes: the content of the file plus the target of the link.
  expect(fs.usedBytes).toBe(10);
  const shown = await Promise.all(['/b', '/b/c/file', '/b/link'].map((path) => fs.lstat(path)));
  expect(shown.map(({ kind, sizeBytes, allocatedBytes }) => [kind, sizeBytes, allocatedBytes])).toEqual([
    ['directory', 0, 0],
    ['file', 4, 4096],
    ['symlink', 6, 0],
  ]);
});
