import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { link, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Helper } from '../src/helper/helper-process.ts';
import { nodeFileSystem as fs, systemError } from '../src/index.ts';
import { TreeMeasurer } from '../src/measure-tree.ts';
import { MemoryFileSystem } from '../src/testing.ts';
import { codeOf } from './compliance.ts';

const onLinux = process.platform === 'linux';
let root: string;
const at = (path: string): string => join(root, path);
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'host-test-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Returns the usage of a path, as du(1) reports it. */
function du(path: string): { bytes: number; inodes: number } {
  const of = (...flags: string[]): number =>
    Number(
      execFileSync('du', ['-s', '-x', ...flags, path])
        .toString()
        .split('\t')[0],
    );
  return { bytes: of('--block-size=1'), inodes: of('--inodes') };
}

describe.runIf(onLinux)('usage of nodeFileSystem', { timeout: 60_000 }, () => {
  it.each([3, 700])(
    'W5: usage equals the output of du(1) for a tree with %i files, a sparse file, hard and symbolic links and a FIFO',
    async (count) => {
      for (let n = 0; n < count; n++) writeFileSync(at(`file-${n}`), 'x'.repeat(n));
      await fs.mkdir(at('d/e/f'));
      await writeFile(at('d/e/f/deep'), 'x'.repeat(100_000));
      await writeFile(at('sparse'), '');
      await truncate(at('sparse'), 1 << 30);
      await link(at('file-1'), at('d/same'));
      await fs.writeFile(at('d/\udcff\udcfe'), 'odd');
      await fs.mkdir(at('d/\udc80'));
      await fs.symlink('/', at('link'));
      await fs.symlink('..', at('d/loop'));
      execFileSync('mkfifo', [at('fifo')]);
      const { bytes, inodes, complete, fileSystem } = await fs.usage(root);
      expect({ bytes, inodes, complete }).toEqual({ ...du(root), complete: true });
      expect(fileSystem.totalBytes).toBeGreaterThan(fileSystem.availableBytes - 1);
      expect(await codeOf(fs.usage(at('none')))).toBe('ENOENT');
      expect(await codeOf(fs.usage(at('sparse')))).toBe('ENOTDIR');
    },
  );

  it('usage is marked incomplete if there are too many names or too little time', async () => {
    for (let n = 0; n < 600; n++) writeFileSync(at(`${n}`), '');
    expect(await fs.usage(root, { maxEntries: 550 })).toMatchObject({ inodes: 551, complete: false });
    expect(await fs.usage(root, { maxEntries: 100 })).toMatchObject({ complete: false });
    expect(await fs.usage(root, { deadlineMs: 0 })).toMatchObject({ complete: false });
  });

  // Each case is measured in this process and in a helper process. The trees are single deep chains, or have more deep
  // directories than are open at a time.
  it.each([
    [300, 1],
    [70, 100],
    [1500, 1],
    [450, 200],
  ])('W5: usage counts files %i directories deep, in %i places', async (depth, places) => {
    await fs.mkdir(at('d/'.repeat(depth)));
    for (let n = 0; n < places; n++) {
      await fs.mkdir(at(`${'d/'.repeat(depth)}${n}/e/f`));
      writeFileSync(at(`${'d/'.repeat(depth)}${n}/e/f/deep`), 'x'.repeat(20_000));
    }
    const { bytes, inodes, complete } = await fs.usage(root);
    expect({ bytes, inodes, complete }).toEqual({ ...du(root), complete: true });
    expect(bytes).toBeGreaterThan(20_000 * places);
    await fs.removeAll(at('d'));
  });

  it('W5: usage counts nothing outside if directories are swapped for links while it walks', async () => {
    await fs.mkdir(at('volume/dir/a'));
    await fs.mkdir(at('outside'));
    for (let n = 0; n < 40; n++) writeFileSync(at(`outside/${n}`), 'x'.repeat(5_000));
    await fs.symlink('../outside', at('volume/link'));
    const script =
      'cd "$1"; while [ ! -e ../stop ] && mv dir real && mv link dir && mv dir link; do mv real dir; done; exit 0';
    const swapper = spawn('sh', ['-c', script, 'sh', at('volume')], { stdio: 'ignore' });
    const ended = new Promise((resolve) => swapper.on('close', resolve));
    let most = 0;
    for (let n = 0; n < 300; n++) most = Math.max(most, (await fs.usage(at('volume'))).inodes);
    await writeFile(at('stop'), '');
    await ended;
    // At most these entries are counted: the volume, its link, its directory and a subdirectory, each twice if it was
    // renamed meanwhile.
    expect(most).toBeLessThan(12);
  });

  it.runIf(process.getuid?.() === 0).each([0, 600])(
    'W6: usage enters no mount and does not count mounted files, in a directory with %i other files',
    async (files) => {
      await fs.mkdir(at('volume/mounted'));
      await writeFile(at('volume/own'), 'x');
      await writeFile(at('volume/bound'), '');
      for (let n = 0; n < files; n++) writeFileSync(at(`volume/${n}`), '');
      const script = `mount -t tmpfs none "$1/mounted" && for i in 1 2 3; do echo x > "$1/mounted/$i"; done && mount --bind "$1/mounted/1" "$1/bound" && exec "$2" "$3" "$1"`;
      const program = at('usage.mjs');
      const source = new URL('../src/index.ts', import.meta.url).href;
      await writeFile(
        program,
        `const { nodeFileSystem } = await import(${JSON.stringify(source)}); process.stdout.write(String((await nodeFileSystem.usage(process.argv[2])).inodes));`,
      );
      const node = `${process.execPath}`;
      const args = ['--mount', 'sh', '-c', script, 'sh', at('volume'), node, program];
      const env = {
        ...process.env,
        NODE_OPTIONS: '--conditions=@node-agent/source --disable-warning=ExperimentalWarning',
      };
      expect(execFileSync('unshare', args, { env }).toString().trim()).toBe(`${2 + files}`);
    },
  );

  it.runIf(process.getuid?.() === 0)('usage of a tmpfs comes from statfs and equals the output of du(1)', async () => {
    await fs.mkdir(at('memory'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'none', at('memory')]);
    try {
      await fs.mkdir(at('memory/d'));
      for (let n = 0; n < 20; n++) writeFileSync(at(`memory/d/${n}`), 'x'.repeat(n * 1000));
      await fs.symlink('d', at('memory/link'));
      const counted = await fs.usage(at('memory'), { keepsCount: true, maxEntries: 1 });
      expect(counted).toMatchObject({ ...du(at('memory')), complete: true, fileSystem: { totalBytes: 16 << 20 } });
      // A tmpfs without a size limit does not count its usage, so its tree is walked.
      execFileSync('mount', ['-o', 'remount,size=0,nr_inodes=0', at('memory')]);
      expect(await fs.usage(at('memory'), { keepsCount: true })).toMatchObject({ ...du(at('memory')), complete: true });
      expect(await fs.usage(at('memory'), { keepsCount: true, maxEntries: 1 })).toMatchObject({ complete: false });
    } finally {
      execFileSync('umount', [at('memory')]);
    }
  });
});

