import { mkdir, open, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './machine.ts';

/** Directory that the NFS server exports. */
export const EXPORT = '/srv/nfs';
/** Address of the NFS server at which the client uses the newest version, 4.2. */
export const NEWEST = '127.0.0.1';
/** Address of the same NFS server at which the client's configuration demands version 3. */
export const VERSION_3 = '127.0.0.2';
/** The iSCSI target and its portal. */
export const IQN = 'iqn.2026-01.local.node-agent:disks';
export const PORTAL = '127.0.0.1:3260';

const CONFIGFS = '/sys/kernel/config';
const TARGET = join(CONFIGFS, 'target');
const DISK_BYTES = 64 * 1024 ** 2;

/**
 * Starts the NFS server of this machine, on loopback, for the versions 4.2 and 3. The daemons are started directly,
 * because systemd needs many seconds for their units in an emulated machine.
 */
export async function startNfsServer(): Promise<void> {
  await mkdir(EXPORT, { recursive: true });
  // A volume cannot choose the version without a PersistentVolume, so the client's configuration chooses it.
  await writeFile('/etc/nfsmount.conf', `[ Server "${VERSION_3}" ]\nNfsvers=3\n`);
  await run('modprobe', '-a', 'nfs', 'nfsd');
  await run('mount', '-t', 'nfsd', 'nfsd', '/proc/fs/nfsd');
  await run('rpcbind', '-w');
  await run('exportfs', '-o', 'rw,no_root_squash,insecure,no_subtree_check', `127.0.0.0/8:${EXPORT}`);
  await run('rpc.mountd');
  await run('rpc.statd', '--no-notify');
  await continueNfs();
}

/** Starts the server's kernel threads. */
export async function continueNfs(): Promise<void> {
  // Clients cannot open files before the grace period has passed. 10 s is the minimum; the default is 90 s.
  await run('rpc.nfsd', '--grace-time', '10', '--lease-time', '10', '2');
}

/** Stops the server's kernel threads: the server refuses connections, and requests of clients wait. */
export async function stopNfs(): Promise<void> {
  await run('rpc.nfsd', '0');
}

/**
 * Starts udev, which makes the links to disks, and the kernel's iSCSI target with two disks: LUN 0 is empty, LUN 1 has
 * an ext4 file system.
 */
export async function startIscsiTarget(): Promise<void> {
  await run('/usr/lib/systemd/systemd-udevd', '--daemon');
  await run('modprobe', '-a', 'iscsi_tcp', 'sd_mod', 'target_core_mod', 'target_core_file', 'iscsi_target_mod');
  await run('mount', '-t', 'configfs', 'configfs', CONFIGFS);
  const group = join(TARGET, 'iscsi', IQN, 'tpgt_1');
  // The directory `iscsi` must exist before any directory in it is made: its creation makes the iSCSI module known.
  await mkdir(join(TARGET, 'iscsi'), { recursive: true });
  for (const lun of [0, 1]) {
    const file = `/srv/disk-${lun}`;
    const handle = await open(file, 'w');
    await handle.truncate(DISK_BYTES);
    await handle.close();
    if (lun === 1) await run('mkfs.ext4', '-q', '-F', file);
    const backing = join(TARGET, `core/fileio_${lun}/disk-${lun}`);
    await mkdir(backing, { recursive: true });
    await writeFile(join(backing, 'control'), `fd_dev_name=${file},fd_dev_size=${DISK_BYTES}`);
    await writeFile(join(backing, 'enable'), '1');
    await mkdir(join(group, `lun/lun_${lun}`), { recursive: true });
    await symlink(backing, join(group, `lun/lun_${lun}/disk`));
  }
  await mkdir(join(group, 'np', PORTAL), { recursive: true });
  // Every initiator may use the target.
  for (const [name, value] of [
    ['authentication', '0'],
    ['generate_node_acls', '1'],
    ['demo_mode_write_protect', '0'],
  ] as const) {
    await writeFile(join(group, 'attrib', name), value);
  }
  await writeFile(join(group, 'enable'), '1');
}

/** Objects that the iSCSI initiator has on this machine. */
export interface InitiatorState {
  /** Sessions, as iscsiadm lists them. */
  readonly sessions: readonly string[];
  /** Records of targets, which outlive a reboot. */
  readonly nodes: readonly string[];
  /** Block devices of SCSI disks. */
  readonly disks: readonly string[];
}

export async function initiatorState(): Promise<InitiatorState> {
  const names = await readdir('/sys/block');
  return {
    sessions: await listed('session'),
    nodes: await listed('node'),
    disks: names.filter((name) => name.startsWith('sd')),
  };
}

/** Exit code of iscsiadm if there is nothing to list. */
const NO_OBJECTS_FOUND = 21;

async function listed(mode: 'session' | 'node'): Promise<readonly string[]> {
  try {
    return (await run('iscsiadm', '-m', mode)).split('\n');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === NO_OBJECTS_FOUND) return [];
    throw error;
  }
}
