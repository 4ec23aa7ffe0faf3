import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorCode, type FileSystem } from '../src/index.ts';

/** A file system under test, with a directory of the test's own. */
export interface Fixture extends AsyncDisposable {
  readonly fs: FileSystem;
  readonly root: string;
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** The code that a promise is rejected with; `'none'` where it is fulfilled. */
export async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise;
    return 'none';
  } catch (error) {
    return errorCode(error);
  }
}

/** What every FileSystem must do. */
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

    it('reads what was written, and replaces it', async () => {
      await fs.writeFile(at('a'), 'one, and more');
      await fs.writeFile(at('a'), new Uint8Array([0, 255, 1]));
      expect([...(await fs.readFile(at('a')))]).toEqual([0, 255, 1]);
      expect((await fs.stat(at('a'))).sizeBytes).toBe(3);
    });

    it('sets the mode that is given exactly, and keeps that of a file that is there', async () => {
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
    });

    it('replaces a file atomically and leaves no temporary name', async () => {
      await fs.writeFile(at('a'), 'old');
      const before = await fs.stat(at('a'));
      await fs.writeFileAtomic(at('a'), 'new');
      expect(text(await fs.readFile(at('a')))).toBe('new');
      expect((await fs.stat(at('a'))).inode).not.toBe(before.inode);
      expect((await fs.readdir(fixture.root)).map((entry) => entry.name)).toEqual(['a']);
    });

    it('leaves no temporary name where an atomic write fails', async () => {
      await fs.mkdir(at('d/full'));
      expect(await codeOf(fs.writeFileAtomic(at('d'), 'x'))).toBe('EISDIR');
      expect((await fs.readdir(fixture.root)).map((entry) => entry.name)).toEqual(['d']);
      expect(await codeOf(fs.writeFileAtomic(at('nowhere/a'), 'x'))).toBe('ENOENT');
    });

    it('finishes many atomic writes of one file at once with one of their contents', async () => {
      const contents = Array.from({ length: 10 }, (_, index) => `content ${index}`);
      await Promise.all(contents.map((content) => fs.writeFileAtomic(at('a'), content)));
      expect(contents).toContain(text(await fs.readFile(at('a'))));
      expect(await fs.readdir(fixture.root)).toHaveLength(1);
    });

    it('replaces a symlink, not its target, on an atomic write', async () => {
      await fs.writeFile(at('target'), 'kept');
      await fs.symlink('target', at('link'));
      await fs.writeFileAtomic(at('link'), 'new');
      expect((await fs.lstat(at('link'))).kind).toBe('file');
      expect(text(await fs.readFile(at('target')))).toBe('kept');
    });

    it('makes parents, and nothing where all is there', async () => {
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

    it('lists entries with their kind, sorted by name', async () => {
      await fs.writeFile(at('b'), '');
      await fs.mkdir(at('a'));
      await fs.symlink('gone', at('c'));
      expect(await fs.readdir(fixture.root)).toEqual([
        { name: 'a', kind: 'directory' },
        { name: 'b', kind: 'file' },
        { name: 'c', kind: 'symlink' },
      ]);
    });

    it('follows links in stat, readFile and realpath, not in lstat and readlink', async () => {
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

    it('writes through a link to a file that is not there yet', async () => {
      await fs.symlink('later', at('link'));
      await fs.writeFile(at('link'), 'x');
      expect(text(await fs.readFile(at('later')))).toBe('x');
    });

    it.each<[string, string, (fs: FileSystem, at: (path: string) => string) => Promise<unknown>]>([
      ['ENOENT', 'reading what is not there', (f, p) => f.readFile(p('x'))],
      ['ENOENT', 'writing into a directory that is not there', (f, p) => f.writeFile(p('x/y'), '')],
      ['ENOENT', 'opening for reading what is not there', (f, p) => f.open(p('x'), 'r')],
      ['ENOENT', 'stat', (f, p) => f.stat(p('x'))],
      ['ENOENT', 'stat of a link to nothing', (f, p) => f.stat(p('dangling'))],
      ['ENOENT', 'readdir', (f, p) => f.readdir(p('x'))],
      ['ENOENT', 'remove', (f, p) => f.remove(p('x'))],
      ['ENOENT', 'rename', (f, p) => f.rename(p('x'), p('y'))],
      ['ENOENT', 'watch', (f, p) => f.watch(p('x'), () => {}, new AbortController().signal)],
      ['ENOTDIR', 'reading below a file', (f, p) => f.readFile(p('file/x'))],
      ['ENOTDIR', 'listing a file', (f, p) => f.readdir(p('file'))],
      ['ENOTDIR', 'naming a file with a slash behind', (f, p) => f.stat(p('file/'))],
      ['EISDIR', 'reading a directory', (f, p) => f.readFile(p('full'))],
      ['EISDIR', 'writing a directory', (f, p) => f.writeFile(p('full'), '')],
      ['EISDIR', 'appending to a directory', (f, p) => f.open(p('full'), 'a')],
      ['ENOTEMPTY', 'removing a directory with something in it', (f, p) => f.remove(p('full'))],
      ['EEXIST', 'linking where something is', (f, p) => f.symlink('x', p('file'))],
      ['ENOENT', 'making a directory where a link to nothing is', (f, p) => f.mkdir(p('dangling'))],
      ['EINVAL', 'readlink of a file', (f, p) => f.readlink(p('file'))],
      ['ELOOP', 'a link to itself', (f, p) => f.stat(p('loop'))],
      ['ENAMETOOLONG', 'a name of 256 bytes', (f, p) => f.stat(p('x'.repeat(256)))],
      ['ENOTEMPTY', 'renaming onto a directory with something in it', (f, p) => f.rename(p('empty'), p('full'))],
      ['ENOTDIR', 'renaming a directory onto a file', (f, p) => f.rename(p('empty'), p('file'))],
      ['EISDIR', 'renaming a file onto a directory', (f, p) => f.rename(p('file'), p('empty'))],
      ['EINVAL', 'renaming a directory into itself', (f, p) => f.rename(p('full'), p('full/below'))],
      ['EINVAL', 'removing everything', (f) => f.removeAll('/')],
    ])('says %s: %s', async (code, _, operation) => {
      await fs.writeFile(at('file'), '');
      await fs.mkdir(at('full/sub'));
      await fs.mkdir(at('empty'));
      await fs.symlink('loop', at('loop'));
      await fs.symlink('nothing', at('dangling'));
      expect(await codeOf(operation(fs, at))).toBe(code);
    });

    it('gives errors the path and the code', async () => {
      await expect(fs.readFile(at('x'))).rejects.toMatchObject({ code: 'ENOENT', path: at('x'), name: 'Error' });
    });

    it('tells existence through links, and of what is below a file', async () => {
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

    it('renames over a file and over an empty directory', async () => {
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

    it('appends, reads by position, and goes on after the name was given away', async () => {
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

    it('may open a directory but not read it', async () => {
      const directory = await fs.open(fixture.root, 'r');
      expect((await directory.stat()).kind).toBe('directory');
      expect(await codeOf(directory.read(0, 1))).toBe('EISDIR');
      await directory.close();
    });

    it('removes files, links and empty directories, never what a link leads to', async () => {
      await fs.mkdir(at('d'));
      await fs.symlink('d', at('link'));
      await fs.remove(at('link'));
      expect(await fs.exists(at('d'))).toBe(true);
      await fs.remove(at('d'));
      expect(await fs.readdir(fixture.root)).toEqual([]);
    });

    it('removes trees, leaving what links in them lead to', async () => {
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

    it('hints at the start and at each kind of change, until aborted', async () => {
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

    it('ends a watch with ENOENT when its directory goes away', async () => {
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

    it('does not begin to watch where the signal is aborted already', async () => {
      let hints = 0;
      await fs.watch(fixture.root, () => hints++, AbortSignal.abort());
      expect(hints).toBe(0);
    });
  });
}
