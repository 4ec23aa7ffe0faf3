import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const canMount = process.platform === 'linux' && process.getuid?.() === 0;
const source = (path: string): string => fileURLToPath(new URL(`../src/${path}`, import.meta.url));

/**
 * A helper program as mount(8) calls it: `mount.nfs SOURCE TARGET -o OPTIONS`. The helper mounts a directory of this
 * machine.
 */
const HELPER = `#!/bin/sh
echo "$@" >> "$FAKE_NFS/calls"
case "$1" in
  hung:*) echo $$ > "$FAKE_NFS/pid"; exec sleep 600 ;;
  denied:*) echo "mount.nfs: access denied by server while mounting $1" >&2; exit 32 ;;
esac
exec mount -i -t tmpfs "$1" "$2"
`;

/** Sets a volume up and tears it down in a mount namespace of its own, in which the fake helper is installed. */
const PROGRAM = `
const { NfsPlugin } = await import('${source('network/nfs-plugin.ts')}');
const { MountCommand } = await import('${source('mount/mount-command.ts')}');
const { PodPaths } = await import('${source('paths/pod-paths.ts')}');
const { systemClock } = await import('@node-agent/async');
const { nodeFileSystem: fs, nodeForeignFiles } = await import('@node-agent/host');
const { readFile } = await import('node:fs/promises');
const [root, server] = process.argv.slice(-2);
const mounter = new MountCommand({ fs, clock: systemClock }, { deadlineMs: 1000, killsChildren: true });
const paths = new PodPaths(root);
const plugin = new NfsPlugin({ fs, foreignFiles: nodeForeignFiles({ clock: systemClock }), mounter, paths });
const { signal } = new AbortController();
const pod = { metadata: { uid: 'u1', name: 'p', namespace: 'default' }, spec: { containers: [] } };
const persistent = { metadata: { name: 'pv' }, spec: { nfs: { server, path: '/export' }, mountOptions: ['nolock'] } };
const volume = { volume: { name: 'data' }, persistent, readOnly: true, directoryName: 'pv' };
const mounts = async () => (await readFile('/proc/self/mounts', 'utf8')).split('\\n').filter((line) => line.includes(root));
const told = {};
try {
  told.hostPath = (await plugin.setUp(pod, volume, {}, signal)).hostPath;
  told.mounted = await mounts();
  told.usage = (await plugin.usage({ hostPath: told.hostPath })).fileSystem.totalBytes > 0;
} catch (error) {
  told.error = error.message;
}
await plugin.tearDown('u1', 'pv', signal);
told.left = [...(await mounts()), ...(await fs.readdir(root + '/pods/u1/volumes/kubernetes.io~nfs'))];
process.stdout.write(JSON.stringify(told));
process.exit();
`;

describe.runIf(canMount)('NFS volumes with mount(8) and a fake mount.nfs, in a mount namespace', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nfs-'));
    await mkdir(join(directory, 'sbin'));
    await writeFile(join(directory, 'sbin/mount.nfs'), HELPER, { mode: 0o755 });
    await mkdir(join(directory, 'kubelet'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** Runs {@link PROGRAM} in its namespace. @returns the output of the program, and the calls of the fake mount.nfs */
  async function run(server: string) {
    const script = 'mount --bind "$0/sbin" "$(readlink -f /sbin)" && exec "$1" --input-type=module -e "$2" "$3" "$4"';
    const root = join(directory, 'kubelet');
    const args = ['--mount', 'sh', '-c', script, directory, process.execPath, PROGRAM, root, server];
    const env = { ...process.env, FAKE_NFS: directory };
    const { stdout, stderr } = spawnSync('unshare', args, { env, timeout: 30_000, cwd: join(source('.'), '..') });
    if (`${stdout}` === '') throw new Error(`${stderr}`);
    const calls = (await readFile(join(directory, 'calls'), 'utf8').catch(() => '')).trim();
    return {
      told: JSON.parse(`${stdout}`) as Record<string, unknown>,
      calls,
      at: `${root}/pods/u1/volumes/kubernetes.io~nfs/pv`,
    };
  }

  it('an NFS volume is mounted by mount.nfs with source, path and options, is measured, and leaves no mount', async () => {
    const { told, calls, at } = await run('server');
    expect(calls).toBe(`server:/export ${at} -o ro,nolock`);
    expect(told).toEqual({
      ...{ hostPath: at, usage: true, left: [] },
      mounted: [expect.stringContaining(`server:/export ${at} tmpfs`)],
    });
  });

  it('an NFS volume that cannot be mounted fails with the message of mount.nfs', async () => {
    const { told } = await run('denied');
    expect(told).toEqual({ error: expect.stringContaining('access denied by server while mounting'), left: [] });
  });

  it('W6: a mount of an NFS volume that exceeds its deadline is ended by killing mount(8) and mount.nfs', async () => {
    const { told } = await run('hung');
    expect(told).toEqual({ error: expect.stringContaining('did not finish within 1 s'), left: [] });
    const pid = (await readFile(join(directory, 'pid'), 'utf8')).trim();
    while (existsSync(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 10));
  });
});
