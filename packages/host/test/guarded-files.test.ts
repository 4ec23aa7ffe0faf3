import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import { fileSystemSize } from '../src/file-system-size.ts';
import { GuardedFiles, type GuardedFilesOptions, type KernelServedFiles } from '../src/foreign/guarded-files.ts';
import { LONGEST_BACK_OFF_MS } from '../src/foreign/hang-rule.ts';
import { MountTable } from '../src/foreign/mount-table.ts';
import type { Helper } from '../src/helper/helper-process.ts';
import { type HelperCallName, type HelperCalls, HOLD_MS } from '../src/helper/protocol.ts';
import { type FileSystemSize, type HeldPlace, nodeForeignFiles, systemError } from '../src/index.ts';
import { MemoryFileSystem, memoryForeignFiles } from '../src/testing.ts';
import { codeOf } from './compliance.ts';

/** A helper process whose responses the test controls. The test also decides whether the helper can be killed. */
class FakeHelper implements Helper {
  readonly calls: {
    name: string;
    path: string;
    resolve: (value: unknown) => void;
    reject: (error: unknown) => void;
  }[] = [];
  killed = false;
  /** Whether the helper has closed its channel. The exit of the helper may be reported later. */
  disconnected = false;
  readonly #end = Promise.withResolvers<void>();
  readonly ended: Promise<void> = this.#end.promise;

  call<Name extends HelperCallName>(name: Name, args: HelperCalls[Name]['args']): Promise<HelperCalls[Name]['value']> {
    if (this.disconnected) return Promise.reject(systemError('ESRCH', 'call', 'helper'));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.calls.push({ name, path: args[0], resolve, reject });
    return promise as Promise<HelperCalls[Name]['value']>;
  }

  kill(): void {
    this.killed = true;
  }

  /** Ends the helper process; all pending calls of the helper fail. */
  end(): void {
    this.#end.resolve();
    for (const { reject } of this.calls) reject(systemError('ESRCH', 'call', 'helper'));
  }
}

interface Fixture {
  readonly clock: FakeClock;
  readonly files: GuardedFiles;
  readonly helpers: FakeHelper[];
}

const MOUNTS = new MountTable([
  { id: '1', parentId: '0', point: '/', type: 'ext4', isShared: false },
  { id: '2', parentId: '1', point: '/nfs', type: 'nfs4', isShared: false },
  { id: '3', parentId: '1', point: '/other', type: 'fuse.other', isShared: false },
  { id: '4', parentId: '1', point: '/disk', type: 'xfs', isShared: false },
]);

function setUp(options: GuardedFilesOptions = {}, here?: KernelServedFiles): Fixture {
  const clock = new FakeClock();
  const helpers: FakeHelper[] = [];
  const startHelper = (): Helper => {
    const helper = new FakeHelper();
    helpers.push(helper);
    return helper;
  };
  const components = { clock, startHelper, mounts: async () => MOUNTS, ...(here && { here }) };
  return { clock, helpers, files: new GuardedFiles(components, options) };
}

