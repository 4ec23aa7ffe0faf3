import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, it, vi } from 'vitest';
import { EMPTY_DIRS, podOf, ROOT, setUp } from './helpers.ts';

const VOLUMES = `${ROOT}/pods/u1/volumes`;
const POD: Pod = podOf([
  { name: 'disk', emptyDir: { sizeLimit: '1Mi' } },
  { name: 'memory', emptyDir: { medium: 'Memory' } },
  { name: 'info', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
  { name: 'etc', hostPath: { path: '/etc' } },
]);

async function ready() {
  const fixture = setUp();
  await fixture.manager.waitForAttachAndMount(POD, fixture.signal);
  return { ...fixture, usage: () => fixture.manager.volumeUsage(POD, fixture.signal) };
}

describe('volumeUsage', () => {
  it('reports usage, medium and size limit of emptyDir volumes, but not of hostPath volumes', async () => {
    const { fs, clock, usage } = await ready();
    await fs.writeFile(`${ROOT}/pods/u1/${EMPTY_DIRS}/disk/f`, 'x'.repeat(5_000));
    const [disk, memory, info, ...others] = await usage();
    expect(disk).toMatchObject({ name: 'disk', medium: 'disk', usedBytes: 8192, inodesUsed: 2, limitBytes: 1 << 20 });
    expect(disk).toMatchObject({ complete: true, measuredAtMs: clock.now() });
    expect(memory).toMatchObject({ name: 'memory', medium: 'memory', usedBytes: 0, inodesUsed: 1 });
    expect(memory).not.toHaveProperty('limitBytes');
    expect(info).toMatchObject({ name: 'info', medium: 'memory', usedBytes: 4096 });
    expect(others).toEqual([]);
  });

  it('volume usage reads the mount table once per mount, and again after another mount has replaced it', async () => {
    const { mounter, usage } = await ready();
    const memory = `${VOLUMES}/kubernetes.io~empty-dir/memory`;
    await usage();
    const reads = vi.spyOn(mounter, 'mountPoints');
    expect(await usage()).toHaveLength(3);
    expect(reads).not.toHaveBeenCalled();
    await mounter.mount('x', memory, 'fuse.hang', []);
    expect((await usage()).map(({ name }) => name)).toEqual(['disk', 'info']);
    expect(reads).toHaveBeenCalledOnce();
  });

  it('reports no volume usage for a pod whose volumes are not ready', async () => {
    const { manager, signal } = setUp();
    expect(await manager.volumeUsage(POD, signal)).toEqual([]);
  });

  // Looking all volumes up for each volume would exceed the test's timeout.
  it('W6: reports the usage of a pod with many volumes in linear time', async () => {
    const { manager, signal } = setUp();
    const hostPaths = Array.from({ length: 16_000 }, (_, index) => ({
      name: `etc-${index}`,
      hostPath: { path: '/etc' },
    }));
    const pod = podOf([{ name: 'disk', emptyDir: {} }, ...hostPaths]);
    await manager.waitForAttachAndMount(pod, signal);
    expect((await manager.volumeUsage(pod, signal)).map(({ name }) => name)).toEqual(['disk']);
  });

  it('W6: a volume whose usage query hangs delays no other volume or operation, and is queried once for all callers', async () => {
    const { fs, clock, usage, manager, signal } = await ready();
    const hang = fs.injectFault({ code: 'EIO', path: `${VOLUMES}/kubernetes.io~empty-dir/disk`, hangs: true });
    const controller = new AbortController();
    const left = manager.volumeUsage(POD, controller.signal);
    const answers = [usage(), usage()];
    await clock.settle();
    expect(hang.hits).toBe(1);
    controller.abort(new Error('no time'));
    await expect(left).rejects.toThrow('no time');
    const other = podOf([{ name: 'scratch', emptyDir: {} }], 'u2');
    await manager.waitForAttachAndMount(other, signal);
    expect(await manager.volumeUsage(other, signal)).toHaveLength(1);
    hang.remove();
    for (const answer of answers) expect((await answer).map(({ name }) => name)).toEqual(['disk', 'memory', 'info']);
  });

  it('W6: the usage of a volume that is covered by another mount is not queried', async () => {
    const { fs, mounter, usage } = await ready();
    const disk = `${VOLUMES}/kubernetes.io~empty-dir/disk`;
    await mounter.mount('x', disk, 'fuse.hang', []);
    const hang = fs.injectFault({ code: 'EIO', path: disk, operation: 'readdir', hangs: true });
    expect((await usage()).map(({ name }) => name)).toEqual(['memory', 'info']);
    expect(hang.hits).toBe(0);
  });
});
