import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { claim } from './claim.ts';
import { run } from './run.ts';

/**
 * Directories that kubelets use on a machine: plugin sockets, logs and CNI's addresses. Inside the namespaces, each run
 * has its own.
 */
const OWN_DIRECTORIES = [
  '/var/lib/kubelet',
  '/var/log/pods',
  '/var/log/containers',
  '/var/lib/cni',
  '/etc/kubernetes',
  // Specs read the runtime's configuration from this directory.
  '/etc/containerd',
] as const;

/**
 * Runs a program of this package in its own PID, mount, network and cgroup namespaces. All its child processes, mounts,
 * ports, network links, firewall rules and cgroups belong to the namespaces and end with them. The end of its standard
 * input requests the program to stop.
 * @param groups directories of the cgroup that is the root cgroup inside, one per hierarchy
 */
export function startInside(program: string, args: readonly string[], groups: readonly string[]): ChildProcess {
  const namespaces = ['--net', '--mount', '--propagation=private', '--cgroup', '--pid', '--fork', '--mount-proc'];
  const words = [
    ...['unshare', ...namespaces, '--kill-child=SIGKILL'],
    // The namespace's first process is a shell that waits for the program and for orphaned processes.
    ...['sh', '-c', '"$@"; exit $?', 'sh', process.execPath],
    ...process.execArgv,
    fileURLToPath(new URL(program, import.meta.url)),
    ...args,
  ];
  const join = 'for group in $1; do echo $$ > $group/cgroup.procs || exit 1; done; shift; exec "$@"';
  return spawn('sh', ['-c', join, 'sh', groups.join(' '), ...words], {
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
  });
}

/** Mounted cgroup file system. */
export interface CgroupMount {
  readonly type: string;
  readonly options: string;
  readonly target: string;
}

/** Returns the cgroup file systems in `/proc/self/mountinfo`. */
export function cgroupMounts(mountinfo: string): readonly CgroupMount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [type = '', , options = ''] = after.split(' ');
    const target = before.split(' ')[4];
    if (target === undefined || (type !== 'cgroup' && type !== 'cgroup2')) return [];
    return [{ type, options: options.replace(/^r[wo],?/, ''), target }];
  });
}

/** Mounts the cgroup file systems again, so that only the cgroups of the namespace are visible. */
async function remountCgroups(): Promise<void> {
  for (const { type, options, target } of cgroupMounts(await readFile('/proc/self/mountinfo', 'utf8'))) {
    await run('umount', [target]);
    await run('mount', ['-t', type, ...(options === '' ? [] : ['-o', options]), 'cgroup', target]);
    // cgroup v2 enables no controllers for the children of a cgroup that contains processes itself.
    if (type !== 'cgroup2' || target !== '/sys/fs/cgroup') continue;
    await mkdir(`${target}/init`);
    for (const pid of (await readFile(`${target}/cgroup.procs`, 'utf8')).split('\n')) {
      if (pid !== '' && pid !== '0') await writeFile(`${target}/init/cgroup.procs`, pid);
    }
  }
}

/** Prefix of the run directories in `/tmp`. */
const RUN_PREFIX = 'na-conf-';

/** Directory of a run, with a function that releases its reservation after the directory is removed. */
export interface RunDirectory {
  readonly name: string;
  giveBack(): Promise<void>;
}

/**
 * Creates a run's directory. Its path is reserved before it is created, so that no other command mistakes it for a
 * leftover.
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
 * Returns whether a cgroup or one of its descendants contains a process. Returns true if a cgroup cannot be read,
 * because it may be changing.
 */
export async function hasProcesses(groups: readonly string[]): Promise<boolean> {
  for (const group of groups) {
    const files = await readdir(group, { recursive: true }).catch(() => undefined);
    if (files === undefined) return true;
    for (const file of files) {
      if (!/(^|\/)cgroup\.procs$/.test(file)) continue;
      // The cgroup may be removed while it is read.
      if ((await readFile(`${group}/${file}`, 'utf8').catch(() => '')) !== '') return true;
    }
  }
  return false;
}

/** Creates the missing mount points for the directories that each run has of its own. @returns the created paths */
export async function makeMountPoints(): Promise<readonly string[]> {
  const made: string[] = [];
  for (const path of OWN_DIRECTORIES) {
    // `mkdir` returns the first directory that it had to create.
    const first = await mkdir(path, { recursive: true });
    if (first !== undefined) made.push(path);
  }
  return made;
}

/**
 * Removes empty directories that {@link makeMountPoints} created. Removes none while a run of another command exists,
 * because that run would lose its mounts on them.
 */
export async function removeMountPoints(paths: readonly string[]): Promise<void> {
  if ((await readdir('/tmp')).some((name) => name.startsWith(RUN_PREFIX))) return;
  for (const path of paths) await rmdir(path).catch(() => {});
}

/**
 * Size of the run's file system, more than the specs fill in addition to images. Its sparse file grows only as data is
 * written.
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
  for (const path of OWN_DIRECTORIES) {
    const own = `${directory}/own${path}`;
    await mkdir(own, { recursive: true });
    await run('mount', ['--bind', own, path]);
  }
  await run('ip', ['link', 'set', 'lo', 'up']);
  // Link with the node's address, for pods and the API server.
  await run('ip', ['link', 'add', 'node0', 'type', 'bridge']);
  await run('ip', ['address', 'add', `${nodeAddress}/32`, 'dev', 'node0']);
  await run('ip', ['link', 'set', 'node0', 'up']);
  // Programs determine their address from the default route. The route leads nowhere.
  await run('ip', ['route', 'add', 'default', 'dev', 'node0', 'src', nodeAddress]);
  // The cluster DNS is the only name server. It refuses other names immediately, because the machine's name servers
  // cannot be reached.
  const resolvConf = `${directory}/own/resolv.conf`;
  await writeFile(resolvConf, `nameserver ${nodeAddress}\n`);
  await run('mount', ['--bind', resolvConf, '/etc/resolv.conf']);
  await run('sysctl', ['-q', '-w', 'net.ipv4.ip_forward=1']);
  // Packets between pods by way of a service address must pass the firewall rules in both directions, even if both pods
  // are on the same bridge.
  await run('modprobe', ['br_netfilter']).catch(() => '');
  await run('sysctl', ['-q', '-w', 'net.bridge.bridge-nf-call-iptables=1']);
}