describe('GuardedFiles', () => {
  it('the first call starts a helper process, and later calls use the same helper process', async () => {
    const { clock, files, helpers } = setUp();
    expect(helpers).toHaveLength(0);
    for (const path of ['/a', '/nfs/b']) {
      const answer = files.realpath(path);
      await clock.settle();
      helpers[0]?.calls.at(-1)?.resolve(`real ${path}`);
      expect(await answer).toBe(`real ${path}`);
    }
    expect(helpers).toHaveLength(1);
  });

  it('W6: a device that does not respond delays no other file of its directory', async () => {
    const { clock, files, helpers } = setUp({ deadlineMs: 10_000 });
    const hanging = codeOf(files.isDeviceInUse('/disk/sda'));
    await clock.advance(10_000);
    expect(await hanging).toBe('ETIMEDOUT');
    expect(await codeOf(files.isDeviceInUse('/disk/sda'))).toBe('ETIMEDOUT');
    const answer = files.isDeviceInUse('/disk/sdb');
    await clock.settle();
    helpers.at(-1)?.calls.at(-1)?.resolve(true);
    expect(await answer).toBe(true);
    const path = files.realpath('/disk/sdb');
    await clock.settle();
    helpers.at(-1)?.calls.at(-1)?.resolve('/disk/sdb');
    expect(await path).toBe('/disk/sdb');
  });

  it('W6: a hanging call ends at its deadline; its helper is killed, and other calls use a new helper', async () => {
    const { clock, files, helpers } = setUp({ deadlineMs: 10_000 });
    const hanging = codeOf(files.stat('/nfs/a'));
    await clock.settle();
    await clock.advance(9_000);
    const beside = files.realpath('/other/b');
    await clock.settle();
    await clock.advance(1_000);
    expect(await hanging).toBe('ETIMEDOUT');
    // The helper is not killed yet, because another call in it has not reached its timeout.
    expect(helpers[0]?.killed).toBe(false);
    const next = files.realpath('/other/c');
    await clock.settle();
    expect(helpers).toHaveLength(2);
    helpers[1]?.calls[0]?.resolve('c');
    expect(await next).toBe('c');
    helpers[0]?.calls[1]?.resolve('b');
    expect(await beside).toBe('b');
    await clock.settle();
    expect([helpers[0]?.killed, helpers[1]?.killed]).toEqual([true, false]);
    expect(files.abandoned).toBe(1);
    helpers[0]?.end();
    await clock.settle();
    expect(files.abandoned).toBe(0);
  });

  it('the hang of a file system is forgotten if the file system is not used again for a while', async () => {
    const { clock, files, helpers } = setUp({ deadlineMs: 1000, maxAbandoned: 1000 });
    const hang = async (path: string): Promise<void> => {
      const answer = codeOf(files.stat(path));
      await clock.settle();
      await clock.advance(1000);
      expect(await answer).toBe('ETIMEDOUT');
      for (const helper of helpers) helper.end();
    };
    for (let n = 0; n < 20; n++) await hang(`/run/p${n}`);
    expect(files.suspected).toBe(20);
    await clock.advance(2 * LONGEST_BACK_OFF_MS);
    await hang('/run/last');
    expect(files.suspected).toBe(1);
  });

  it('W6: after a hang, calls to the same file system are refused during the back-off; then one call probes it, and any answer ends the refusal', async () => {
    const { clock, files, helpers } = setUp();
    const hanging = codeOf(files.stat('/nfs/a'));
    await clock.settle();
    await clock.advance(10_000);
    expect(await hanging).toBe('ETIMEDOUT');
    await expect(files.stat('/nfs/b')).rejects.toThrow(
      "ETIMEDOUT: its file system did not answer; the next attempt is in 10 s at the earliest, stat '/nfs/b'",
    );
    expect(helpers).toHaveLength(1);
    helpers[0]?.end();
    await clock.advance(10_000);
    const probe = codeOf(files.stat('/nfs/c'));
    await clock.settle();
    expect(await codeOf(files.stat('/nfs/d'))).toBe('ETIMEDOUT');
    expect(helpers[1]?.calls.map(({ path }) => path)).toEqual(['/nfs/c']);
    // An error is a response, too: the path counts as responsive again.
    helpers[1]?.calls[0]?.reject(systemError('ENOENT', 'stat', '/nfs/c'));
    expect(await probe).toBe('ENOENT');
    const after = files.realpath('/nfs/e');
    await clock.settle();
    helpers[1]?.calls[1]?.resolve('e');
    expect(await after).toBe('e');
  });

  it('calls to one file system beyond its limit wait, and calls to other file systems proceed', async () => {
    const { clock, files, helpers } = setUp({ maxCallsPerPlace: 2 });
    const all = ['/nfs/1', '/nfs/2', '/nfs/3', '/other/4'].map((path) => files.realpath(path));
    await clock.settle();
    expect(helpers[0]?.calls.map(({ path }) => path)).toEqual(['/nfs/1', '/nfs/2', '/other/4']);
    for (const { resolve, path } of helpers[0]?.calls ?? []) resolve(path);
    await clock.settle();
    helpers[0]?.calls[3]?.resolve('/nfs/3');
    expect(await Promise.all(all)).toEqual(['/nfs/1', '/nfs/2', '/nfs/3', '/other/4']);
  });

  it('W6: calls that wait behind a hanging call fail together with it, and occupy no thread', async () => {
    const { clock, files, helpers } = setUp({ maxCallsPerPlace: 1 });
    const all = Promise.all(['/nfs/1', '/nfs/2', '/nfs/3'].map((path) => codeOf(files.stat(path))));
    await clock.settle();
    await clock.advance(10_000);
    expect(await all).toEqual(['ETIMEDOUT', 'ETIMEDOUT', 'ETIMEDOUT']);
    expect(helpers.flatMap(({ calls }) => calls)).toHaveLength(1);
  });

  it('W6: all calls are refused while too many helper processes cannot be killed', async () => {
    const { clock, files, helpers } = setUp({ maxAbandoned: 2 });
    for (const path of ['/nfs/a', '/other/b']) {
      const hanging = codeOf(files.stat(path));
      await clock.settle();
      await clock.advance(10_000);
      expect(await hanging).toBe('ETIMEDOUT');
    }
    expect(files.abandoned).toBe(2);
    expect(await codeOf(files.stat('/etc'))).toBe('EAGAIN');
    helpers[0]?.end();
    await clock.settle();
    const answer = files.realpath('/etc');
    await clock.settle();
    helpers[2]?.calls[0]?.resolve('/etc');
    expect(await answer).toBe('/etc');
  });

  it('W6: a file system whose helper cannot be killed occupies one process, however long it hangs', async () => {
    const { clock, files, helpers } = setUp({ maxAbandoned: 2 });
    const hanging = codeOf(files.stat('/nfs/a'));
    await clock.advance(10_000);
    expect(await hanging).toBe('ETIMEDOUT');
    for (let n = 0; n < 20; n++) {
      await clock.advance(LONGEST_BACK_OFF_MS);
      await expect(files.stat('/nfs/a')).rejects.toThrow(
        "ETIMEDOUT: its file system did not answer; the helper process of the earlier call still hangs, stat '/nfs/a'",
      );
    }
    expect([helpers.length, files.abandoned]).toEqual([1, 1]);
    helpers[0]?.end();
    await clock.settle();
    const answer = files.realpath('/nfs/a');
    await clock.settle();
    helpers[1]?.calls[0]?.resolve('a');
    expect(await answer).toBe('a');
  });

  it('K4: GuardedFiles keeps no state of file systems whose calls were refused', async () => {
    const { clock, files } = setUp({ maxAbandoned: 1 });
    const hanging = codeOf(files.stat('/nfs/a'));
    await clock.advance(10_000);
    expect(await hanging).toBe('ETIMEDOUT');
    for (let n = 0; n < 20; n++) expect(await codeOf(files.stat(`/run/p${n}`))).toBe('EAGAIN');
    expect(files.busyPlaces).toBe(0);
  });

  it('a call is repeated once if its helper process ended at the same time', async () => {
    const { clock, files, helpers } = setUp();
    const answer = files.realpath('/a');
    await clock.settle();
    helpers[0]?.end();
    await clock.settle();
    helpers[1]?.calls[0]?.resolve('a');
    expect(await answer).toBe('a');
    const lost = codeOf(files.realpath('/a'));
    for (const index of [1, 2]) {
      await clock.settle();
      helpers[index]?.end();
    }
    expect(await lost).toBe('ESRCH');
  });

  it('GuardedFiles uses another helper process if the current helper has closed its channel', async () => {
    const { clock, files, helpers } = setUp();
    const first = files.realpath('/a');
    await clock.settle();
    helpers[0]?.calls[0]?.resolve('a');
    await first;
    const [ending] = helpers;
    if (ending !== undefined) ending.disconnected = true;
    const answers = [files.realpath('/a'), files.realpath('/b')];
    await clock.settle();
    expect(helpers).toHaveLength(2);
    for (const { path, resolve } of helpers[1]?.calls ?? []) resolve(path);
    expect(await Promise.all(answers)).toEqual(['/a', '/b']);
    // A helper that hangs while it exits is killed.
    expect([ending?.killed, files.abandoned]).toEqual([true, 1]);
    ending?.end();
    await clock.settle();
    expect(files.abandoned).toBe(0);
  });

  it('an aborted call returns immediately, and counts against the limit of its file system until it ends', async () => {
    const { clock, files, helpers } = setUp({ maxCallsPerPlace: 1 });
    const stop = new AbortController();
    const answer = files.stat('/nfs/a', stop.signal);
    await clock.settle();
    stop.abort(new Error('no longer wanted'));
    await expect(answer).rejects.toThrow('no longer wanted');
    const next = files.realpath('/nfs/b');
    await clock.settle();
    expect(helpers[0]?.calls).toHaveLength(1);
    helpers[0]?.calls[0]?.resolve(null);
    await clock.settle();
    helpers[0]?.calls[1]?.resolve('b');
    expect(await next).toBe('b');
  });
});

