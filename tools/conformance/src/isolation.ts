import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises';
import { bindOwnDirectories, remountCgroups } from '@node-agent/tools-isolation';
import { claim } from './claim.ts';
import { run } from './run.ts';

/**
 * Directories that kubelets use on a machine: plugin sockets, logs and CNI's addresses. Inside the namespaces, each run
 * has its own.
 */
export const OWN_DIRECTORIES = [
  '/var/lib/kubelet',
  '/var/log/pods',
  '/var/log/containers',
  '/var/lib/cni',
  '/etc/kubernetes',
  // Specs read the runtime's configuration from this directory.
  '/etc/containerd',
  // Volumes of the host path driver, in upstream's manifest.
  '/var/lib/csi-hostpath-data',
  // DRA drivers write the descriptions of their devices to this directory.
  '/var/run/cdi',
] as const;

/** Prefix of the run directories in `/tmp`. */
const RUN_PREFIX = 'na-conf-';

/** Directory of a run, with a function that releases its reservation after the directory is removed. */
export interface RunDirectory {
  readonly name: string;
  giveBack(): Promise<void>;
}

/**
 * Creates a run's directory. The path is reserved before the directory is created, so that no other command removes the
 * directory as one of a killed run.
 */
export async function makeRunDirectory(parent: string): Promise<RunDirectory> {
  const name = `${RUN_PREFIX}${randomBytes(4).toString('hex')}`;
  const giveBack = await claim(`${parent}/${name}`);
  if (giveBack === undefined) throw new Error(`create run directory: ${parent}/${name} belongs to another run`);
  await mkdir(`${parent}/${name}`, { mode: 0o700 });
  return { name, giveBack };
}

/**
 * Calls `take` for each directory of a run whose command was killed: these directories are not reserved by any process.
 */
export async function forLeftRuns(parent: string, take: (name: string) => Promise<void>): Promise<void> {
  for (const name of (await readdir(parent)).filter((one) => one.startsWith(RUN_PREFIX))) {
    const giveBack = await claim(`${parent}/${name}`);
    if (giveBack === undefined) continue;
    try {
      await take(name);
    } finally {
      await giveBack();
    }
  }
}

/**
 * Removes empty directories that were created as mount points. Removes none while a run of another command exists,
 * because that run would lose its mounts on them.
 */
export async function removeMountPoints(paths: readonly string[]): Promise<void> {
  if ((await readdir('/tmp')).some((name) => name.startsWith(RUN_PREFIX))) return;
  for (const path of paths) await rmdir(path).catch(() => {});
}

/**
 * Size of the run's file system, more than the specs fill in addition to images. The sparse file of the file system
 * grows only as data is written.
 */
const OWN_DISK = '24G';

/**
 * Mounts a separate file system on a run's directory, so that specs that fill the disk do not fill the machine's. The
 * mount and its loop device end with the mount namespace; the file is removed with the directory.
 */
export async function mountOwnDisk(directory: string): Promise<void> {
  const file = `${directory}/disk`;
  await run('truncate', ['-s', OWN_DISK, file]);
  await run('mkfs.ext4', ['-q', '-m', '0', file]);
  await run('mount', ['-o', 'loop,discard', file, directory]);
}

/**
 * Prepares the namespaces: shared mount propagation, which containers may request, the run's own directories, and a
 * network.
 */
export async function prepareInside(directory: string, nodeAddress: string): Promise<void> {
  await remountCgroups();
  await run('mount', ['--make-rshared', '/']);
  await bindOwnDirectories(OWN_DIRECTORIES, `${directory}/own`);
  await prepareNetwork(nodeAddress);
  // The cluster DNS is the only name server. The cluster DNS refuses other names immediately, because the machine's
  // name servers cannot be reached.
  const resolvConf = `${directory}/own/resolv.conf`;
  await writeFile(resolvConf, `nameserver ${nodeAddress}\n`);
  await run('mount', ['--bind', resolvConf, '/etc/resolv.conf']);
}

/** Prepares the network of a node that can reach only itself and its pods. */
export async function prepareNetwork(nodeAddress: string): Promise<void> {
  await run('ip', ['link', 'set', 'lo', 'up']);
  // Link with the node's address, for pods and the API server.
  await run('ip', ['link', 'add', 'node0', 'type', 'bridge']);
  await run('ip', ['address', 'add', `${nodeAddress}/32`, 'dev', 'node0']);
  await run('ip', ['link', 'set', 'node0', 'up']);
  // Programs determine their address from the default route. The route leads nowhere.
  await run('ip', ['route', 'add', 'default', 'dev', 'node0', 'src', nodeAddress]);
  await run('sysctl', ['-q', '-w', 'net.ipv4.ip_forward=1']);
  // Packets between pods by way of a service address must pass the firewall rules in both directions, even if both pods
  // are on the same bridge.
  await run('modprobe', ['br_netfilter']).catch(() => '');
  await run('sysctl', ['-q', '-w', 'net.bridge.bridge-nf-call-iptables=1']);
}
