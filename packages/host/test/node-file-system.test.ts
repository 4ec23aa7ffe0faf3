import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeFileSystem as fs } from '../src/index.ts';
import { codeOf, describeFileSystem, type Fixture } from './compliance.ts';

async function temporary(): Promise<Fixture> {
  const root = await mkdtemp(join(tmpdir(), 'host-test-'));
  return { fs, root, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
}

describeFileSystem('nodeFileSystem', temporary);

const [unshare, ...unshareFlags] = ['unshare', '--mount', '--map-root-user'] as const;

/** Whether this process may mount in a namespace of its own; without that the mount tests have nothing to say. */
function canMount(): boolean {
  try {
    execFileSync(unshare, [...unshareFlags, 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('removeAll of nodeFileSystem', () => {
  it('goes deeper than a path may be long', async () => {
    await using fixture = await temporary();
    const deep = Array.from({ length: 60 }, () => 'd'.repeat(100));
    // Built bottom up in two halves, since no single path may name the whole.
    await fs.mkdir(join(fixture.root, 'upper', ...deep.slice(0, 35)));
    await fs.mkdir(join(fixture.root, 'lower', ...deep.slice(35)));
    await fs.rename(join(fixture.root, 'lower'), join(fixture.root, 'upper', ...deep.slice(0, 35), 'lower'));
    await fs.removeAll(join(fixture.root, 'upper'));
    expect(await fs.readdir(fixture.root)).toEqual([]);
  });

  it('lets a symlink that takes a directory place lead nowhere', async () => {
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
    'neither enters nor removes a mount, not even a bind mount of the same file system',
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