describe('GuardedFiles: directories that a helper process holds open', () => {
  const held = (id: string) => ({ id, handle: `/proc/${id}`, stat: {} });

  async function hold({ clock, files, helpers }: Fixture, path: string): Promise<HeldPlace> {
    const answer = files.holdBeneath(path, 'x');
    await clock.settle();
    helpers.at(-1)?.calls.at(-1)?.resolve(held(path));
    return await answer;
  }

  const released = (helper: FakeHelper | undefined) =>
    helper?.calls.filter(({ name }) => name === 'release').map(({ path }) => path);

  it('W6: a helper that holds a directory open is killed for a hanging call only after the directory was released', async () => {
    const fixture = setUp();
    const { clock, files, helpers } = fixture;
    const place = await hold(fixture, '/other');
    const hanging = codeOf(files.stat('/nfs/a'));
    await clock.advance(10_000);
    expect(await hanging).toBe('ETIMEDOUT');
    const again = await hold(fixture, '/other');
    const [first, second] = helpers;
    expect([helpers.length, first?.killed]).toEqual([2, false]);
    const closed = place.close();
    await clock.settle();
    first?.calls.at(-1)?.resolve(null);
    await closed;
    expect([released(first), released(second), first?.killed]).toEqual([['/other'], [], true]);
    const closedToo = again.close();
    await clock.settle();
    second?.calls.at(-1)?.resolve(null);
    await closedToo;
    expect([released(second), second?.killed]).toEqual([['/other'], false]);
    // Closing the place a second time has no effect.
    await again.close();
    expect(released(second)).toEqual(['/other']);
  });

  it('W6: a helper is killed after a limit even if its held directory is never released, and a release does not wait for a hanging helper', async () => {
    const fixture = setUp();
    const { clock, files, helpers } = fixture;
    await hold(fixture, '/other');
    const place = await hold(fixture, '/other');
    const hanging = codeOf(files.stat('/nfs/a'));
    await clock.advance(10_000);
    expect(await hanging).toBe('ETIMEDOUT');
    const closed = place.close();
    await clock.advance(10_000);
    await closed;
    expect([helpers.length, helpers[0]?.killed]).toEqual([1, false]);
    await clock.advance(HOLD_MS);
    expect(helpers[0]?.killed).toBe(true);
  });

  it('a directory that was opened for an aborted call is released immediately', async () => {
    const { clock, files, helpers } = setUp();
    const stop = new AbortController();
    const answer = codeOf(files.holdBeneath('/other', 'x', {}, stop.signal));
    await clock.settle();
    stop.abort();
    await answer;
    helpers[0]?.calls[0]?.resolve(held('1'));
    await clock.settle();
    expect(released(helpers[0])).toEqual(['1']);
  });

  it('releasing a directory is harmless after its helper process has ended', async () => {
    const fixture = setUp();
    const place = await hold(fixture, '/other');
    const [first] = fixture.helpers;
    first?.end();
    if (first !== undefined) first.disconnected = true;
    await fixture.clock.settle();
    await place.close();
    expect(released(first)).toEqual([]);
    expect(fixture.helpers).toHaveLength(1);
  });
});

