import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorCode, type FileSystem, readFileBeneath, readFileBounded, removeUnfinishedFiles } from '../src/index.ts';

/** A file system under test, and a directory that belongs to the test. */
export interface Fixture extends AsyncDisposable {
  readonly fs: FileSystem;
  readonly root: string;
  /** Creates a FIFO that no process writes to. */
  makeFifo(path: string): Promise<void>;
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** Returns the code with which a promise is rejected, and `'none'` if it is fulfilled. */
export async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise;
    return 'none';
  } catch (error) {
    return errorCode(error);
  }
}

/** Defines the tests that every FileSystem must pass. */
export function describeFileSystem(name: string, make: () => Promise<Fixture>): void {
  describe(`FileSystem: ${name}`, () => {
    let fixture: Fixture;
    let fs: FileSystem;
    const at = (path: string): string => `${fixture.root}/${path}`;
    beforeEach(async () => {
      fixture = await make();
      fs = fixture.fs;
    });
    afterEach(() => fixture[Symbol.asyncDispose]());

    it('readFile returns what writeFile wrote, and a second writeFile replaces the content', async () => {
      await fs.writeFile(at('a'), 'one, and more');
      await fs.writeFile(at('a'), new Uint8Array([0, 255, 1]));
      expect([...(await fs.readFile(at('a')))]).toEqual([0, 255, 1]);
      expect((await fs.stat(at('a'))).sizeBytes).toBe(3);
      const { allocatedBytes } = await fs.stat(at('a'));
      expect(allocatedBytes % 512).toBe(0);
    });

    it('writeFile sets exactly the given mode, and keeps the mode of an existing file', async () => {
      await fs.writeFile(at('a'), '', { mode: 0o666 });
      await fs.mkdir(at('d'), { mode: 0o777 });
      await fs.writeFileAtomic(at('b'), '', { mode: 0o640 });
      expect((await fs.stat(at('a'))).mode).toBe(0o666);
      expect((await fs.stat(at('d'))).mode).toBe(0o777);
      expect((await fs.stat(at('b'))).mode).toBe(0o640);
      await fs.writeFile(at('a'), 'x');
      await fs.mkdir(at('d'), { mode: 0o700 });
      expect((await fs.stat(at('a'))).mode).toBe(0o666);
      expect((await fs.stat(at('d'))).mode).toBe(0o777);
      await fs.chmod(at('a'), 0o4711);
      expect((await fs.stat(at('a'))).mode).toBe(0o4711);
      await fs.writeFile(at('a'), 'rewritten', { mode: 0o600 });
      expect((await fs.stat(at('a'))).mode).toBe(0o600);
    });

    it('writeFileAtomic replaces a file and leaves no temporary name', async () => {
      await fs.writeFile(at('a'), 'old');
      const before = await fs.stat(at('a'));
      await fs.writeFileAtomic(at('a'), 'new');
      expect(text(await fs.readFile(at('a')))).toBe('new');
      expect((await fs.stat(at('a'))).inode).not.toBe(before.inode);
      expect((await fs.readdir(fixture.root)).map((entry) => entry.name)).toEqual(['a']);
    });

    it('writeFileAtomic calls onReplaced once, when readers see the new content', async () => {
      const seen: Promise<Uint8Array>[] = [];
      const onReplaced = (): void => void seen.push(fs.readFile(at('a')));
      await fs.writeFileAtomic(at('a'), 'new', { onReplaced });
      expect(seen.length).toBe(1);
      for (const content of seen) expect(text(await content)).toBe('new');
      await fs.mkdir(at('d/full'));
      expect(await codeOf(fs.writeFileAtomic(at('d'), 'x', { onReplaced }))).toBe('EISDIR');
      expect(seen.length).toBe(1);
    });

    it('a failed writeFileAtomic leaves no temporary name', async () => {
      await fs.mkdir(at('d/full'));
      expect(await codeOf(fs.writeFileAtomic(at('d'), 'x'))).toBe('EISDIR');
      expect((await fs.readdir(fixture.root)).map((entry) => entry.name)).toEqual(['d']);
      expect(await codeOf(fs.writeFileAtomic(at('nowhere/a'), 'x'))).toBe('ENOENT');
    });

    it('removeUnfinishedFiles removes temporary files of an earlier process, and keeps those that this process is writing', async () => {
      await fs.writeFile(at('.tmp-1-1'), 'left');
      await fs.writeFile(at('kept'), 'x');
      await fs.mkdir(at('.tmp-directory'));
      const writes = Array.from({ length: 10 }, (_, index) => fs.writeFileAtomic(at(`w${index}`), 'x'));
      await Promise.all([removeUnfinishedFiles(fs, fixture.root), ...writes]);
      await removeUnfinishedFiles(fs, at('nowhere'));
      const names = (await fs.readdir(fixture.root)).map((entry) => entry.name).sort();
      expect(names).toEqual(['.tmp-directory', 'kept', ...Array.from({ length: 10 }, (_, index) => `w${index}`)]);
    });

    it('after concurrent atomic writes of one file, the file has one of the contents completely', async () => {
      const contents = Array.from({ length: 10 }, (_, index) => `content ${index}`);
      await Promise.all(contents.map((content) => fs.writeFileAtomic(at('a'), content)));
      expect(contents).toContain(text(await fs.readFile(at('a'))));
      expect(await fs.readdir(fixture.root)).toHaveLength(1);
    });

    it('writeFileAtomic replaces a symbolic link and not its target', async () => {
      await fs.writeFile(at('target'), 'kept');
      await fs.symlink('target', at('link'));
      await fs.writeFileAtomic(at('link'), 'new');
      expect((await fs.lstat(at('link'))).kind).toBe('file');
      expect(text(await fs.readFile(at('target')))).toBe('kept');
    });

    it('mkdir creates missing parents, and succeeds if the directory exists', async () => {
      await fs.mkdir(at('a/b/c'), { mode: 0o711 });
      await fs.mkdir(at('a/b/c'));
      expect((await fs.stat(at('a/b/c'))).mode).toBe(0o711);
      expect((await fs.stat(at('a/b'))).mode).toBe(0o711);
      await fs.mkdir(at('open/wide'), { mode: 0o777 });
      expect((await fs.stat(at('open/wide'))).mode).toBe(0o777);
      expect((await fs.stat(at('open'))).mode).toBe(0o777 & ~process.umask());
      await fs.writeFile(at('file'), '');
      expect(await codeOf(fs.mkdir(at('file')))).toBe('EEXIST');
      expect(await codeOf(fs.mkdir(at('file/below')))).toBe('ENOTDIR');
    });

    it('readdir lists entries with their kind, sorted by name', async () => {
      await fs.writeFile(at('b'), '');
      await fs.mkdir(at('a'));
      await fs.symlink('gone', at('c'));
      expect(await fs.readdir(fixture.root)).toEqual([
        { name: 'a', kind: 'directory' },
        { name: 'b', kind: 'file' },
        { name: 'c', kind: 'symlink' },
      ]);
    });

    it('stat, readFile and realpath follow symbolic links; lstat and readlink do not follow them', async () => {
      await fs.mkdir(at('d'));
      await fs.writeFile(at('d/f'), 'hello');
      await fs.symlink('d', at('relative'));
      await fs.symlink(at('relative/f'), at('absolute'));
      expect((await fs.stat(at('absolute'))).kind).toBe('file');
      expect((await fs.lstat(at('absolute'))).kind).toBe('symlink');
      expect(text(await fs.readFile(at('relative/../absolute')))).toBe('hello');
      expect(await fs.readlink(at('relative'))).toBe('d');
      expect(await fs.realpath(at('absolute'))).toBe(await fs.realpath(at('d/f')));
    });

    it('writeFile creates the missing target of a symbolic link', async () => {
      await fs.symlink('later', at('link'));
      await fs.writeFile(at('link'), 'x');
      expect(text(await fs.readFile(at('later')))).toBe('x');
    });

    it.each<[string, string, (fs: FileSystem, at: (path: string) => string) => Promise<unknown>]>([
      ['ENOENT', 'reading a missing file', (f, p) => f.readFile(p('x'))],
      ['ENOENT', 'writing a file in a missing directory', (f, p) => f.writeFile(p('x/y'), '')],
      ['ENOENT', 'opening a missing file for reading', (f, p) => f.open(p('x'), 'r')],
      ['ENOENT', 'stat of a missing file', (f, p) => f.stat(p('x'))],
      ['ENOENT', 'stat of a dangling link', (f, p) => f.stat(p('dangling'))],
      ['ENOENT', 'listing a missing directory', (f, p) => f.readdir(p('x'))],
      ['ENOENT', 'removing a missing file', (f, p) => f.remove(p('x'))],
      ['ENOENT', 'renaming a missing file', (f, p) => f.rename(p('x'), p('y'))],
      ['ENOENT', 'watching a missing file', (f, p) => f.watch(p('x'), () => {}, new AbortController().signal)],
      ['ENOTDIR', 'reading below a file', (f, p) => f.readFile(p('file/x'))],
      ['ENOTDIR', 'listing a file', (f, p) => f.readdir(p('file'))],
      ['ENOTDIR', 'stat of a file with a trailing slash', (f, p) => f.stat(p('file/'))],
      ['EISDIR', 'reading a directory', (f, p) => f.readFile(p('full'))],
      ['EISDIR', 'writing a directory', (f, p) => f.writeFile(p('full'), '')],
      ['EISDIR', 'appending to a directory', (f, p) => f.open(p('full'), 'a')],
      ['ENOTEMPTY', 'removing a directory that is not empty', (f, p) => f.remove(p('full'))],
      ['EEXIST', 'creating a symlink with the name of a file', (f, p) => f.symlink('x', p('file'))],
      ['ENOENT', 'creating a directory with the name of a dangling link', (f, p) => f.mkdir(p('dangling'))],
      ['EINVAL', 'readlink of a file', (f, p) => f.readlink(p('file'))],
      ['ELOOP', 'stat of a link to itself', (f, p) => f.stat(p('loop'))],
      ['ENAMETOOLONG', 'stat of a name of 256 bytes', (f, p) => f.stat(p('x'.repeat(256)))],
      ['ENOTEMPTY', 'renaming onto a directory that is not empty', (f, p) => f.rename(p('empty'), p('full'))],
      ['ENOTDIR', 'renaming a directory onto a file', (f, p) => f.rename(p('empty'), p('file'))],
      ['EISDIR', 'renaming a file onto a directory', (f, p) => f.rename(p('file'), p('empty'))],
      ['EINVAL', 'renaming a directory into itself', (f, p) => f.rename(p('full'), p('full/below'))],
      ['EINVAL', 'removing the root directory', (f) => f.removeAll('/')],
    ])('the error code is %s for %s', async (code, _, operation) => {
      await fs.writeFile(at('file'), '');
      await fs.mkdir(at('full/sub'));
      await fs.mkdir(at('empty'));
      await fs.symlink('loop', at('loop'));
      await fs.symlink('nothing', at('dangling'));
      expect(await codeOf(operation(fs, at))).toBe(code);
    });

    it('errors of the file system have the path and the code', async () => {
      await expect(fs.readFile(at('x'))).rejects.toMatchObject({ code: 'ENOENT', path: at('x'), name: 'Error' });
    });

    it('exists follows symbolic links, and returns false for a path below a file', async () => {
      await fs.writeFile(at('file'), '');
      await fs.symlink('file', at('link'));
      await fs.symlink('gone', at('dangling'));
      expect(await Promise.all(['file', 'link', 'dangling', 'file/x', 'x/y'].map((p) => fs.exists(at(p))))).toEqual([
        true,
        true,
        false,
        false,
        false,
      ]);
    });

    it('rename replaces a file and an empty directory', async () => {
      await fs.writeFile(at('a'), 'a');
      await fs.writeFile(at('b'), 'b');
      await fs.rename(at('a'), at('b'));
      expect(text(await fs.readFile(at('b')))).toBe('a');
      await fs.mkdir(at('d/sub'));
      await fs.mkdir(at('e'));
      await fs.rename(at('d'), at('e'));
      expect((await fs.readdir(at('e'))).map((entry) => entry.name)).toEqual(['sub']);
      expect(await fs.exists(at('d'))).toBe(false);
    });

    it('an open file can be appended to and read by position after another file has taken its name', async () => {
      const writer = await fs.open(at('log'), 'a');
      await writer.append(new TextEncoder().encode('0123'));
      const reader = await fs.open(at('log'), 'r');
      await fs.rename(at('log'), at('log.1'));
      await writer.append(new TextEncoder().encode('456789'));
      await fs.remove(at('log.1'));
      expect(text(await reader.read(2, 4))).toBe('2345');
      expect(text(await reader.read(8, 100))).toBe('89');
      expect((await reader.read(10, 5)).length).toBe(0);
      expect((await reader.stat()).sizeBytes).toBe(10);
      await writer.sync();
      await writer.close();
      await reader.close();
      expect(await codeOf(reader.read(0, 1))).toBe('EBADF');
    });

    it('open accepts a directory, which can be synced, and reading it fails', async () => {
      const directory = await fs.open(fixture.root, 'r');
      await directory.sync();
      expect((await directory.stat()).kind).toBe('directory');
      expect(await codeOf(directory.read(0, 1))).toBe('EISDIR');
      await directory.close();
    });

    it('remove deletes files, links and empty directories, never the target of a link', async () => {
      await fs.mkdir(at('d'));
      await fs.symlink('d', at('link'));
      await fs.remove(at('link'));
      expect(await fs.exists(at('d'))).toBe(true);
      await fs.remove(at('d'));
      expect(await fs.readdir(fixture.root)).toEqual([]);
    });

    it('removeAll deletes trees, and keeps the targets of links in them', async () => {
      await fs.mkdir(at('outside'));
      await fs.writeFile(at('outside/kept'), 'x');
      await fs.mkdir(at('tree/a/b'));
      await fs.writeFile(at('tree/a/f'), 'x', { mode: 0o400 });
      await fs.symlink('../outside', at('tree/link'));
      await fs.removeAll(at('tree'));
      await fs.removeAll(at('tree'));
      await fs.removeAll(at('outside/kept/below'));
      await fs.symlink('outside', at('link'));
      await fs.removeAll(at('link'));
      expect((await fs.readdir(fixture.root)).map((entry) => entry.name)).toEqual(['outside']);
      expect(await fs.exists(at('outside/kept'))).toBe(true);
    });

    // File names that are not valid UTF-8. Lone surrogates stand for the invalid bytes.
    const ODD_NAMES = [
      'caf\udce9',
      '\udcff\udcfe',
      'whole \u00e9\u20ac\u{1f600} and \udc80',
      'line\nfeed',
      ' ',
      '-rf',
      '\\',
      "'",
    ];

    it('W5: file names may be any bytes, and can be passed back to all operations', async () => {
      for (const name of ODD_NAMES) await fs.writeFile(at(name), name);
      const entries = await fs.readdir(fixture.root);
      expect(new Set(entries.map(({ name }) => name))).toEqual(new Set(ODD_NAMES));
      for (const { name } of entries) {
        expect((await fs.lstat(at(name))).kind).toBe('file');
        await fs.rename(at(name), at(`${name}.renamed`));
        await fs.chmod(at(`${name}.renamed`), 0o600);
        await fs.remove(at(`${name}.renamed`));
      }
      await fs.symlink('caf\udce9', at('link'));
      expect(await fs.readlink(at('link'))).toBe('caf\udce9');
      await fs.mkdir(at('caf\udce9'));
      expect(await fs.realpath(at('link'))).toBe(await fs.realpath(at('caf\udce9')));
      expect(await codeOf(fs.stat(at('\udcff'.repeat(256))))).toBe('ENAMETOOLONG');
      expect((await fs.stat(at('caf\udce9'))).kind).toBe('directory');
    });

    it('W5: removeAll deletes trees with names that are not valid UTF-8', async () => {
      for (const name of ODD_NAMES) {
        await fs.mkdir(at(`tree/${name}/${name}`));
        await fs.writeFile(at(`tree/${name}/file ${name}`), '');
        await fs.symlink(name, at(`tree/link ${name}`));
      }
      await fixture.makeFifo(at('tree/fifo'));
      await fs.removeAll(at('tree'));
      await fs.mkdir(at('\udcff'));
      await fs.removeAll(at('\udcff'));
      expect(await fs.readdir(fixture.root)).toEqual([]);
    });

    it('W5: removeAll deletes a tree of thousands of names, some of them in directories', async () => {
      await fs.mkdir(at('tree/full/sub'));
      await Promise.all(Array.from({ length: 2500 }, (_, n) => fs.writeFile(at(`tree/full/\udcff ${n}`), '')));
      await fs.writeFile(at('tree/full/sub/one'), '');
      await fs.removeAll(at('tree'));
      expect(await fs.readdir(fixture.root)).toEqual([]);
    });

    it('open refuses FIFOs and devices without blocking', async () => {
      await fixture.makeFifo(at('fifo'));
      await fs.symlink('fifo', at('to-fifo'));
      for (const path of ['fifo', 'to-fifo']) expect(await codeOf(fs.open(at(path), 'r'))).toBe('ENXIO');
      expect(await codeOf(readFileBounded(fs, at('fifo'), 10))).toBe('ENXIO');
      expect(await codeOf(readFileBounded(fs, fixture.root, 10))).toBe('EISDIR');
    });

    it('readFile with a limit returns at most that number of bytes', async () => {
      await fs.writeFile(at('a'), '0123456789');
      expect(text(await readFileBounded(fs, at('a'), 10))).toBe('0123456789');
      expect(await codeOf(readFileBounded(fs, at('a'), 9))).toBe('EFBIG');
      await fs.writeFile(at('empty'), '');
      expect(text(await readFileBounded(fs, at('empty'), 0))).toBe('');
    });

    describe('openBeneath', () => {
      const read = async (path: string, links?: 'refuse' | 'within'): Promise<string | undefined> => {
        const options = links === undefined ? {} : { links };
        return readFileBeneath(fs, at('volume'), path, 100, options).then(text, errorCode);
      };
      beforeEach(async () => {
        await fs.mkdir(at('volume/sub'));
        await fs.writeFile(at('outside'), 'secret');
        await fs.writeFile(at('volume/file'), 'top');
        await fs.writeFile(at('volume/sub/file'), 'below');
        await fs.writeFile(at('volume/sub/\udcff'), 'odd');
        await fs.writeFile(at('volume/long'), 'x'.repeat(101));
        await fixture.makeFifo(at('volume/fifo'));
        await fs.symlink('file', at('volume/link'));
        await fs.symlink('sub', at('volume/link-to-sub'));
        await fs.symlink('../outside', at('volume/out'));
        await fs.symlink(at('outside'), at('volume/absolute-out'));
        await fs.symlink('/sub/file', at('volume/absolute'));
        await fs.symlink('fifo', at('volume/to-fifo'));
        await fs.symlink('loop', at('volume/loop'));
      });

      it.each<[path: string, refused: string, within: string]>([
        ['file', 'top', 'top'],
        ['sub/file', 'below', 'below'],
        ['./sub//file', 'below', 'below'],
        ['/sub/file', 'below', 'below'],
        ['sub/\udcff', 'odd', 'odd'],
        ['sub/../file', 'EXDEV', 'top'],
        ['../volume/file', 'EXDEV', 'ENOENT'],
        ['../outside', 'EXDEV', 'ENOENT'],
        ['link', 'ELOOP', 'top'],
        ['link-to-sub/file', 'ELOOP', 'below'],
        ['absolute', 'ELOOP', 'below'],
        ['out', 'ELOOP', 'ENOENT'],
        ['absolute-out', 'ELOOP', 'ENOENT'],
        ['loop', 'ELOOP', 'ELOOP'],
        ['fifo', 'ENXIO', 'ENXIO'],
        ['to-fifo', 'ELOOP', 'ENXIO'],
        ['file/x', 'ENOTDIR', 'ENOTDIR'],
        ['none', 'ENOENT', 'ENOENT'],
        ['sub', 'EISDIR', 'EISDIR'],
        ['', 'EISDIR', 'EISDIR'],
        ['long', 'EFBIG', 'EFBIG'],
      ])(
        'W3, W5: openBeneath of %j results in %s, and in %s if links within the volume are allowed',
        async (path, refused, within) => {
          expect(await read(path)).toBe(refused);
          expect(await read(path, 'within')).toBe(within);
        },
      );

      it('errors of openBeneath contain the path', async () => {
        await expect(fs.openBeneath(at('volume'), 'none')).rejects.toMatchObject({ path: at('volume/none') });
        expect(await codeOf(fs.openBeneath(at('nowhere'), 'none'))).toBe('ENOENT');
      });

      it('K4: openBeneath refuses a path so deep that walking it would use all file descriptors', async () => {
        const [deep, deeper] = [256, 257].map((depth) => `${'d/'.repeat(depth)}file`);
        await fs.mkdir(at(`volume/${'d/'.repeat(257)}`));
        for (const path of [deep, deeper]) await fs.writeFile(at(`volume/${path}`), new Uint8Array());
        await (await fs.openBeneath(at('volume'), `${deep}`)).close();
        for (const links of ['refuse', 'within'] as const) {
          expect(await codeOf(fs.openBeneath(at('volume'), `${deeper}`, { links }))).toBe('ENAMETOOLONG');
        }
      });

      it('a file from openBeneath reads the opened file, whatever file has its name now', async () => {
        const file = await fs.openBeneath(at('volume'), 'file');
        await fs.rename(at('outside'), at('volume/file'));
        expect(text(await file.read(0, 10))).toBe('top');
        await file.close();
      });
    });

    it('mountId returns the same ID for paths in the same mount', async () => {
      await fs.mkdir(at('d'));
      await fs.symlink('nowhere', at('link'));
      const ids = await Promise.all(['', 'd', 'link'].map((path) => fs.mountId(at(path))));
      expect(new Set(ids).size).toBe(1);
      expect(await codeOf(fs.mountId(at('none')))).toBe('ENOENT');
    });

    it('watch reports its start and each kind of change, until it is aborted', async () => {
      const controller = new AbortController();
      const hints: (string | undefined)[] = [];
      let wake = (): void => {};
      const until = async (wanted: string | undefined): Promise<void> => {
        while (!hints.includes(wanted)) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        hints.length = 0;
      };
      const onChange = (name: string | undefined): void => {
        hints.push(name);
        wake();
      };
      const watching = fs.watch(fixture.root, onChange, controller.signal);
      await until(undefined);
      await fs.writeFile(at('written'), 'x');
      await until('written');
      await fs.writeFileAtomic(at('replaced'), 'x');
      await until('replaced');
      await fs.rename(at('replaced'), at('renamed'));
      await until('renamed');
      await fs.remove(at('written'));
      await until('written');
      controller.abort();
      await watching;
    });

    it('watch ends with ENOENT when its directory is removed', async () => {
      await fs.mkdir(at('d'));
      let began = (): void => {};
      const start = new Promise<void>((resolve) => {
        began = resolve;
      });
      const controller = new AbortController();
      const watching = fs.watch(at('d'), () => began(), controller.signal);
      const outcome = codeOf(watching);
      await start;
      await fs.remove(at('d'));
      expect(await outcome).toBe('ENOENT');
    });

    it('watch does not start if the signal is already aborted', async () => {
      let hints = 0;
      await fs.watch(fixture.root, () => hints++, AbortSignal.abort());
      expect(hints).toBe(0);
    });
  });
}
