import { execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { nodeFileSystem as fs, nodeForeignFiles } from '@node-agent/host';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VolumeError } from '../src/errors.ts';
import { MountCommand } from '../src/mount/mount-command.ts';
import { mountPointsWithin } from '../src/mount/mounter.ts';
import { PodPaths } from '../src/paths/pod-paths.ts';
import { type SubPath, SubPathMounts } from '../src/paths/sub-path-mounts.ts';

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
const mount = (...args: string[]): void => void execFileSync('mount', args);

describe.runIf(isRoot)('subPath mounts on Linux, as root', () => {
  const foreignFiles = nodeForeignFiles({ clock: systemClock });
  const mounter = new MountCommand({ fs, clock: systemClock });
  const { signal } = new AbortController();
  let root: string;
  let subPaths: SubPathMounts;
  const at = (path: string): string => join(root, path);
  const part = (path: string, more: Partial<SubPath['volume']> = {}): SubPath => ({
    podUid: 'u1',
    container: 'main',
    volumeName: 'data',
    directoryName: 'data',
    volume: { hostPath: at('volume'), readOnly: false, selinuxRelabel: false, ...more },
    index: 0,
    path,
  });
  const mounts = (): Promise<string[]> => mountPointsWithin({ fs, mounter }, root);

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'volumes-'));
    await mkdir(at('volume/dir'), { recursive: true });
    await mkdir(at('outside'));
    await writeFile(at('outside/f'), 'secret');
    subPaths = new SubPathMounts({ fs, foreignFiles, mounter, paths: new PodPaths(root), logger: silentLogger });
  });
  afterEach(async () => {
    for (const point of (await mounts()).reverse()) await mounter.unmount(point, signal, { lazy: true });
    await rm(root, { recursive: true });
  });

  it.each([false, true])(
    'subPaths that are directories, files or FIFOs are bind-mounted and removed (on a file system that may hang: %s)',
    async (foreign) => {
      await writeFile(at('volume/file'), 'content');
      execFileSync('mkfifo', [at('volume/fifo')]);
      const file = await subPaths.prepare(part('file', { foreign }), signal);
      expect(file).toBe(at('pods/u1/volume-subpaths/data/main/0'));
      expect(await readFile(file, 'utf8')).toBe('content');
      const fifo = await subPaths.prepare({ ...part('fifo', { foreign }), index: 1 }, signal);
      expect((await stat(fifo)).isFIFO()).toBe(true);
      const made = await subPaths.prepare({ ...part('new/deep', { foreign }), container: 'side' }, signal);
      await writeFile(join(made, 'f'), 'x');
      expect(await readFile(at('volume/new/deep/f'), 'utf8')).toBe('x');
      expect(await mounts()).toHaveLength(3);
      await subPaths.clean('u1', 'data', signal);
      expect(await mounts()).toEqual([]);
      expect(await fs.exists(at('pods/u1/volume-subpaths'))).toBe(false);
      expect(await readFile(at('volume/new/deep/f'), 'utf8')).toBe('x');
    },
  );

  it('W3: no path outside of the volume is ever mounted, even if a process swaps subPath components during preparation', async () => {
    await writeFile(at('volume/dir/f'), 'own');
    await symlink('../outside', at('volume/link'));
    // Some attempts fail because they create an entry while the swapped name is absent. Such an entry is removed with
    // the last mount.
    const script =
      'cd "$1"; while [ ! -e ../stop ]; do mv -T dir real; mv -T link dir; mv -T dir link; mv -T real dir; done; exit 0';
    const swapper = spawn('sh', ['-c', script, 'sh', at('volume')], { stdio: 'ignore' });
    const ended = new Promise((resolve) => swapper.on('close', resolve));
    const seen = new Set<string>();
    for (let n = 0; n < 60; n++) {
      const request = { ...part('dir'), index: n };
      const answer = await subPaths.prepare(request, signal).catch((error: unknown) => error);
      if (VolumeError.is(answer)) seen.add(answer.code);
      else seen.add(await readFile(join(String(answer), 'f'), 'utf8').catch(() => 'empty'));
    }
    await writeFile(at('stop'), '');
    await ended;
    // A subPath that was created while the swapped name was absent is empty and lies inside the volume.
    for (const outcome of seen) expect(['own', 'empty', 'SubPathFailed']).toContain(outcome);
    expect(seen).toContain('own');
  }, 60_000);

  it('removing a subPath unmounts all mounts stacked on it and keeps mounts inside the volume', async () => {
    mount('--bind', at('volume'), at('volume'));
    mount('--make-shared', at('volume'));
    const target = await subPaths.prepare(part('dir'), signal);
    await mkdir(at('volume/dir/disk'));
    mount('-t', 'tmpfs', 'disk', at('volume/dir/disk'));
    // A mount in the volume also appears at the subPath, because both are in one peer group.
    expect(await mounts()).toContain(join(target, 'disk'));
    mount('--bind', at('volume/dir'), target);
    await subPaths.clean('u1', 'data', signal);
    expect(await mounts()).toEqual([at('volume'), at('volume/dir/disk')]);
  });

  it('K1: after a kill, a restarted kubelet reuses the subPath mount, or replaces a mount of another path', async () => {
    const target = await subPaths.prepare(part('dir'), signal);
    const next = new SubPathMounts({ fs, foreignFiles, mounter, paths: new PodPaths(root), logger: silentLogger });
    expect(await next.prepare(part('dir'), signal)).toBe(target);
    expect(await mounts()).toEqual([target]);
    await next.prepare(part('other'), signal);
    expect((await stat(target)).ino).toBe((await stat(at('volume/other'))).ino);
    expect(await mounts()).toEqual([target]);
    await next.clean('u1', 'data', signal);
  });
});