describe('GuardedFiles: statfs of local disks', () => {
  const size = (totalBytes: number): FileSystemSize => {
    return { totalBytes, freeBytes: 0, availableBytes: 0, inodes: 0, freeInodes: 0 };
  };

  /** File calls in this process whose responses the test controls. */
  class FakeKernel implements KernelServedFiles {
    readonly links = new Map<string, string>();
    readonly calls: { readonly path: string; readonly resolve: () => void; readonly reject: (e: Error) => void }[] = [];
    answers = true;

    statfs(path: string): Promise<FileSystemSize> {
      if (this.answers) return Promise.resolve(size(path.length));
      const { promise, resolve, reject } = Promise.withResolvers<FileSystemSize>();
      this.calls.push({ path, resolve: () => resolve(size(path.length)), reject });
      return promise;
    }

    async readLink(path: string): Promise<string | undefined> {
      return this.links.get(path);
    }
  }

  /** Returns the result of a statfs call that a helper process answers. */
  async function throughHelper({ clock, helpers, files }: Fixture, path: string): Promise<number> {
    const answer = files.statfs(path);
    await clock.settle();
    await clock.advance(1000);
    helpers.at(-1)?.calls.at(-1)?.resolve(size(-1));
    return (await answer).totalBytes;
  }

  it('statfs of a local disk starts no helper process', async () => {
    const kernel = new FakeKernel();
    kernel.links.set('/var/lib/kubelet', '/disk/kubelet');
    const { clock, files, helpers } = setUp({}, kernel);
    for (let n = 0; n < 100; n++) {
      expect((await files.statfs('/disk')).totalBytes).toBe('/disk'.length);
      expect((await files.statfs('/var/lib/kubelet')).totalBytes).toBe('/disk/kubelet'.length);
      await clock.advance(10_000);
    }
    expect(helpers).toHaveLength(0);
  });

  it('W6: statfs uses a helper process for other file systems and for symbolic links to them', async () => {
    const kernel = new FakeKernel();
    kernel.links.set('/var', '/nfs/var');
    const fixture = setUp({}, kernel);
    for (const path of ['/nfs/a', '/other', '/var/lib']) expect(await throughHelper(fixture, path)).toBe(-1);
    expect(fixture.helpers[0]?.calls.map(({ path }) => path)).toEqual(['/nfs/a', '/other', '/var/lib']);
  });

  it("an error of statfs has the system's code and the path that the caller passed", async () => {
    const kernel = new FakeKernel();
    kernel.links.set('/a', '/disk');
    kernel.answers = false;
    const { clock, files } = setUp({}, kernel);
    const answer = files.statfs('/a/none');
    answer.catch(() => undefined);
    await clock.settle();
    kernel.calls[0]?.reject(systemError('ENOENT', 'statfs', '/disk/none'));
    await expect(answer).rejects.toThrow("ENOENT: no such file or directory, statfs '/a/none'");
  });

  it('W6: a hanging statfs of a local disk fails at its deadline and occupies one thread; later calls use a helper process', async () => {
    const kernel = new FakeKernel();
    const fixture = setUp({}, kernel);
    const { clock, files, helpers } = fixture;
    kernel.answers = false;
    const hanging = codeOf(files.statfs('/disk/a'));
    await clock.settle();
    // While a call in this process hangs, other paths are queried through a helper after a short wait.
    expect(await throughHelper(fixture, '/disk/b')).toBe(-1);
    expect(await throughHelper(fixture, '/etc')).toBe(-1);
    await clock.advance(8_000);
    expect(await hanging).toBe('ETIMEDOUT');
    // After the timeout, further calls for the path fail immediately, as for every path that has not responded.
    expect(await codeOf(files.stat('/disk/c'))).toBe('ETIMEDOUT');
    expect(await codeOf(files.statfs('/disk/c'))).toBe('ETIMEDOUT');
    kernel.answers = true;
    // Once the call is known to hang, other paths are queried through a helper without any wait.
    const beside = files.statfs('/etc');
    await clock.settle();
    helpers[0]?.calls.at(-1)?.resolve(size(-2));
    expect((await beside).totalBytes).toBe(-2);
    await clock.advance(10_000);
    expect(await throughHelper(fixture, '/disk/d')).toBe(-1);
    expect(kernel.calls).toHaveLength(1);
    // The hung call has returned, so its thread is free. This process accesses other paths itself again; the path that
    // hung is still accessed by a helper for some time.
    kernel.calls[0]?.resolve();
    await clock.settle();
    expect((await files.statfs('/etc')).totalBytes).toBe('/etc'.length);
    expect(await throughHelper(fixture, '/disk/e')).toBe(-1);
    await clock.advance(LONGEST_BACK_OFF_MS);
    expect((await files.statfs('/disk/e')).totalBytes).toBe('/disk/e'.length);
    expect(helpers).toHaveLength(1);
  });

  it('W6: if several local disks hang one after another, only the first occupies a thread', async () => {
    const kernel = new FakeKernel();
    kernel.answers = false;
    const { clock, files } = setUp({}, kernel);
    const all = Promise.all(['/a', '/b', '/disk', '/c'].map((path) => codeOf(files.statfs(path))));
    await clock.advance(20_000);
    expect(await all).toEqual(['ETIMEDOUT', 'ETIMEDOUT', 'ETIMEDOUT', 'ETIMEDOUT']);
    expect(kernel.calls.map(({ path }) => path)).toEqual(['/a']);
  });

  it('statfs of a local disk works while no helper process is available', async () => {
    const kernel = new FakeKernel();
    const { clock, files } = setUp({ maxAbandoned: 1 }, kernel);
    const hanging = codeOf(files.stat('/nfs/a'));
    await clock.advance(10_000);
    expect(await hanging).toBe('ETIMEDOUT');
    expect(await codeOf(files.stat('/etc'))).toBe('EAGAIN');
    expect((await files.statfs('/etc')).totalBytes).toBe('/etc'.length);
  });
});

