import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { type FileSystem, nodeFileSystem } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { describe, expect, it } from 'vitest';
import { AtomicWriter } from '../src/projected/atomic-writer.ts';
import type { Payload, ProjectedFile } from '../src/projected/payload.ts';

const TARGET = '/volume';
const CLOCK = new FakeClock();

const file = (text: string, mode = 0o644): ProjectedFile => ({ data: Buffer.from(text), mode });
const payload = (files: Readonly<Record<string, string>>): Payload =>
  new Map(Object.entries(files).map(([path, text]) => [path, file(text)]));

/** The files that a reader sees through the links, by path. */
async function seen(fs: FileSystem, root: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const visit = async (prefix: string): Promise<void> => {
    for (const { name } of await fs.readdir(join(root, prefix))) {
      if (name.startsWith('..')) continue;
      const path = join(prefix, name);
      if ((await fs.stat(join(root, path))).kind === 'directory') await visit(path);
      else found[path] = Buffer.from(await fs.readFile(join(root, path))).toString();
    }
  };
  await visit('');
  return found;
}

async function make(seed = 1): Promise<{ fs: MemoryFileSystem; writer: AtomicWriter }> {
  const fs = new MemoryFileSystem({ clock: CLOCK });
  await fs.mkdir(TARGET);
  return { fs, writer: new AtomicWriter({ fs, clock: CLOCK, random: seededRandom(seed) }) };
}

const names = async (fs: FileSystem, root = TARGET): Promise<string[]> =>
  (await fs.readdir(root)).map(({ name }) => name);

const BEFORE = { both: 'old', gone: 'x', 'dir/inner': 'a', 'olddir/deep/file': 'b' };
const AFTER = { both: 'new', fresh: 'y', 'dir/inner': 'a', 'dir/other': 'c' };

