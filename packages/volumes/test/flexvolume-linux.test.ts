import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { nodeFileSystem as fs, nodeForeignFiles } from '@node-agent/host';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FlexVolumePlugins } from '../src/flexvolume/flex-plugins.ts';
import { FlexVolumeCommand } from '../src/flexvolume/flex-programs.ts';
import { VolumeManager } from '../src/manager/volume-manager.ts';
import { MountCommand } from '../src/mount/mount-command.ts';
import { mountPointsWithin } from '../src/mount/mounter.ts';
import { PodPaths } from '../src/paths/pod-paths.ts';
import { errorOf, podOf } from './helpers.ts';

/** Driver program that mounts a tmpfs, written in the usual form of flexVolume drivers. */
const DRIVER = `#!/bin/sh
echo "$*" >> "$(dirname "$0")/calls"
case "$1" in
  init) echo '{"status": "Success", "capabilities": {"attach": false, "supportsMetrics": true}}' ;;
  mount)
    case "$3" in
      *'"share":"hung"'*) echo $$ > "$(dirname "$0")/pid"; sleep 600 ;;
      *'"share":"bad"'*) echo '{
        "status": "Failure",
        "message": "share \\"bad\\" does not exist"
      }'; exit 1 ;;
    esac
    mount -t tmpfs flex "$2" && echo "$3" > "$2/options" && echo '{"status": "Success"}' ;;
  unmount) umount "$2" && rmdir "$2" && echo '{"status": "Success"}' ;;
  *) echo '{"status": "Not supported"}'; exit 1 ;;
esac
`;

const canMount = process.platform === 'linux' && process.getuid?.() === 0;
const { signal } = new AbortController();

describe.runIf(canMount)('flexVolumes with a real driver program', () => {
  let root: string;
  let driverDir: string;
  const mounter = new MountCommand({ fs, clock: systemClock });

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'flex-'));
    driverDir = join(root, 'exec/example.com~share');
    await mkdir(driverDir, { recursive: true });
    await writeFile(join(driverDir, 'share'), DRIVER, { mode: 0o755 });
  });
  afterEach(async () => {
    for (const point of await mountPointsWithin({ fs, mounter }, root)) execFileSync('umount', ['--lazy', point]);
    await rm(root, { recursive: true });
  });

  function makeManager(): VolumeManager {
    const paths = new PodPaths(join(root, 'kubelet'));
    const foreignFiles = nodeForeignFiles({ clock: systemClock });
    const programs = new FlexVolumeCommand({ clock: systemClock }, { deadlineMs: 1_000 });
    const morePlugins = new FlexVolumePlugins(
      { fs, foreignFiles, mounter, paths, programs },
      { directory: join(root, 'exec') },
    );
    return new VolumeManager({ fs, foreignFiles, mounter, paths, plugins: [], morePlugins });
  }
  const podWith = (share: string, uid: string) =>
    podOf([{ name: 'data', flexVolume: { driver: 'example.com/share', options: { share } } }], uid);
  const calls = async (): Promise<readonly string[]> =>
    (await readFile(join(driverDir, 'calls'), 'utf8')).trim().split('\n');

  it('flexVolumes are mounted and unmounted by a real driver program, and measured', async () => {
    const manager = makeManager();
    const pod = podWith("it's", 'u1');
    await manager.waitForAttachAndMount(pod, signal);
    const path = manager.volumePath(pod, 'data') ?? '';
    expect(path).toBe(join(root, 'kubelet/pods/u1/volumes/example.com~share/data'));
    expect(JSON.parse(await readFile(join(path, 'options'), 'utf8'))).toMatchObject({ share: "it's" });
    expect((await manager.volumeUsage(pod, signal))[0]?.fileSystem.totalBytes).toBeGreaterThan(0);
    await manager.waitForUnmount(pod, signal);
    expect(await mountPointsWithin({ fs, mounter }, root)).toEqual([]);
    expect(await readdir(join(root, 'kubelet/pods/u1/volumes/example.com~share'))).toEqual([]);
    expect((await calls()).map((call) => call.split(' ')[0])).toEqual(['init', 'mount', 'unmount']);
  });

  it("the error of a failed flexVolume driver has the driver's reason, also if it has several lines", async () => {
    const { message } = await errorOf(makeManager().waitForAttachAndMount(podWith('bad', 'u1'), signal));
    expect(message).toContain('mount command failed, status: Failure, reason: share "bad" does not exist');
  });

  it('W6: a flexVolume driver that does not mount in time delays no other pod, and is killed with its child processes', async () => {
    const manager = makeManager();
    const hung = errorOf(manager.waitForAttachAndMount(podWith('hung', 'u1'), signal));
    await manager.waitForAttachAndMount(podWith('a', 'u2'), signal);
    expect((await hung).message).toContain('mount of flexVolume driver example.com/share: did not finish within 1 s');
    const pid = (await readFile(join(driverDir, 'pid'), 'utf8')).trim();
    const children = `/proc/${pid}/task/${pid}/children`;
    while (existsSync(children)) await new Promise((resolve) => setTimeout(resolve, 10));
    await manager.waitForUnmount(podWith('a', 'u2'), signal);
  });
});