describe('memoryForeignFiles', () => {
  it('W6: memoryForeignFiles fails a hanging call at its deadline and completes other calls', async () => {
    const clock = new FakeClock();
    const fs = new MemoryFileSystem({ clock });
    await fs.mkdir('/nfs');
    fs.mount('/nfs');
    const files = memoryForeignFiles({ clock, fs });
    await files.makeFile('/nfs/f');
    const hang = fs.injectFault({ code: 'EIO', path: '/nfs', hangs: true });
    const hanging = codeOf(files.stat('/nfs/f'));
    await clock.settle();
    expect((await files.stat('/')).kind).toBe('directory');
    await clock.advance(10_000);
    expect(await hanging).toBe('ETIMEDOUT');
    expect(await codeOf(files.lstat('/nfs'))).toBe('ETIMEDOUT');
    hang.remove();
    await clock.advance(10_000);
    expect((await files.stat('/nfs/f')).kind).toBe('file');
  });
});

describe('nodeForeignFiles', () => {
  async function children(): Promise<readonly string[]> {
    // The kernel lists child processes by the thread that started them.
    const threads = await readdir('/proc/self/task');
    const lists = threads.map((thread) => readFile(`/proc/self/task/${thread}/children`, 'utf8').catch(() => ''));
    return (await Promise.all(lists))
      .join(' ')
      .split(' ')
      .filter((pid) => pid !== '');
  }

  it("nodeForeignFiles uses a helper process, and returns the system's results and errors", async () => {
    await using directory = await temporary();
    const files = nodeForeignFiles({ clock: new FakeClock() });
    const at = (path: string): string => join(directory.path, path);
    await files.makeDirectory(at('a/caf\udce9'), 0o751);
    expect(await files.stat(at('a/caf\udce9'))).toMatchObject({ kind: 'directory', mode: 0o751 });
    await files.makeFile(at('a/f'));
    expect(await files.lstat(at('a/f'))).toMatchObject({ kind: 'file', sizeBytes: 0 });
    expect(await files.realpath(at('a/../a/caf\udce9'))).toBe(at('a/caf\udce9'));
    expect((await files.statfs(at('a'))).totalBytes).toBeGreaterThan(0);
    await expect(files.stat(at('none'))).rejects.toMatchObject({ code: 'ENOENT', path: at('none'), syscall: 'stat' });
  });

  it('nodeForeignFiles uses no helper process for statfs of a local disk', async () => {
    const before = await children();
    const files = nodeForeignFiles({ clock: new FakeClock() });
    // /dev exists on every machine, and its file system is in memory.
    for (const place of ['/dev', '/dev/../dev/.']) {
      expect(await files.statfs(place)).toEqual(await fileSystemSize('/dev'));
    }
    await expect(files.statfs('/dev/none')).rejects.toMatchObject({ code: 'ENOENT', path: '/dev/none' });
    expect(await children()).toEqual(before);
    // /proc is not on a disk of the machine, so a helper process reads its size.
    await files.statfs('/proc');
    expect((await children()).length).toBe(before.length + 1);
  });

  it('W6: a call that blocks in the kernel is killed with its helper process, and the next call gets a new one', async () => {
    await using directory = await temporary();
    const clock = new FakeClock();
    const before = await children();
    const files = nodeForeignFiles({ clock });
    await files.stat('/');
    const [first] = (await children()).filter((pid) => !before.includes(pid));
    const fifo = join(directory.path, 'fifo');
    execFileSync('mkfifo', [fifo]);
    // Opened for writing, it waits for a reader that never comes, in a thread that nothing can interrupt.
    const hanging = codeOf(files.makeFile(fifo));
    expect((await files.stat('/')).kind).toBe('directory');
    await clock.advance(10_000);
    expect(await hanging).toBe('ETIMEDOUT');
    expect((await files.stat('/')).kind).toBe('directory');
    while ((await children()).includes(first ?? '')) await new Promise((resolve) => setImmediate(resolve));
    const after = (await children()).filter((pid) => !before.includes(pid));
    expect(after).toHaveLength(1);
    expect(after).not.toContain(first);
  });
});

async function temporary(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'host-test-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