describe('AtomicWriter', () => {
  it("W4: writes files in upstream's layout: links through ..data to a timestamped directory", async () => {
    const { fs, writer } = await make();
    expect(await writer.write(TARGET, payload(BEFORE))).toBe(true);
    const data = await fs.readlink(`${TARGET}/..data`);
    expect(data).toMatch(/^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/);
    expect(await names(fs)).toEqual(['..data', data, 'both', 'dir', 'gone', 'olddir'].sort());
    expect(await fs.readlink(`${TARGET}/dir`)).toBe('..data/dir');
    expect((await fs.stat(`${TARGET}/${data}`)).mode).toBe(0o755);
    expect(await seen(fs, TARGET)).toEqual(BEFORE);
  });

  it('W4: an update of a volume replaces all its files in one rename and removes the old files', async () => {
    const { fs, writer } = await make();
    await writer.write(TARGET, payload(BEFORE));
    const old = await fs.readlink(`${TARGET}/..data`);
    expect(await writer.write(TARGET, payload(AFTER))).toBe(true);
    expect(await seen(fs, TARGET)).toEqual(AFTER);
    expect(await names(fs)).not.toContain(old);
    expect(await names(fs)).toHaveLength(5);
    await writer.write(TARGET, new Map());
    expect(await names(fs)).toHaveLength(2);
  });

  it('the atomic writer skips an unchanged payload and writes a payload with any difference', async () => {
    const { fs, writer } = await make();
    await writer.write(TARGET, payload(BEFORE));
    const old = await fs.readlink(`${TARGET}/..data`);
    for (const operation of ['write', 'mkdir', 'rename', 'symlink', 'remove', 'chmod', 'chown'] as const) {
      fs.injectFault({ code: 'EROFS', operation, times: Number.POSITIVE_INFINITY });
    }
    expect(await writer.write(TARGET, payload(BEFORE))).toBe(false);
    expect(await fs.readlink(`${TARGET}/..data`)).toBe(old);
    const others: Payload[] = [
      payload({ ...BEFORE, both: 'other' }),
      payload({ ...BEFORE, more: '' }),
      payload({ both: 'old', gone: 'x', 'dir/inner': 'a' }),
      new Map([...payload(BEFORE), ['both', file('old', 0o600)]]),
      new Map([...payload(BEFORE), ['both', { ...file('old'), ownerUid: 7 }]]),
    ];
    for (const other of others) await expect(writer.write(TARGET, other)).rejects.toMatchObject({ code: 'EROFS' });
    await expect(writer.write(TARGET, payload(BEFORE), 2000)).rejects.toMatchObject({ code: 'EROFS' });
  });

  it('written files get the modes and owners of the payload, and are readable for the fsGroup', async () => {
    const { fs, writer } = await make();
    const files = new Map([
      ['plain', file('', 0o400)],
      ['dir/token', { ...file('', 0o600), ownerUid: 1000 }],
    ]);
    await writer.write(TARGET, files);
    expect(await fs.stat(`${TARGET}/plain`)).toMatchObject({ mode: 0o400, uid: 0, gid: 0 });
    expect(await fs.stat(`${TARGET}/dir/token`)).toMatchObject({ mode: 0o600, uid: 1000, gid: 0 });
    await writer.write(TARGET, files, 2000);
    expect(await fs.stat(`${TARGET}/plain`)).toMatchObject({ mode: 0o440, uid: 0, gid: 2000 });
    expect(await fs.stat(`${TARGET}/dir`)).toMatchObject({ mode: 0o2755, gid: 2000 });
    expect(await fs.stat(`${TARGET}/dir/token`)).toMatchObject({ mode: 0o640, uid: 1000, gid: 2000 });
  });

  it('W3: writes no file of a payload if one of its paths leads out of the volume', async () => {
    const { fs, writer } = await make();
    const bad = payload({ good: 'x', 'a/../../out': 'y' });
    await expect(writer.write(TARGET, bad)).rejects.toMatchObject({ code: 'InvalidPath' });
    expect(fs.paths()).toEqual([TARGET]);
  });

  it("W3: an update replaces a ..data link that leads out of the volume and removes nothing at the link's target", async () => {
    const { fs, writer } = await make();
    await fs.mkdir('/elsewhere');
    await fs.writeFile('/elsewhere/both', 'old');
    await fs.symlink('../elsewhere', `${TARGET}/..data`);
    expect(await writer.write(TARGET, payload({ both: 'old' }))).toBe(true);
    expect(await fs.exists('/elsewhere/both')).toBe(true);
    expect(await fs.readlink(`${TARGET}/..data`)).not.toContain('elsewhere');
  });

  it('an update keeps nested mount points and links that the atomic writer did not create', async () => {
    const { fs, writer } = await make();
    await fs.mkdir(`${TARGET}/nested/mount`);
    await fs.symlink('/etc', `${TARGET}/link`);
    await writer.write(TARGET, payload({ both: 'x' }));
    await writer.write(TARGET, payload({ fresh: 'x' }));
    expect(await names(fs)).toEqual(expect.arrayContaining(['nested', 'link', 'fresh']));
    expect(await names(fs)).not.toContain('both');
  });

  it('W4: after a kill at any operation of an update, the volume has all old or all new files, and the next update removes leftovers', async () => {
    let killed = 0;
    let replaced = 0;
    for (let after = 0; after < 120; after++) {
      const { fs, writer } = await make();
      await writer.write(TARGET, payload(BEFORE));
      const fault = fs.injectFault({ code: 'EIO', skip: after, times: Number.POSITIVE_INFINITY });
      await writer.write(TARGET, payload(AFTER)).catch(() => killed++);
      fault.remove();
      const { both, 'dir/inner': inner } = await seenData(fs);
      expect(inner).toBe('a');
      if (both === 'new') replaced++;
      expect(await seenData(fs)).toEqual(both === 'new' ? AFTER : BEFORE);
      expect(await read(fs)).toEqual(both === 'new' ? AFTER : BEFORE);
      await new AtomicWriter({ fs, clock: CLOCK, random: seededRandom(9) }).write(TARGET, payload(AFTER));
      expect(await seen(fs, TARGET)).toEqual(AFTER);
      expect(await names(fs)).toHaveLength(5);
    }
    expect(killed).toBeGreaterThan(30);
    expect(replaced).toBeGreaterThan(120 - killed);
  });

  it('repeated write failures leave no old timestamped directories in the volume', async () => {
    for (const operation of ['write', 'mkdir', 'chown', 'symlink', 'rename'] as const) {
      const { fs, writer } = await make();
      await writer.write(TARGET, payload(BEFORE), 2000);
      const before = await names(fs);
      const fault = fs.injectFault({ code: 'ENOSPC', operation, times: 5 });
      for (let attempt = 0; attempt < 5; attempt++) {
        await expect(writer.write(TARGET, payload(AFTER), 2000)).rejects.toMatchObject({ code: 'ENOSPC' });
      }
      expect(fault.hits).toBe(5);
      expect((await names(fs)).filter((name) => name !== '..data_tmp')).toEqual(before);
      expect(await seen(fs, TARGET)).toEqual(BEFORE);
    }
  });

  it('the atomic writer behaves the same on the real file system', async () => {
    const root = await mkdtemp(join(tmpdir(), 'atomic-writer-'));
    try {
      const writer = new AtomicWriter({ fs: nodeFileSystem, clock: CLOCK, random: seededRandom(1) });
      expect(await writer.write(root, payload(BEFORE))).toBe(true);
      expect(await seen(nodeFileSystem, root)).toEqual(BEFORE);
      expect(await writer.write(root, payload(BEFORE))).toBe(false);
      expect(await writer.write(root, new Map([...payload(AFTER), ['fresh', file('y', 0o400)]]))).toBe(true);
      expect(await seen(nodeFileSystem, root)).toEqual(AFTER);
      expect((await nodeFileSystem.stat(join(root, 'fresh'))).mode).toBe(0o400);
      expect(await names(nodeFileSystem, root)).toHaveLength(5);
    } finally {
      await rm(root, { recursive: true });
    }
  });
});

/** The content that can be read through the old and new file names. */
async function read(fs: FileSystem): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const path of Object.keys({ ...BEFORE, ...AFTER })) {
    const text = await fs.readFile(`${TARGET}/${path}`).catch(() => undefined);
    if (text !== undefined) found[path] = Buffer.from(text).toString();
  }
  return found;
}

/**
 * Returns the content of the files behind ..data. After a new ..data link, other links may still have to be created or
 * removed.
 */
async function seenData(fs: FileSystem): Promise<Record<string, string>> {
  return seen(fs, `${TARGET}/${await fs.readlink(`${TARGET}/..data`)}`);
}