describe.runIf(onLinux)('TreeMeasurer', () => {
  const helperOf = (call: Helper['call']): Helper & { killed: boolean } => ({
    call,
    killed: false,
    kill() {
      this.killed = true;
    },
    ended: new Promise(() => {}),
  });

  it('W6: a usage walk that hangs is aborted at its deadline and its process killed; the next walk works', async () => {
    for (let n = 0; n < 600; n++) writeFileSync(at(`${n}`), '');
    const clock = new FakeClock();
    const asked = Promise.withResolvers<void>();
    const helper = helperOf(() => {
      asked.resolve();
      return new Promise(() => {});
    });
    const outcome = codeOf(
      new TreeMeasurer({ clock, startHelper: () => helper }).measure(root, { deadlineMs: 10_000 }),
    );
    await asked.promise;
    await clock.advance(14_999);
    expect(helper.killed).toBe(false);
    await clock.advance(1);
    expect([await outcome, helper.killed]).toEqual(['ETIMEDOUT', true]);
  });

  it('W6: many hard links of one file are walked in a helper process although they are one file', async () => {
    writeFileSync(at('file'), '');
    for (let n = 0; n < 600; n++) await link(at('file'), at(`${n}`));
    const elsewhere = { bytes: 0, inodes: 2, complete: true };
    const asked: unknown[] = [];
    const helper = helperOf(async (...call) => {
      asked.push(call[0]);
      return elsewhere as never;
    });
    const measurer = new TreeMeasurer({ clock: new FakeClock(), startHelper: () => helper });
    expect(await measurer.measure(root)).toMatchObject(elsewhere);
    expect(asked).toEqual(['treeUsage']);
    expect(await fs.usage(root, { maxEntries: 300 })).toMatchObject({ complete: false });
    expect(await fs.usage(root)).toMatchObject({ inodes: 2, complete: true });
  });

  it('a usage walk fails with an error if its helper process has ended', async () => {
    for (let n = 0; n < 600; n++) writeFileSync(at(`${n}`), '');
    const helper = helperOf(() => Promise.reject(systemError('ESRCH', 'call', 'helper')));
    const measurer = new TreeMeasurer({ clock: new FakeClock(), startHelper: () => helper });
    expect(await codeOf(measurer.measure(root))).toBe('EAGAIN');
  });
});

it('MemoryFileSystem measures usage in blocks, without mounted file systems', async () => {
  const memory = new MemoryFileSystem({}, { limitBytes: 100_000 });
  await memory.mkdir('/v/d/m');
  await memory.writeFile('/v/f', 'x'.repeat(5_000));
  await memory.writeFile('/v/d/g', 'x');
  memory.mount('/v/d/m');
  await memory.writeFile('/v/d/m/h', 'x');
  expect(await memory.usage('/v')).toMatchObject({ bytes: 12_288, inodes: 4, complete: true });
  expect(await memory.usage('/v', { maxEntries: 2 })).toMatchObject({ complete: false });
  expect((await memory.usage('/v')).fileSystem).toMatchObject({ totalBytes: 100_000, availableBytes: 94_998 });
});
