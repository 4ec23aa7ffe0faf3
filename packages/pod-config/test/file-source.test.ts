import { FakeClock } from '@node-agent/async/testing';
import type { ForeignFiles } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { Pod } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, describe, expect, it } from 'vitest';
import { FileSource, type FileSourceOptions } from '../src/file-source.ts';
import { LastGoodDirectory } from '../src/last-good-store.ts';
import { readManifest } from '../src/manifest.ts';
import type { ReadApart } from '../src/manifest-reader.ts';
import { podSchema } from '../src/pod-schema.ts';
import { formatProblem } from '../src/problem.ts';
import { manifestOf } from './helpers.ts';

const DIR = '/etc/manifests';
const STORE = '/var/lib/kubelet/last-good-manifests';
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const newFileSystem = (): MemoryFileSystem => new MemoryFileSystem({ clock: new FakeClock() });

async function setUp(
  options: Partial<FileSourceOptions> = {},
  prepare: (fs: MemoryFileSystem) => unknown = () => {},
  fs: MemoryFileSystem = newFileSystem(),
  foreign?: Pick<ForeignFiles, 'statfs'>,
  readApart?: ReadApart,
) {
  const clock = new FakeClock();
  if (options.path === undefined) await fs.mkdir(DIR);
  await prepare(fs);
  const told: string[] = [];
  const lists: (readonly Pod[])[] = [];
  const lines: string[] = [];
  const log = (_fields: unknown, message: string): unknown => lines.push(message);
  const source = new FileSource(
    {
      fs,
      ...(foreign && { foreign }),
      ...(readApart && { readApart }),
      clock,
      lastGood: new LastGoodDirectory({ fs }, { path: STORE }),
      logger: { ...silentLogger, error: log, info: log },
      set: (pods) => {
        lists.push(pods);
        told.push(pods.map(({ metadata, spec }) => `${metadata.name}=${spec.containers[0]?.image}`).join(' '));
      },
    },
    { path: DIR, nodeName: 'n', ...options },
  );
  const controller = new AbortController();
  const ended = source.start(controller.signal);
  ends.push(async () => {
    controller.abort();
    await ended;
    expect([clock.pendingTimers, fs.openWatches]).toEqual([0, 0]);
  });
  await clock.advance(10);
  const problems = (): string[] => source.problems.map(formatProblem);
  /** Waits until the source has handled the changes that the file system reported. */
  const settle = (): Promise<void> => clock.advance(10);
  const write = async (name: string, content: unknown): Promise<void> => {
    await fs.writeFile(`${DIR}/${name}`, typeof content === 'string' ? content : JSON.stringify(content));
    await settle();
  };
  return { clock, fs, told, lists, lines, problems, settle, write, source };
}

