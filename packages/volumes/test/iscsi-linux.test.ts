import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const source = (path: string): string => fileURLToPath(new URL(`../src/${path}`, import.meta.url));
const IQN = 'iqn.2026-01.com.example:disk';

/**
 * An iscsiadm(8) whose only target is a loop device: a login makes a session in /sys, and a link in /dev/disk/by-path.
 */
const ISCSIADM = `#!/bin/sh
echo "$*" >> "$FAKE/calls"
session=/sys/class/iscsi_host/host7/device/session1
case "$*" in
  *"iface -I default -o show") echo "# BEGIN RECORD 2.1
iface.iscsi_ifacename = default
iface.transport_name = tcp
iface.initiatorname = <empty>
# END RECORD" ;;
  *"-p 192.0.2.9:"*"--login") echo "iscsiadm: connect to 192.0.2.9 timed out" >&2; exit 8 ;;
  *--login)
    mkdir -p $session/iscsi_session/session1 $session/connection1:0/iscsi_connection/connection1:0
    mkdir -p $session/target7:0:0/7:0:0:2/block/$(basename "$LOOP") /sys/class/scsi_host/host7 /sys/block /dev/disk/by-path
    mkdir -p /sys/block/$(basename "$LOOP")/device
    echo "${IQN}" > $session/iscsi_session/session1/targetname
    echo 192.0.2.1 > $session/connection1:0/iscsi_connection/connection1:0/address
    echo 3260 > $session/connection1:0/iscsi_connection/connection1:0/port
    ln -s "$LOOP" /dev/disk/by-path/ip-192.0.2.1:3260-iscsi-${IQN}-lun-2 ;;
  *--logout*)
    [ -e $session ] || exit 21
    rm -r $session /dev/disk/by-path/* ;;
esac
`;

/** Sets a volume up for two pods and tears it down, in a mount namespace with its own /sys and the fake tool. */
const PROGRAM = `
const { networkDiskPlugins } = await import('${source('disks/network-disk-plugins.ts')}');
const { DiskToolCommand } = await import('${source('disks/disk-tools.ts')}');
const { DiskCommand } = await import('${source('mount/disk-command.ts')}');
const { MountCommand } = await import('${source('mount/mount-command.ts')}');
const { PodPaths } = await import('${source('paths/pod-paths.ts')}');
const { systemClock: clock } = await import('@node-agent/async');
const { nodeFileSystem: fs, nodeForeignFiles } = await import('@node-agent/host');
const { readFile, writeFile } = await import('node:fs/promises');
const [root, portal] = process.argv.slice(-2);
const mounter = new MountCommand({ fs, clock });
const devices = new DiskCommand({ mounter, clock });
const foreignFiles = nodeForeignFiles({ clock });
const tools = new DiskToolCommand({ clock });
const paths = new PodPaths(root);
const [plugin] = networkDiskPlugins({ fs, foreignFiles, mounter, devices, paths, tools });
const { signal } = new AbortController();
const podOf = (uid) => ({ metadata: { uid, name: uid, namespace: 'default' }, spec: { containers: [] } });
const persistent = { metadata: { name: 'pv' }, spec: { iscsi: { targetPortal: portal, iqn: '${IQN}', lun: 2, fsType: 'ext4' } } };
const mounts = async () => (await readFile('/proc/self/mounts', 'utf8')).split('\\n').filter((line) => line.includes(root)).map((line) => line.split(' ').slice(1, 3).join(' '));
const told = {};
try {
  const volume = await plugin.resolve(podOf('u1'), { volume: { name: 'data' }, persistent }, signal);
  told.uniqueName = volume.node.uniqueName;
  await plugin.node.stage(volume.node, signal);
  await plugin.node.stage(volume.node, signal);
  const state = { isReconstructed: false };
  const one = await plugin.setUp(podOf('u1'), volume, {}, signal, state);
  const two = await plugin.setUp(podOf('u2'), volume, { fsGroup: { gid: 4321, policy: 'Always' } }, signal, state);
  await writeFile(one.hostPath + '/file', 'content');
  told.content = await readFile(two.hostPath + '/file', 'utf8');
  told.gid = (await fs.stat(two.hostPath)).gid;
  told.totalBytes = (await plugin.usage(two)).fileSystem.totalBytes;
  told.mounts = await mounts();
  const [known] = await plugin.node.staged();
  told.known = [known.uniqueName, (await plugin.node.reconstruct('u1', 'pv')).uniqueName];
  told.inUse = await plugin.node.unstage(volume.node, signal).catch((error) => error.message);
  for (const uid of ['u1', 'u2']) await plugin.tearDown(uid, 'pv', signal);
  await plugin.node.unstage(volume.node, signal);
  await plugin.node.unstage(volume.node, signal);
  told.left = [...(await mounts()), ...(await fs.readdir(root + '/plugins/kubernetes.io/iscsi/iface-default'))];
  told.deleted = await readFile('/sys/block/' + process.env.LOOP.slice(5) + '/device/delete', 'utf8');
  told.scanned = await readFile('/sys/class/scsi_host/host7/scan', 'utf8');
} catch (error) {
  told.error = error.message;
}
process.stdout.write(JSON.stringify(told));
process.exit();
`;

