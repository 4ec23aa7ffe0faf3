import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { systemClock } from '@node-agent/async';
import { nodeFileSystem as fs } from '@node-agent/host';
import { describe, expect, it } from 'vitest';
import { BlockMapper } from '../src/block/block-mapper.ts';
import { LoopCommand, MountCommand } from '../src/index.ts';

const run = (command: string, ...args: readonly string[]): string => execFileSync(command, args).toString().trim();
const { signal } = new AbortController();

/**
 * Returns a loop device that is used like a disk; `undefined` if this machine does not allow loop devices and mounts.
 */
async function makeDisk() {
  const root = await mkdtemp('/tmp/block-');
  try {
    await writeFile(`${root}/image`, '');
    await truncate(`${root}/image`, 8 << 20);
    const device = run('losetup', '-f', '--show', `${root}/image`);
    return { root, device, remove: () => run('losetup', '-d', device) };
  } catch {
    await rm(root, { recursive: true });
    return undefined;
  }
}
const disk = await makeDisk();

describe.skipIf(disk === undefined)('block devices of this machine', () => {
  it('V1: a block device of this machine is mapped once, held open by a loop device, counts as in use, and is unmapped completely', async () => {
    if (disk === undefined) return;
    const { root, device } = disk;
    const loops = new LoopCommand({ fs, clock: systemClock });
    const mapper = new BlockMapper({ fs, mounter: new MountCommand({ fs, clock: systemClock }), loops });
    const at = { mapDir: `${root}/dev`, podUid: 'u1', podLink: `${root}/pod/link` };
    try {
      await mapper.link(at, device);
      for (const _again of [1, 2]) await mapper.map(device, at, signal);
      expect(await loops.find(`${root}/dev/u1`)).toMatch(/^\/dev\/loop\d+$/);
      expect([await fs.readlink(at.podLink), (await fs.lstat(`${root}/dev/u1`)).kind]).toEqual([device, 'blockDevice']);
      await expect(mapper.checkUnused(at.mapDir)).rejects.toThrow(
        `is still referenced from other Pods [${root}/dev/u1]`,
      );
      for (const _again of [1, 2]) await mapper.unmap(at, signal);
      await mapper.unlink(at);
      await mapper.checkUnused(at.mapDir);
      expect([await loops.find(`${root}/dev/u1`), await fs.readdir(at.mapDir)]).toEqual([undefined, []]);
    } finally {
      disk.remove();
      await rm(root, { recursive: true });
    }
  });
});
