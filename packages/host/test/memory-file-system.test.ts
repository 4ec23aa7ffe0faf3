import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import { MemoryFileSystem } from '../src/testing.ts';
import { codeOf, describeFileSystem } from './compliance.ts';

describeFileSystem('MemoryFileSystem', async () => {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  await fs.mkdir('/test');
  return {
    fs,
    root: '/test',
    async makeFifo(path) {
      fs.makeSpecial(path, 'fifo');
    },
    async [Symbol.asyncDispose]() {
      expect(fs.openWatches).toBe(0);
    },
  };
});

const make = (limitBytes?: number): { clock: FakeClock; fs: MemoryFileSystem } => {
  const clock = new FakeClock(1_000);
  return { clock, fs: new MemoryFileSystem({ clock }, limitBytes === undefined ? {} : { limitBytes }) };
};
const text = async (fs: MemoryFileSystem, path: string): Promise<string> =>
  new TextDecoder().decode(await fs.readFile(path));

describe('MemoryFileSystem', () => {
  it('MemoryFileSystem sets modification times from its clock', async () => {
    const { clock, fs } = make();
    await fs.writeFile('/a', 'x');
    await clock.advance(5_000);
    await fs.writeFile('/b', 'x');
    expect((await fs.stat('/a')).modifiedAtMs).toBe(1_000);
    expect((await fs.stat('/b')).modifiedAtMs).toBe(6_000);
    expect((await fs.stat('/')).modifiedAtMs).toBe(6_000);
  });

  it('MemoryFileSystem has an ID per mount, and openBeneath crosses no mount', async () => {
    const { fs } = make();
    await fs.mkdir('/volume/mounted');
    fs.mount('/volume/mounted');
    await fs.writeFile('/volume/mounted/file', 'x');
    expect(await fs.mountId('/volume/mounted')).not.toBe(await fs.mountId('/volume'));
    expect(await codeOf(fs.openBeneath('/volume', 'mounted/file'))).toBe('EXDEV');
    expect(await codeOf(fs.openBeneath('/volume/mounted', 'file'))).toBe('none');
  });

  it('W6: a MemoryFileSystem operation with an injected hang waits until the fault is removed; others continue', async () => {
    const { clock, fs } = make();
    await fs.mkdir('/nfs');
    const hang = fs.injectFault({ code: 'EIO', path: '/nfs', operation: 'stat', hangs: true });
    let answered = false;
    const stat = fs.stat('/nfs').then(() => {
      answered = true;
    });
    await clock.settle();
    expect([answered, hang.hits]).toEqual([false, 1]);
    expect((await fs.stat('/')).kind).toBe('directory');
    hang.remove();
    await stat;
    expect(answered).toBe(true);
  });

  it('MemoryFileSystem operations settle within one settle() of the clock', async () => {
    const { clock, fs } = make();
    let done = false;
    const work = (async () => {
      for (let n = 0; n < 20; n++) await fs.writeFileAtomic('/a', `${n}`);
      done = true;
    })();
    await clock.settle();
    expect(done).toBe(true);
    await work;
  });

  it('an injected fault fails the named operation the given number of times', async () => {
    const { fs } = make();
    await fs.mkdir('/d');
    const fault = fs.injectFault({ operation: 'write', path: '/d', code: 'EIO', skip: 1, times: 2 });
    expect(await codeOf(fs.writeFile('/elsewhere', 'x'))).toBe('none');
    const outcomes = [];
    for (let n = 0; n < 4; n++) outcomes.push(await codeOf(fs.writeFile('/d/a', 'x')));
    expect(outcomes).toEqual(['none', 'EIO', 'EIO', 'none']);
    expect(fault.hits).toBe(2);
  });

  it('a removed fault no longer affects operations', async () => {
    const { fs } = make();
    const fault = fs.injectFault({ code: 'EIO', times: Number.POSITIVE_INFINITY });
    expect(await codeOf(fs.stat('/'))).toBe('EIO');
    fault.remove();
    expect(await codeOf(fs.stat('/'))).toBe('none');
  });

  it('a full MemoryFileSystem writes the bytes that fit and then fails with ENOSPC', async () => {
    const { fs } = make(5);
    expect(await codeOf(fs.writeFile('/a', '123456789'))).toBe('ENOSPC');
    expect(await text(fs, '/a')).toBe('12345');
    const file = await fs.open('/a', 'a');
    expect(await codeOf(file.append(new Uint8Array(1)))).toBe('ENOSPC');
    fs.limitBytes = 6;
    expect(await codeOf(file.append(new Uint8Array(1)))).toBe('none');
    await fs.remove('/a');
    expect(await codeOf(fs.writeFile('/b', '123456'))).toBe('none');
  });

  it('an atomic write that finds the disk full keeps the old content', async () => {
    const { fs } = make(10);
    await fs.writeFile('/a', '12345');
    expect(await codeOf(fs.writeFileAtomic('/a', '1234567'))).toBe('ENOSPC');
    expect(await text(fs, '/a')).toBe('12345');
    expect(fs.paths()).toEqual(['/a']);
  });

  it('a file has its old or new content completely after an atomic write was stopped at any step', async () => {
    for (const operation of ['open', 'write', 'sync', 'rename', 'syncDirectory'] as const) {
      const { fs } = make();
      await fs.writeFileAtomic('/a', 'old');
      // From this step on nothing works, not even the removal of the temporary file: the process is dead.
      let dead = false;
      fs.injectFault({
        code: 'EIO',
        times: Number.POSITIVE_INFINITY,
        path: () => dead,
      });
      fs.injectFault({ operation, code: 'EIO', path: () => (dead = true) });
      expect(await codeOf(fs.writeFileAtomic('/a', 'new'))).toBe('EIO');
      dead = false;
      expect(await text(fs, '/a')).toBe(operation === 'syncDirectory' ? 'new' : 'old');
      fs.powerLoss();
      expect(await text(fs, '/a')).toBe('old');
      await fs.writeFileAtomic('/a', 'next');
      fs.powerLoss();
      expect(await text(fs, '/a')).toBe('next');
    }
  });

  it('a simulated power loss drops everything that was not synced', async () => {
    const { fs } = make();
    await fs.mkdir('/d');
    await fs.writeFileAtomic('/d/safe', 'x');
    await fs.writeFile('/d/safe', 'changed');
    await fs.writeFile('/d/new', 'x');
    fs.powerLoss();
    expect(fs.paths()).toEqual(['/d', '/d/safe']);
    expect(await text(fs, '/d/safe')).toBe('x');
  });

  it('a removed directory does not return after a simulated power loss', async () => {
    const { fs } = make();
    await fs.mkdir('/d/old');
    await fs.writeFileAtomic('/d/old/file', 'x');
    await fs.removeAll('/d/old');
    fs.powerLoss();
    expect(fs.paths()).toEqual(['/d']);
  });

  it('MemoryFileSystem neither enters nor removes a mount, and renames nothing across it', async () => {
    const { fs } = make();
    await fs.mkdir('/tree/mounted/hidden');
    await fs.mkdir('/tree/plain');
    fs.mount('/tree/mounted');
    await fs.writeFile('/tree/mounted/kept', 'x');
    expect(await codeOf(fs.rename('/tree/mounted/kept', '/tree/kept'))).toBe('EXDEV');
    expect(await codeOf(fs.rename('/tree/mounted', '/tree/moved'))).toBe('EBUSY');
    expect(await codeOf(fs.removeAll('/tree'))).toBe('EBUSY');
    expect(await codeOf(fs.removeAll('/tree/mounted'))).toBe('EBUSY');
    expect(fs.paths()).toEqual(['/tree', '/tree/mounted', '/tree/mounted/kept']);
    fs.unmount('/tree/mounted');
    expect(fs.paths()).toEqual(['/tree', '/tree/mounted', '/tree/mounted/hidden']);
    expect(() => fs.unmount('/tree')).toThrow('EINVAL');
  });

  it('MemoryFileSystem stores sockets and devices by kind', async () => {
    const { fs } = make();
    fs.makeSpecial('/socket', 'socket', 0o660);
    expect(await fs.stat('/socket')).toMatchObject({ kind: 'socket', mode: 0o660 });
    expect(await codeOf(fs.readFile('/socket'))).toBe('ENXIO');
    expect(() => fs.makeSpecial('/socket', 'fifo')).toThrow('EEXIST');
  });

  it('a watch of a file receives change hints about that file only', async () => {
    const { clock, fs } = make();
    await fs.writeFile('/a', '');
    const controller = new AbortController();
    const hints: (string | undefined)[] = [];
    const watching = fs.watch('/a', (name) => hints.push(name), controller.signal);
    await clock.settle();
    await fs.writeFile('/b', '');
    const file = await fs.open('/a', 'a');
    await file.append(new Uint8Array(1));
    await clock.settle();
    expect(hints).toEqual([undefined, 'a']);
    controller.abort();
    await watching;
  });
});
