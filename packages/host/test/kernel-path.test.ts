import { FakeClock } from '@node-agent/async/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kernelPath } from '../src/foreign/kernel-path.ts';
import { isKernelServed } from '../src/foreign/kernel-served.ts';
import { type Mount, MountTable, NewestMountTable, parseMounts } from '../src/foreign/mount-table.ts';
import { sharedMountTable } from '../src/foreign/shared-mount-table.ts';
import { codeOf } from './compliance.ts';

describe('the mount table', () => {
  it('parseMounts reads mount points with blanks and with names that are not valid UTF-8', () => {
    const text =
      '36 35 98:0 / /mnt\\040one rw shared:1 - ext4 /dev/sda rw\n37 36 0:5 / /caf\xe9 rw master:1 - fuse.sshfs a:/b rw\n\nodd';
    expect(parseMounts(text)).toEqual([
      { id: '36', parentId: '35', point: '/mnt one', type: 'ext4', isShared: true },
      { id: '37', parentId: '36', point: '/caf\udce9', type: 'fuse.sshfs', isShared: false },
    ]);
  });

  it.each([
    ['mount options', 'rw,seclabel - ext4 x rw'],
    ['options of the file system', 'rw shared:1 - ext4 x rw,seclabel,relatime'],
  ])('the mount table shows that files can have SELinux labels if seclabel is in the %s', (_where, rest) => {
    expect(parseMounts(`1 0 0:1 / / ${rest}`)[0]?.takesLabels).toBe(true);
    expect(parseMounts(`1 0 0:1 / / ${rest.replace('seclabel', 'noseclabel')}`)[0]?.takesLabels).toBeUndefined();
  });

  it('W3: parseMounts ignores malformed lines of the mount table', () => {
    fc.assert(fc.property(fc.string(), (text) => void new MountTable(parseMounts(text)).of('/a')));
    expect(parseMounts('a b c d e f\n- x')).toEqual([]);
  });

  it('NewestMountTable parses the mount table again if its text has changed', () => {
    const tables = new NewestMountTable();
    const text = (type: string): string => `1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / /v rw - ${type} x rw\n`;
    const table = tables.of(text('tmpfs'));
    expect([...table.types]).toEqual([
      ['/', 'ext4'],
      ['/v', 'tmpfs'],
    ]);
    expect(tables.of(text('tmpfs'))).toBe(table);
    expect(tables.of(text('fuse.x')).types.get('/v')).toBe('fuse.x');
  });

  it('sharedMountTable reads the mount table once for concurrent callers, and again for later ones', async () => {
    const clock = new FakeClock();
    let type = 'tmpfs';
    let readings = 0;
    const readText = (): string => {
      readings += 1;
      return `1 0 0:1 / / rw - ${type} x rw`;
    };
    const table = sharedMountTable({ clock, readText });
    const first = await table();
    await clock.advance(99);
    expect(await table()).toBe(first);
    expect(readings).toBe(1);
    type = 'fuse.x';
    await clock.advance(1);
    expect((await table()).of('/a')?.type).toBe('fuse.x');
    expect(readings).toBe(2);
  });

  const mounts = (...lines: readonly (readonly [id: number, parent: number, point: string, type?: string])[]) =>
    lines.map(
      ([id, parentId, point, type = 'ext4']): Mount => ({
        id: `${id}`,
        parentId: `${parentId}`,
        point,
        type,
        isShared: false,
      }),
    );

  it.each([
    ['the root', '/etc/hosts', mounts([1, 0, '/'], [2, 1, '/data']), '1'],
    ['a root that is its own parent', '/etc', mounts([1, 1, '/']), '1'],
    ['a mount', '/data/x', mounts([1, 0, '/'], [2, 1, '/data']), '2'],
    ['a mount itself', '/data', mounts([1, 0, '/'], [2, 1, '/data']), '2'],
    ['a name that starts with the name of a mount point', '/data2', mounts([1, 0, '/'], [2, 1, '/data']), '1'],
    ['a mount inside another mount', '/data/a/b', mounts([1, 0, '/'], [2, 1, '/data'], [3, 2, '/data/a']), '3'],
    ['the upper of two stacked mounts', '/data/x', mounts([1, 0, '/'], [3, 2, '/data'], [2, 1, '/data']), '3'],
    ['a mount over the root', '/data', mounts([1, 0, '/'], [2, 1, '/data'], [3, 1, '/']), '3'],
    [
      'a mount that hides another one below it',
      '/data/nfs/x',
      mounts([1, 0, '/'], [2, 1, '/data/nfs', 'nfs4'], [3, 1, '/data']),
      '3',
    ],
    ['no table', '/data', [], undefined],
    ['a process whose root is no mount', '/data', mounts([2, 1, '/data']), undefined],
    ['two roots', '/data', mounts([1, 0, '/'], [3, 2, '/']), undefined],
    ['a table that is a circle', '/data', mounts([1, 2, '/'], [2, 1, '/']), undefined],
  ])('MountTable finds the mount of a path (%s) with ID $3', (_name, path, table, id) => {
    expect(new MountTable(table).of(path)?.id).toBe(id);
  });

  it.each([
    ...['ext4', 'xfs', 'btrfs', 'zfs', 'tmpfs', 'vfat', 'squashfs', 'overlay'].map((type) => [type, true] as const),
    ...['nfs', 'nfs4', 'cifs', 'smb3', '9p', 'ceph', 'virtiofs', 'autofs', 'fuse', 'fuseblk', 'fuse.sshfs', 'lustre']
      .concat('gfs2', 'efivarfs', 'ecryptfs', '', 'none')
      .map((type) => [type, false] as const),
  ])('the kernel serves the file system type %s without another server or program: %s', (type, served) => {
    expect(isKernelServed(type)).toBe(served);
    expect(isKernelServed(undefined)).toBe(false);
  });
});