describe('FileSource', () => {
  it('reads the manifest directory immediately, sorted by file name, and reports each change', async () => {
    const { told, write, fs, settle } = await setUp({}, async (fs) => {
      await fs.writeFile(`${DIR}/b.json`, JSON.stringify(manifestOf('b')));
      await fs.writeFile(`${DIR}/a.yaml`, JSON.stringify(manifestOf('a')));
    });
    expect(told).toEqual(['a-n=busybox b-n=busybox']);
    await write('c', manifestOf('c'));
    await write('a.yaml', manifestOf('a', 'v2'));
    await fs.remove(`${DIR}/b.json`);
    await settle();
    expect(told.slice(1)).toEqual([
      'a-n=busybox b-n=busybox c-n=busybox',
      'a-n=v2 b-n=busybox c-n=busybox',
      'a-n=v2 c-n=busybox',
    ]);
  });

  it('reads the directory once after many manifests changed within a short time', async () => {
    const { told, fs, settle } = await setUp();
    for (let i = 0; i < 50; i++) await fs.writeFile(`${DIR}/${10 + i}`, JSON.stringify(manifestOf(`p${i}`)));
    await settle();
    await settle();
    expect(told).toHaveLength(2);
    expect(told[1]?.split(' ')).toHaveLength(50);
  });

  it('reports no update if no manifest changed, and returns unchanged pods as the same objects', async () => {
    const { clock, lists, write } = await setUp();
    await write('a', manifestOf('a'));
    await clock.advance(60_000);
    expect(lists).toHaveLength(2);
    await write('b', manifestOf('b'));
    expect(lists[2]?.[0]).toBe(lists[1]?.[0]);
  });

  it('without inotify, changes of manifests are found by the periodic read', async () => {
    const { clock, told } = await setUp({}, (fs) =>
      fs.injectFault({ code: 'ENOSPC', operation: 'watch', times: Number.POSITIVE_INFINITY }),
    );
    expect(told).toEqual(['']);
    const { fs, ...blind } = await setUp({}, (fs) =>
      fs.injectFault({ code: 'ENOSPC', operation: 'watch', times: Number.POSITIVE_INFINITY }),
    );
    await fs.writeFile(`${DIR}/a`, JSON.stringify(manifestOf('a')));
    await blind.clock.advance(20_000);
    expect(blind.told.at(-1)).toBe('a-n=busybox');
    await clock.advance(0);
  });

  it('F2: a change that happened while the directory could not be listed is found with the next change of another manifest', async () => {
    const { told, write, fs } = await setUp();
    await write('a', manifestOf('a'));
    const fault = fs.injectFault({ code: 'EACCES', operation: 'readdir', times: Number.POSITIVE_INFINITY });
    await write('a', manifestOf('a', 'v2'));
    fault.remove();
    await write('b', manifestOf('b'));
    expect(told.at(-1)).toBe('a-n=v2 b-n=busybox');
  });

  it('a failed read of a manifest is repeated within the period even if other manifests change all the time', async () => {
    const { told, write, fs, clock } = await setUp({ periodMs: 1000 });
    await write('a', manifestOf('a'));
    const fault = fs.injectFault({ code: 'EIO', operation: 'read', path: `${DIR}/a`, times: Number.POSITIVE_INFINITY });
    await write('a', manifestOf('a', 'v2'));
    fault.remove();
    for (let hints = 0; hints < 20; hints++) {
      await clock.advance(100);
      await write('other', manifestOf('other', `v${hints}`));
    }
    expect(told.at(-1)).toMatch('a-n=v2');
  });

  it('ignores hidden files and subdirectories of the manifest directory', async () => {
    const { told, problems } = await setUp({}, async (fs) => {
      await fs.writeFile(`${DIR}/.a.yaml.swp`, '{');
      await fs.mkdir(`${DIR}/sub`);
      await fs.writeFile(`${DIR}/sub/b.yaml`, JSON.stringify(manifestOf('b')));
    });
    expect([told, problems()]).toEqual([[''], []]);
  });

  it('reads the pod of a single manifest file, and reports its replacement and removal', async () => {
    const path = '/etc/pod.yaml';
    const { told, fs, settle } = await setUp({ path }, async (fs) => {
      await fs.mkdir('/etc');
      await fs.writeFile(path, JSON.stringify(manifestOf('a')));
    });
    await fs.writeFileAtomic(path, JSON.stringify(manifestOf('a', 'v2')));
    await settle();
    await fs.remove(path);
    await settle();
    expect(told).toEqual(['a-n=busybox', 'a-n=v2', '']);
  });

  it('F2: keeps the last valid version of a manifest that is half written, and reads the new version once it is complete', async () => {
    const { told, write, problems, lines } = await setUp();
    await write('a', manifestOf('a'));
    const text = JSON.stringify(manifestOf('a', 'v2'));
    for (const cut of [0, 1, 40, text.length - 1]) await write('a', text.slice(0, cut));
    expect(told).toEqual(['', 'a-n=busybox']);
    expect(problems()[0]).toMatch(/^\/etc\/manifests\/a:1:\d+: /);
    await write('a', text);
    expect(told.slice(2)).toEqual(['a-n=v2']);
    expect(problems()).toEqual([]);
    expect(lines.at(-1)).toBe('Manifest problem is gone');
  });

  it('F2: keeps the pod of a manifest that cannot be read, runs the pods of other manifests, and reports the error', async () => {
    const { told, write, problems, fs, clock } = await setUp();
    await write('a', manifestOf('a'));
    const fault = fs.injectFault({ code: 'EIO', path: `${DIR}/a`, times: Number.POSITIVE_INFINITY });
    await write('b', manifestOf('b'));
    await clock.advance(20_000);
    expect(told.at(-1)).toBe('a-n=busybox b-n=busybox');
    expect(problems()).toEqual([expect.stringContaining(`${DIR}/a: EIO`)]);
    fault.remove();
    await clock.advance(20_000);
    expect(problems()).toEqual([]);
  });

  it('P4: an unreadable manifest is read again with the next change of another one, and its pod wins a name conflict', async () => {
    const { fs, told, write, problems } = await setUp();
    const fault = fs.injectFault({ code: 'EACCES', operation: 'stat', path: `${DIR}/a` });
    await write('a', manifestOf('a', 'first'));
    expect(problems()).toHaveLength(1);
    fault.remove();
    await write('b', manifestOf('a', 'second'));
    expect(told.at(-1)).toBe('a-n=first');
    expect(problems()).toHaveLength(1);
  });

  it('W6: a manifest whose read hangs delays no other manifest, keeps its pod, and is not read again until the read returns', async () => {
    const fs = newFileSystem();
    for (const name of ['a', 'b'])
      await fs.mkdir(DIR).then(() => fs.writeFile(`${DIR}/${name}`, JSON.stringify(manifestOf(name))));
    const before = await setUp({}, () => {}, fs);
    expect(before.told).toEqual(['a-n=busybox b-n=busybox']);
    for (const end of ends.splice(0)) await end();
    const asked: string[] = [];
    const stat = fs.stat.bind(fs);
    fs.stat = async (path) => {
      if (path === `${DIR}/a`) asked.push(path);
      return await stat(path);
    };
    const fault = fs.injectFault({ code: 'EIO', operation: 'stat', path: `${DIR}/a`, hangs: true });
    const { told, clock, write, problems } = await setUp({}, () => {}, fs);
    expect(told).toEqual([]);
    await clock.advance(10_000);
    expect(told).toEqual(['b-n=busybox a-n=busybox'.split(' ').toSorted().join(' ')]);
    expect(problems()).toEqual([`${DIR}/a: does not answer`]);
    await write('c', manifestOf('c'));
    expect(told.at(-1)).toBe('a-n=busybox b-n=busybox c-n=busybox');
    await clock.advance(60_000);
    expect(asked).toHaveLength(1);
    fault.remove();
    await clock.advance(10);
    await clock.advance(10);
    expect(problems()).toEqual([]);
    expect(asked).toHaveLength(2);
  });

  it('W6: a helper process checks the target of a symbolic link first, and the kubelet reads the target only if the check succeeds', async () => {
    const fs = newFileSystem();
    await fs.mkdir(DIR);
    await fs.mkdir('/mnt/dead');
    for (const name of ['a', 'dead/b', 'c'])
      await fs.writeFile(`/mnt/${name}`, JSON.stringify(manifestOf(name.slice(-1))));
    await fs.symlink('/mnt/a', `${DIR}/a`);
    await fs.symlink('/mnt/dead/b', `${DIR}/b`);
    await fs.writeFile(`${DIR}/c`, JSON.stringify(manifestOf('c')));
    const opened: string[] = [];
    for (const operation of ['stat', 'open'] as const) {
      const real = fs[operation].bind(fs) as (path: string, ...more: never[]) => Promise<never>;
      fs[operation] = (path: string, ...more: never[]) => {
        opened.push(path);
        return real(path, ...more);
      };
    }
    const asked: string[] = [];
    const foreign: Pick<ForeignFiles, 'statfs'> = {
      statfs: async (path) => {
        asked.push(path);
        if (path === `${DIR}/b`) throw Object.assign(new Error('ETIMEDOUT: no answer'), { code: 'ETIMEDOUT' });
        return { totalBytes: 1, freeBytes: 1, availableBytes: 1, inodes: 1, freeInodes: 1 };
      },
    };
    const { told, problems } = await setUp({}, () => {}, fs, foreign);
    expect(told).toEqual(['a-n=busybox c-n=busybox']);
    expect(new Set(asked)).toEqual(new Set([`${DIR}/a`, `${DIR}/b`]));
    expect(opened).not.toContain(`${DIR}/b`);
    expect(problems()).toEqual([`${DIR}/b: ETIMEDOUT: no answer`]);
  });

  it('W6: a large manifest is read once in a worker thread, even if that takes longer than the deadline for a manifest', async () => {
    const apart: (() => void)[] = [];
    const readApart: ReadApart = (bytes, origin) =>
      new Promise((resolve) => apart.push(() => resolve(readManifest(bytes, origin, podSchema))));
    const { told, write, clock, settle, problems } = await setUp({}, undefined, undefined, undefined, readApart);
    await write('large', `# ${'-'.repeat(40_000)}\n${JSON.stringify(manifestOf('large'))}`);
    await clock.advance(11_000);
    expect(problems()).toEqual([`${DIR}/large: does not answer`]);
    await write('small', manifestOf('small'));
    expect(told.at(-1)).toBe('small-n=busybox');
    for (const end of apart) end();
    await settle();
    await settle();
    expect(told.at(-1)).toBe('large-n=busybox small-n=busybox');
    expect(problems()).toEqual([]);
    expect(apart).toHaveLength(1);
  });

  it('W6: a manifest directory whose listing hangs keeps its pods, and is not listed again until the listing returns', async () => {
    const { fs, told, clock, write, problems } = await setUp();
    await write('a', manifestOf('a'));
    let asked = 0;
    const readdir = fs.readdir.bind(fs);
    fs.readdir = async (path) => {
      if (path === DIR) asked++;
      return await readdir(path);
    };
    const fault = fs.injectFault({ code: 'EIO', operation: 'readdir', path: DIR, hangs: true });
    await clock.advance(70_000);
    expect(asked).toBe(1);
    expect(problems()).toEqual([`${DIR}: does not answer`]);
    expect(told.at(-1)).toBe('a-n=busybox');
    fault.remove();
    await clock.advance(10);
    await write('b', manifestOf('b'));
    expect(problems()).toEqual([]);
    expect(told.at(-1)).toBe('a-n=busybox b-n=busybox');
  });

  it('F2: two manifests whose file names are not valid UTF-8 are saved as separate files', async () => {
    const names = ['a\udcfe', 'a\udcff'];
    const { fs, problems } = await setUp({}, async (fs) => {
      for (const [index, name] of names.entries())
        await fs.writeFile(`${DIR}/${name}`, JSON.stringify(manifestOf(`pod${index}`)));
    });
    expect(problems()).toEqual([]);
    expect(await fs.readdir(STORE)).toHaveLength(2);
  });

  it('F2: a manifest that was removed while its read hung is not saved for the next start', async () => {
    const fs = newFileSystem();
    await fs.mkdir(DIR);
    await fs.writeFile(`${DIR}/a`, JSON.stringify(manifestOf('a')));
    const fault = fs.injectFault({ code: 'EIO', operation: 'stat', path: `${DIR}/a`, hangs: true });
    const open = fs.open.bind(fs);
    // The file is removed after it was opened, and its content can still be read.
    fs.open = (path, ...more) => open(path === `${DIR}/a` ? '/gone/a' : path, ...more);
    const stat = fs.stat.bind(fs);
    fs.stat = async (path) => {
      await stat(path).catch(() => {});
      return await stat(path === `${DIR}/a` ? '/gone/a' : path);
    };
    await fs.mkdir('/gone');
    const { clock, settle, told } = await setUp({}, () => {}, fs);
    await clock.advance(10_000);
    await fs.rename(`${DIR}/a`, '/gone/a');
    await settle();
    fault.remove();
    for (let n = 0; n < 3; n++) await settle();
    expect(told.at(-1)).toBe('');
    expect(await fs.readdir(STORE)).toEqual([]);
  });

  it('F2: keeps all pods while the manifest directory is missing, and reads the directory when it exists again', async () => {
    const { told, write, problems, fs, clock } = await setUp();
    await write('a', manifestOf('a'));
    await fs.rename(DIR, '/etc/elsewhere');
    await clock.advance(30_000);
    expect(told).toEqual(['', 'a-n=busybox']);
    expect(problems()).toEqual([`${DIR}: does not exist`]);
    await fs.mkdir(DIR);
    await fs.writeFile(`${DIR}/b`, JSON.stringify(manifestOf('b')));
    await clock.advance(1010);
    expect(told.slice(2)).toEqual(['b-n=busybox']);
    await write('c', manifestOf('c'));
    expect(told.at(-1)).toBe('b-n=busybox c-n=busybox');
  });

  it('watches a manifest directory that is created after the start, or that could not be read at the start', async () => {
    const fs = newFileSystem();
    await fs.mkdir('/etc');
    const late = await setUp({ path: DIR }, undefined, fs);
    await fs.mkdir(DIR);
    await late.settle();
    await late.write('a', manifestOf('a'));
    expect(late.told).toEqual(['', 'a-n=busybox']);
    const closed = await setUp({}, (fs) => fs.injectFault({ code: 'EIO', operation: 'stat', path: DIR, times: 2 }));
    await closed.clock.advance(20_000);
    await closed.write('a', manifestOf('a'));
    expect(closed.told).toEqual(['', 'a-n=busybox']);
  });

  it('F1: a missing manifest directory counts as empty; the source is not ready while the directory cannot be read', async () => {
    const missing = await setUp({ path: '/nowhere' });
    expect([missing.told, missing.problems()]).toEqual([[''], ['/nowhere: does not exist']]);
    const closed = await setUp({}, (fs) => fs.injectFault({ code: 'EACCES', operation: 'readdir', times: 2 }));
    expect(closed.told).toEqual([]);
    expect(closed.problems()).toEqual([expect.stringContaining('EACCES')]);
    await closed.clock.advance(20_000);
    expect(closed.told).toEqual(['']);
  });

  it('F4: pods of manifests get the same UIDs after a restart, in any order of the files', async () => {
    const first = await setUp();
    await first.write('b', manifestOf('b'));
    await first.write('a', manifestOf('a'));
    const second = await setUp({}, async (fs) => {
      for (const name of ['a', 'b']) await fs.writeFile(`${DIR}/${name}`, JSON.stringify(manifestOf(name)));
    });
    const uids = (lists: (readonly Pod[])[]): unknown => lists.at(-1)?.map(({ metadata }) => metadata.uid);
    expect(uids(second.lists)).toEqual(uids(first.lists));
  });

  it('F2: pods of manifests that are invalid or unreadable at the next start keep running with the same UIDs', async () => {
    const first = await setUp();
    for (const name of ['a', 'b', 'c']) await first.write(name, manifestOf(name));
    const uids = first.lists.at(-1)?.map(({ metadata }) => metadata.uid);
    await first.write('a', '{');
    await first.write('b', '');
    await ends.pop()?.();
    const next = await setUp({}, (fs) => fs.injectFault({ code: 'EIO', path: `${DIR}/c`, times: 2 }), first.fs);
    expect(next.told).toEqual(['a-n=busybox b-n=busybox c-n=busybox']);
    expect(next.lists[0]?.map(({ metadata }) => metadata.uid)).toEqual(uids);
    expect(next.problems()).toHaveLength(3);
  });

  it('F2: a restart does not restore the pod of a manifest that was removed before or after the kubelet stopped', async () => {
    const first = await setUp();
    for (const name of ['a', 'b']) await first.write(name, manifestOf(name));
    await first.fs.remove(`${DIR}/a`);
    await first.settle();
    await first.write('a', '{');
    expect(first.told.at(-1)).toBe('b-n=busybox');
    await ends.pop()?.();
    await first.fs.remove(`${DIR}/b`);
    const next = await setUp({}, undefined, first.fs);
    for (const name of ['a', 'b']) await next.write(name, '{');
    expect(next.told).toEqual(['']);
    expect(await first.fs.readdir(STORE)).toEqual([]);
  });

  it('runs a pod even if its manifest cannot be saved for a restart, and logs the failure', async () => {
    const { told, write, lines } = await setUp({}, (fs) =>
      fs.injectFault({ code: 'ENOSPC', path: STORE, times: Number.POSITIVE_INFINITY }),
    );
    await write('a', manifestOf('a'));
    expect(told.at(-1)).toBe('a-n=busybox');
    expect(lines).toContain('Cannot save the good version of a manifest for a restart');
  });

  it('F2: a manifest that could not be saved for a restart is saved as soon as the disk accepts it', async () => {
    const first = await setUp();
    await first.write('a', manifestOf('a'));
    const fault = first.fs.injectFault({ code: 'ENOSPC', path: STORE, times: Number.POSITIVE_INFINITY });
    await first.write('a', manifestOf('a', 'v2'));
    await first.write('b', manifestOf('b'));
    await first.fs.remove(`${DIR}/b`);
    await first.clock.advance(20_000);
    fault.remove();
    await first.clock.advance(20_000);
    await ends.pop()?.();
    await first.fs.writeFile(`${DIR}/a`, '{');
    await first.fs.writeFile(`${DIR}/b`, '{');
    const next = await setUp({}, undefined, first.fs);
    expect(next.told).toEqual(['a-n=v2']);
  });

  it('saves manifests for a restart with mode 0600 in a directory with mode 0700', async () => {
    const { fs, write } = await setUp();
    await write('a', manifestOf('a'));
    const [entry] = await fs.readdir(STORE);
    const modes = [await fs.stat(STORE), await fs.stat(`${STORE}/${entry?.name}`)].map(({ mode }) => mode);
    expect(modes).toEqual([0o700, 0o600]);
  });

  it('if two manifests have pods of one name, the pod of the first file name runs; after its removal, the other pod runs', async () => {
    const { told, write, problems, fs, settle } = await setUp();
    await write('b', manifestOf('web', 'second'));
    await write('a', manifestOf('web', 'first'));
    expect(told.at(-1)).toBe('web-n=first');
    expect(problems()).toEqual([
      `${DIR}/b: metadata.name: pod web-n_default is ignored: ${DIR}/a has a pod of the same name web-n_default`,
    ]);
    await fs.remove(`${DIR}/a`);
    await settle();
    expect([told.at(-1), problems()]).toEqual(['web-n=second', []]);
  });

  it.each<[string, (fs: MemoryFileSystem) => unknown, string]>([
    ['a fifo', (fs) => fs.makeSpecial(`${DIR}/x`, 'fifo'), 'is a fifo, not a file'],
    ['a dangling link', (fs) => fs.symlink('/nowhere', `${DIR}/x`), 'is a symlink to a file that does not exist'],
    ['a huge file', (fs) => fs.writeFile(`${DIR}/x`, ' '.repeat(1001)), 'is larger than 1000 bytes'],
  ])('W3: reports %s in the manifest directory as a problem', async (_name, prepare, problem) => {
    const { told, problems } = await setUp({ limitBytes: 1000 }, prepare);
    expect([told, problems()]).toEqual([[''], [`${DIR}/x: ${problem}`]]);
  });

  it('reads manifests through the symbolic links of a mounted ConfigMap', async () => {
    const { told } = await setUp({}, async (fs) => {
      await fs.mkdir(`${DIR}/..v1`);
      await fs.writeFile(`${DIR}/..v1/a`, JSON.stringify(manifestOf('a')));
      await fs.symlink('..v1', `${DIR}/..data`);
      await fs.symlink('..data/a', `${DIR}/a`);
    });
    expect(told).toEqual(['a-n=busybox']);
  });

  it('logs each problem of a manifest once, however often the manifest is read', async () => {
    const { lines, write, clock } = await setUp();
    await write('a', '{');
    await clock.advance(100_000);
    expect(lines).toEqual(['Manifest has a problem']);
  });
});
