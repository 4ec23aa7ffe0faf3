import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GuardedFiles, type GuardedFilesOptions } from '../src/foreign/guarded-files.ts';
import { LONGEST_BACK_OFF_MS, mayAsk, placeOf, suspect } from '../src/foreign/hang-rule.ts';
import { mountPointsOf } from '../src/foreign/mount-points.ts';
import type { Helper } from '../src/helper/helper-process.ts';
import type { HelperCallName, HelperCalls } from '../src/helper/protocol.ts';
import { nodeForeignFiles, systemError } from '../src/index.ts';
import { MemoryFileSystem, memoryForeignFiles } from '../src/testing.ts';
import { codeOf } from './compliance.ts';

describe('the rule of places that hang', () => {
  it.each([
    ['/data/x', ['/', '/proc', '/data'], '/data'],
    ['/data', ['/', '/data'], '/data'],
    ['/data2/x', ['/', '/data'], '/data2/x'],
    ['/data/nfs/a/b', ['/', '/data', '/data/nfs'], '/data/nfs'],
    ['/etc/hosts', ['/'], '/etc/hosts'],
    ['/etc/hosts', [], '/etc/hosts'],
  ])('%s with mounts at %j is of %s', (path, points, place) => {
    expect(placeOf(path, points)).toBe(place);
  });

  it('leaves a place alone for longer and longer, up to a bound, and asks it one call at a time', () => {
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

  it('reads mount points, those with blanks and those that are no text', () => {
    const text = '36 35 98:0 / /mnt\\040one rw - ext4 /dev/sda rw\n37 35 0:5 / /caf\xe9 rw - tmpfs tmpfs rw\n\nodd';
    expect(mountPointsOf(text)).toEqual(['/mnt one', '/caf\udce9']);
  });
});

/** A helper of which a test decides what it answers, and whether it can be killed. */
class FakeHelper implements Helper {
  readonly calls: {
    name: string;
    path: string;
    resolve: (value: unknown) => void;
    reject: (error: unknown) => void;
  }[] = [];
  killed = false;
  /** The other side has closed the channel; that it has ended is not heard yet. */
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

  /** The process is gone. */
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

function setUp(options: GuardedFilesOptions = {}): Fixture {
  const clock = new FakeClock();
  const helpers: FakeHelper[] = [];
  const startHelper = (): Helper => {
    const helper = new FakeHelper();
    helpers.push(helper);
    return helper;
  };
  const mountPoints = async () => ['/', '/nfs', '/other'];
  return { clock, helpers, files: new GuardedFiles({ clock, startHelper, mountPoints }, options) };
}

describe('GuardedFiles', () => {
  it('starts a helper with the first call, and asks the same one again', async () => {
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

  it('W6: a call that hangs ends at its deadline; its helper is killed, and others have another one meanwhile', async () => {
    const { clock, files, helpers } = setUp({ deadlineMs: 10_000 });
    const hanging = codeOf(files.stat('/nfs/a'));
    await clock.settle();
    await clock.advance(9_000);
    const beside = files.realpath('/other/b');
    await clock.settle();
    await clock.advance(1_000);
    expect(await hanging).toBe('ETIMEDOUT');
    // The other call that is under way in it has its time.
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

  it('keeps nothing of places that nobody asks for any more', async () => {
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

  it('W6: a place that did not answer is refused at once, then asked by one, and forgiven when it answers', async () => {
    const { clock, files, helpers } = setUp();
    const hanging = codeOf(files.stat('/nfs/a'));
    await clock.settle();
    await clock.advance(10_000);
    expect(await hanging).toBe('ETIMEDOUT');
    await expect(files.stat('/nfs/b')).rejects.toThrow(
      "ETIMEDOUT: its file system did not answer; it is asked again in 10 s at the earliest, stat '/nfs/b'",
    );
    expect(helpers).toHaveLength(1);
    await clock.advance(10_000);
    const probe = codeOf(files.stat('/nfs/c'));
    await clock.settle();
    expect(await codeOf(files.stat('/nfs/d'))).toBe('ETIMEDOUT');
    expect(helpers[1]?.calls.map(({ path }) => path)).toEqual(['/nfs/c']);
    // An error is an answer too.
    helpers[1]?.calls[0]?.reject(systemError('ENOENT', 'stat', '/nfs/c'));
    expect(await probe).toBe('ENOENT');
    const after = files.realpath('/nfs/e');
    await clock.settle();
    helpers[1]?.calls[1]?.resolve('e');
    expect(await after).toBe('e');
  });

  it('lets the calls to one place wait for each other, and those to others pass', async () => {
    const { clock, files, helpers } = setUp({ maxCallsPerPlace: 2 });
    const all = ['/nfs/1', '/nfs/2', '/nfs/3', '/other/4'].map((path) => files.realpath(path));
    await clock.settle();
    expect(helpers[0]?.calls.map(({ path }) => path)).toEqual(['/nfs/1', '/nfs/2', '/other/4']);
    for (const { resolve, path } of helpers[0]?.calls ?? []) resolve(path);
    await clock.settle();
    helpers[0]?.calls[3]?.resolve('/nfs/3');
    expect(await Promise.all(all)).toEqual(['/nfs/1', '/nfs/2', '/nfs/3', '/other/4']);
  });

  it('W6: those that waited behind a call that hangs are refused with it, and hold no thread', async () => {
    const { clock, files, helpers } = setUp({ maxCallsPerPlace: 1 });
    const all = Promise.all(['/nfs/1', '/nfs/2', '/nfs/3'].map((path) => codeOf(files.stat(path))));
    await clock.settle();
    await clock.advance(10_000);
    expect(await all).toEqual(['ETIMEDOUT', 'ETIMEDOUT', 'ETIMEDOUT']);
    expect(helpers.flatMap(({ calls }) => calls)).toHaveLength(1);
  });

  it('W6: asks nothing any more while too many helpers cannot be killed', async () => {
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

  it('asks once more where the helper ended in the same instant', async () => {
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

  it('asks another helper where one says that it ends, before its end is heard', async () => {
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
    // One that hangs in its own end is ended.
    expect([ending?.killed, files.abandoned]).toEqual([true, 1]);
    ending?.end();
    await clock.settle();
    expect(files.abandoned).toBe(0);
  });

  it('stops waiting when it is aborted; the call keeps its place until it ends', async () => {
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

describe('memoryForeignFiles', () => {
  it('W6: what hangs is told after the deadline, and what does not is answered', async () => {
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
    const text = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8');
    return text.split(' ').filter((pid) => pid !== '');
  }

  it('asks a process of its own, and gives its answers and errors as the system does', async () => {
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

  it('W6: a call that the kernel keeps waiting is killed with its process, and the next has another one', async () => {
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