const MOUNTS = new MountTable([
  { id: '1', parentId: '0', point: '/', type: 'ext4', isShared: false },
  { id: '2', parentId: '1', point: '/nfs', type: 'nfs4', isShared: false },
  { id: '3', parentId: '1', point: '/disk', type: 'xfs', isShared: false },
  { id: '4', parentId: '3', point: '/disk/fuse', type: 'fuse.x', isShared: false },
  { id: '5', parentId: '2', point: '/nfs/disk', type: 'ext4', isShared: false },
]);

describe('kernelPath', () => {
  const links: Readonly<Record<string, string>> = {
    '/var': '/disk/var',
    '/disk/up': '../etc/./x/..',
    '/disk/slow': 'fuse/x',
    '/away': '/nfs/data',
    '/me': 'me',
    '/disk/root': '/',
  };
  const walk = (path: string): Promise<string | undefined> => kernelPath(path, MOUNTS, async (place) => links[place]);

  it.each([
    ['/', '/'],
    ['/etc//hosts/', '/etc/hosts'],
    ['/var/lib/kubelet', '/disk/var/lib/kubelet'],
    ['/disk/up/a', '/etc/a'],
    ['/disk/../..', '/'],
    ['/disk/root/var', '/disk/var'],
    ['/nfs', undefined],
    ['/nfs/disk/x', undefined],
    ['/disk/fuse', undefined],
    ['/disk/slow', undefined],
    ['/away', undefined],
    ['/nfs/../etc', undefined],
    ['etc', undefined],
    ['', undefined],
  ])('kernelPath resolves %s to %s', async (path, real) => {
    expect(await walk(path)).toBe(real);
  });

  it("kernelPath fails with the system's error for a loop of links", async () => {
    expect(await codeOf(walk('/me'))).toBe('ELOOP');
    const denied = Object.assign(new Error('denied'), { code: 'EACCES' });
    expect(await codeOf(kernelPath('/a', MOUNTS, () => Promise.reject(denied)))).toBe('EACCES');
  });

  it('W6: kernelPath makes no call that a server or another program would have to respond, whatever links there are', async () => {
    const name = fc.constantFrom('nfs', 'disk', 'fuse', 'var', 'a', '..', '.');
    const target = fc.tuple(fc.boolean(), fc.array(name, { minLength: 1, maxLength: 4 }));
    const text = ([absolute, names]: readonly [boolean, readonly string[]]): string =>
      `${absolute ? '/' : ''}${names.join('/')}`;
    const anyLinks = fc.dictionary(
      fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join('/')}`),
      target.map(text),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(name, { maxLength: 6 }), anyLinks, async (names, links) => {
        const readLink = async (place: string): Promise<string | undefined> => {
          expect(isKernelServed(MOUNTS.of(place)?.type)).toBe(true);
          expect(place).not.toMatch(/^\/nfs|^\/disk\/fuse/);
          return Object.hasOwn(links, place) ? links[place] : undefined;
        };
        const real = await kernelPath(`/${names.join('/')}`, MOUNTS, readLink).catch(codeOfLoop);
        if (real === undefined || real === 'ELOOP') return;
        // The result contains no symbolic link and leads into no other mount.
        const parts = real.split('/').slice(1);
        for (let n = 1; n <= parts.length; n++) {
          const place = `/${parts.slice(0, n).join('/')}`;
          expect(Object.hasOwn(links, place)).toBe(false);
          expect(place).not.toMatch(/^\/nfs|^\/disk\/fuse|\.\.$/);
        }
      }),
      { numRuns: 500 },
    );
  });
});

function codeOfLoop(error: unknown): string {
  expect(error).toMatchObject({ code: 'ELOOP' });
  return 'ELOOP';
}