const canMount = process.platform === 'linux' && process.getuid?.() === 0;

describe.runIf(canMount)('iSCSI volumes with a fake iscsiadm and a loop device, in a mount namespace', () => {
  let directory: string;
  let loop = '';
  beforeEach(async (context) => {
    directory = await mkdtemp(join(tmpdir(), 'iscsi-'));
    for (const name of ['bin', 'dev-disk', 'kubelet']) await mkdir(join(directory, name));
    await writeFile(join(directory, 'bin/iscsiadm'), ISCSIADM, { mode: 0o755 });
    const image = join(directory, 'disk.img');
    await writeFile(image, '');
    await truncate(image, 16 << 20);
    try {
      loop = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8', stdio: 'pipe' }).trim();
    } catch (error) {
      context.skip(`no loop device: ${String(error)}`);
    }
  });
  afterEach(async () => {
    if (loop !== '') execFileSync('losetup', ['--detach', loop]);
    loop = '';
    await rm(directory, { recursive: true });
  });

  /** Runs {@link PROGRAM} in its namespace. @returns the output of the program, and the calls of the fake iscsiadm */
  async function run(portal: string) {
    // The namespace gets its own /sys and /dev with copies of what the program needs, so that the machine's are not
    // changed.
    const script = [
      'mkdir "$0/dev" && cp -a /dev/null /dev/zero /dev/random /dev/urandom /dev/loop-control "$LOOP" "$0/dev"',
      'ln -s /proc/self/fd "$0/dev/fd" && mount --bind "$0/dev" /dev',
      'mount -t tmpfs sys /sys',
      'exec "$1" --input-type=module -e "$2" "$3" "$4"',
    ].join(' && ');
    const args = [
      '--mount',
      'sh',
      '-c',
      script,
      directory,
      process.execPath,
      PROGRAM,
      join(directory, 'kubelet'),
      portal,
    ];
    const env = { ...process.env, FAKE: directory, LOOP: loop, PATH: `${directory}/bin:${process.env.PATH}` };
    const { stdout, stderr } = spawnSync('unshare', args, { env, timeout: 60_000, cwd: join(source('.'), '..') });
    if (`${stdout}` === '') throw new Error(`${stderr}`);
    const calls = await readFile(join(directory, 'calls'), 'utf8');
    return { told: JSON.parse(`${stdout}`) as Record<string, unknown>, calls: calls.trim().split('\n') };
  }

  it('V1, V4: iSCSI volumes with a fake iscsiadm and a loop device are formatted, mounted once for two pods, found on disk by the next kubelet, and leave nothing', async () => {
    const { told, calls } = await run('192.0.2.1');
    const root = join(directory, 'kubelet');
    const staged = `${root}/plugins/kubernetes.io/iscsi/iface-default/192.0.2.1:3260-${IQN}-lun-2`;
    const inPod = (uid: string): string => `${root}/pods/${uid}/volumes/kubernetes.io~iscsi/pv`;
    const uniqueName = `kubernetes.io/iscsi/192.0.2.1:${IQN}:2`;
    expect(told).toEqual({
      ...{ uniqueName, content: 'content', gid: 4321, totalBytes: expect.any(Number) },
      mounts: [`${staged} ext4`, `${inPod('u1')} ext4`, `${inPod('u2')} ext4`],
      known: [uniqueName, uniqueName],
      inUse: `${staged} is still mounted at ${inPod('u1')}, ${inPod('u2')}`,
      ...{ left: [], deleted: '1', scanned: '0 0 2' },
    });
    expect(calls.filter((call) => /--log(in|out)/.test(call))).toEqual([
      `-m node -p 192.0.2.1:3260 -T ${IQN} -I default --login`,
      `-m node -p 192.0.2.1:3260 -T ${IQN} --logout -I default`,
    ]);
  });

  it('the mount error of an iSCSI volume has the reason that iscsiadm printed if the login fails', async () => {
    const { told } = await run('192.0.2.9');
    expect(told.error).toMatch(
      /failed to attach disk: Error: iscsiadm: connect to 192\.0\.2\.9 timed out \(exit status 8\)/,
    );
  });
});
