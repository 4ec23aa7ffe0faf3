import { execFileSync, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import type { Helper } from '../src/helper/helper-process.ts';
import {
  errorCode,
  type FileSystem,
  nodeFileSystem as fs,
  kernelFileSystem,
  readFileBeneath,
  systemError,
} from '../src/index.ts';
import { TreeRemover } from '../src/remove-tree.ts';
import { codeOf, describeFileSystem, type Fixture } from './compliance.ts';

async function temporary(files: FileSystem = fs): Promise<Fixture> {
  const root = await mkdtemp(join(tmpdir(), 'host-test-'));
  return {
    fs: files,
    root,
    async makeFifo(path) {
      execFileSync('mkfifo', [Buffer.from(path).toString()]);
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

describeFileSystem('nodeFileSystem', temporary);
describeFileSystem('kernelFileSystem', () => temporary(kernelFileSystem));

const [unshare, ...unshareFlags] = ['unshare', '--mount', '--map-root-user'] as const;

/** Whether this process may mount in its own mount namespace. If not, the mount tests are skipped. */
function canMount(): boolean {
  try {
    execFileSync(unshare, [...unshareFlags, 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

it.skipIf(!canMount())(
  'nodeFileSystem reports why a directory cannot be created on a read-only file system',
  async () => {
    await using fixture = await temporary();
    await fs.mkdir(join(fixture.root, 'mounted'));
    const program = `import { nodeFileSystem } from ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)};
    for (const path of ['.', 'new', 'new/er']) {
      await nodeFileSystem.mkdir('${fixture.root}/mounted/' + path).then(() => console.log('there'), (error) => console.log(error.message));
    }`;
    await fs.writeFile(join(fixture.root, 'program.mjs'), program);
    const script = `mount -t tmpfs -o ro tmpfs "$1/mounted" && exec "$2" --conditions=@node-agent/source "$1/program.mjs"`;
    const output = execFileSync(unshare, [...unshareFlags, 'sh', '-c', script, 'sh', fixture.root, process.execPath], {
      encoding: 'utf8',
    });
    const refused = `EROFS: read-only file system, mkdir '${fixture.root}/mounted/new'`;
    expect(output).toBe(`there\n${refused}\n${refused}\n`);
  },
);

it.skipIf(!canMount())('nodeFileSystem reports the file that cannot be written on a full disk', async () => {
  await using fixture = await temporary();
  await fs.mkdir(join(fixture.root, 'mounted'));
  const program = `import { nodeFileSystem } from ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)};
    for (const write of ['writeFile', 'writeFileAtomic']) {
      await nodeFileSystem[write]('${fixture.root}/mounted/file', 'x'.repeat(100_000)).catch((error) => console.log(error.message));
    }`;
  await fs.writeFile(join(fixture.root, 'program.mjs'), program);
  const script = `mount -t tmpfs -o size=4k tmpfs "$1/mounted" && exec "$2" --conditions=@node-agent/source "$1/program.mjs"`;
  const output = execFileSync(unshare, [...unshareFlags, 'sh', '-c', script, 'sh', fixture.root, process.execPath], {
    encoding: 'utf8',
  });
  const refused = `ENOSPC: no space left on device, write '${fixture.root}/mounted/file'`;
  expect(output).toBe(`${refused}\n${refused}\n`);
});

describe('removeAll of nodeFileSystem', () => {
  it('removeAll deletes trees that are deeper than the longest path', async () => {
    await using fixture = await temporary();
    const deep = Array.from({ length: 60 }, () => 'd'.repeat(100));
    // The tree is created in two halves, because its longest path exceeds the kernel's limit for a path.
    await fs.mkdir(join(fixture.root, 'upper', ...deep.slice(0, 35)));
    await fs.mkdir(join(fixture.root, 'lower', ...deep.slice(35)));
    await fs.rename(join(fixture.root, 'lower'), join(fixture.root, 'upper', ...deep.slice(0, 35), 'lower'));
    await fs.removeAll(join(fixture.root, 'upper'));
    expect(await fs.readdir(fixture.root)).toEqual([]);
  });

  it('W5: removeAll keeps a bounded number of directories open, however deep the tree is', async () => {
    await using fixture = await temporary();
    let path = '.';
    // Each level is added by a rename, because the path of the whole tree would be longer than the kernel accepts.
    for (let depth = 0; depth < 400; depth++) {
      await fs.mkdir(join(fixture.root, `next/${depth % 2 ? 'd' : '\udcff'}`));
      if (depth > 0)
        await fs.rename(join(fixture.root, 'tree'), join(fixture.root, `next/${depth % 2 ? 'd' : '\udcff'}/x`));
      await fs.rename(join(fixture.root, 'next'), join(fixture.root, 'tree'));
      path = 'tree';
    }
    await fs.writeFile(join(fixture.root, path, 'file'), '');
    let most = 0;
    const count = async (): Promise<void> => {
      most = Math.max(most, (await readdir('/proc/self/fd')).length);
    };
    await count();
    const before = most;
    let done = false;
    const counting = (async () => {
      while (!done) await count();
    })();
    await fs.removeAll(join(fixture.root, path));
    done = true;
    await counting;
    expect(await fs.readdir(fixture.root)).toEqual([]);
    expect(most - before).toBeLessThan(150);
  });

  it('removeAll deletes everything that it can, and reports the first entry that remains', async () => {
    await using fixture = await temporary();
    await fs.mkdir(join(fixture.root, 'tree/sub'));
    for (let n = 0; n < 1500; n++) await fs.writeFile(join(fixture.root, `tree/sub/${n}`), '');
    try {
      execFileSync('chattr', ['+i', join(fixture.root, 'tree/sub/700')], { stdio: 'ignore' });
    } catch {
      // If the file system does not support the immutable flag or the user may not set it, the tree can be removed
      // completely.
      expect(await codeOf(fs.removeAll(join(fixture.root, 'tree')))).toBe('none');
      return;
    }
    try {
      await expect(fs.removeAll(join(fixture.root, 'tree'))).rejects.toMatchObject({
        code: 'EPERM',
        path: join(fixture.root, 'tree/sub/700'),
      });
      expect((await fs.readdir(join(fixture.root, 'tree/sub'))).map(({ name }) => name)).toEqual(['700']);
    } finally {
      execFileSync('chattr', ['-i', join(fixture.root, 'tree/sub/700')]);
    }
  });

  it('removeAll deletes nothing outside if a symbolic link replaces a directory while it runs', async () => {
    await using fixture = await temporary();
    const at = (path: string): string => join(fixture.root, path);
    await fs.mkdir(at('outside'));
    for (let n = 0; n < 50; n++) await fs.writeFile(at(`outside/${n}`), '');
    await fs.mkdir(at('tree/victim'));
    for (let n = 0; n < 50; n++) await fs.writeFile(at(`tree/victim/${n}`), '');
    const removal = fs.removeAll(at('tree')).catch(() => undefined);
    await fs.rename(at('tree/victim'), at('moved')).catch(() => undefined);
    await fs.symlink('../outside', at('tree/victim')).catch(() => undefined);
    await removal;
    expect(await fs.readdir(at('outside'))).toHaveLength(50);
  });

  it.skipIf(!canMount())(
    'removeAll neither enters nor removes a mount, not even a bind mount of the same file system',
    async () => {
      await using fixture = await temporary();
      const at = (path: string): string => join(fixture.root, path);
      await fs.mkdir(at('source'));
      await fs.writeFile(at('source/kept'), 'x');
      await fs.mkdir(at('tree/mounted'));
      await fs.mkdir(at('tree/plain'));
      const program = `import { nodeFileSystem } from ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)};
      await nodeFileSystem.removeAll(${JSON.stringify(at('tree'))}).catch((error) => console.log(error.code, error.path));
      await nodeFileSystem.removeAll(${JSON.stringify(at('tree/mounted'))}).catch((error) => console.log(error.code));`;
      await fs.writeFile(at('program.mjs'), program);
      const script = `mount --bind "$1/source" "$1/tree/mounted" && exec "$2" --conditions=@node-agent/source "$1/program.mjs"`;
      const output = execFileSync(
        unshare,
        [...unshareFlags, 'sh', '-c', script, 'sh', fixture.root, process.execPath],
        { encoding: 'utf8' },
      );
      expect(output).toBe(`EBUSY ${at('tree/mounted')}\nEBUSY\n`);
      expect(await fs.exists(at('source/kept'))).toBe(true);
      expect((await fs.readdir(at('tree'))).map((entry) => entry.name)).toEqual(['mounted']);
      expect(await codeOf(fs.removeAll(at('tree')))).toBe('none');
    },
  );
});

describe('openBeneath of nodeFileSystem', () => {
  it.each(['refuse', 'within'] as const)(
    'W3, W5: openBeneath stays in the directory even if a process swaps names while it walks (links: %s)',
    async (links) => {
      await using fixture = await temporary();
      const at = (path: string): string => join(fixture.root, path);
      await fs.mkdir(at('volume/dir'));
      await fs.mkdir(at('outside'));
      await fs.writeFile(at('outside/env'), 'secret');
      await fs.writeFile(at('volume/dir/env'), 'own');
      await fs.symlink('../outside', at('volume/link'));
      await fixture.makeFifo(at('volume/fifo'));
      // A shell process exchanges files as a container could. The shell process exits on request, between two moves.
      const script =
        'cd "$1"; while [ ! -e ../stop ] && mv dir real && mv link dir && mv dir link && mv fifo dir && mv dir fifo; do mv real dir; done';
      const swapper = spawn('sh', ['-c', script, 'sh', at('volume')], { stdio: 'ignore' });
      const ended = new Promise((resolve) => swapper.on('close', resolve));
      const seen = new Set<string>();
      for (let n = 0; n < 2_000; n++) {
        const answer = readFileBeneath(fs, at('volume'), 'dir/env', 100, { links });
        seen.add(
          await answer.then(
            (bytes) => new TextDecoder().decode(bytes),
            (error) => errorCode(error) ?? 'none',
          ),
        );
      }
      await fs.writeFile(at('stop'), '');
      await ended;
      const allowed = ['own', 'ENOENT', 'ELOOP', 'ENOTDIR', 'EINVAL', 'ENXIO'];
      expect([...seen].filter((outcome) => !allowed.includes(outcome))).toEqual([]);
    },
  );
});

describe('TreeRemover', () => {
  async function largeTree(root: string): Promise<string> {
    await fs.mkdir(join(root, 'tree'));
    for (let n = 0; n < 1_100; n++) await fs.writeFile(join(root, `tree/${n}`), '');
    return join(root, 'tree');
  }

  it('W6: a large removal that makes no progress is aborted and its helper process killed', async () => {
    await using fixture = await temporary();
    const tree = await largeTree(fixture.root);
    const clock = new FakeClock();
    const asked = Promise.withResolvers<() => void>();
    let killed = false;
    const startHelper = (): Helper => ({
      call: (_name, _args, onProgress) => {
        asked.resolve(() => onProgress?.());
        return new Promise(() => {});
      },
      kill: () => {
        killed = true;
      },
      ended: new Promise(() => {}),
    });
    const outcome = codeOf(new TreeRemover({ clock, startHelper }).remove(tree));
    const progress = await asked.promise;
    await clock.advance(119_000);
    progress();
    await clock.advance(119_000);
    expect(killed).toBe(false);
    await clock.advance(1_000);
    expect([await outcome, killed]).toEqual(['ETIMEDOUT', true]);
  });

  it.runIf(process.platform === 'linux')(
    'W6: a deep tree is removed in a helper process even if it has few names',
    async () => {
      await using fixture = await temporary();
      const asked: unknown[] = [];
      const startHelper = (): Helper => ({
        call: async (...call) => {
          asked.push(call.slice(0, 2));
          return null as never;
        },
        kill: () => {},
        ended: new Promise(() => {}),
      });
      const remover = new TreeRemover({ clock: new FakeClock(), startHelper });
      for (const depth of [30, 40]) await fs.mkdir(join(fixture.root, `${depth}`, 'd/'.repeat(depth)));
      for (const depth of [30, 40]) await remover.remove(join(fixture.root, `${depth}`));
      expect(asked).toEqual([['removeTree', [join(fixture.root, '40')]]]);
      expect(await fs.exists(join(fixture.root, '30'))).toBe(false);
    },
  );

  it('TreeRemover removes a large tree in this process if no helper can be started', async () => {
    await using fixture = await temporary();
    const tree = await largeTree(fixture.root);
    const startHelper = (): Helper => ({
      call: () => Promise.reject(systemError('ESRCH', 'call', 'helper')),
      kill: () => {},
      ended: Promise.resolve(),
    });
    await new TreeRemover({ clock: new FakeClock(), startHelper }).remove(tree);
    expect(await fs.exists(tree)).toBe(false);
  });
});
