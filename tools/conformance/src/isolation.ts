import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { claim } from './claim.ts';
import { run } from './run.ts';

/**
 * Where kubelets keep what is the machine's by contract: plugins' sockets, logs, and networks' addresses. In here each is the
 * run's own.
 */
const OWN_DIRECTORIES = [
  '/var/lib/kubelet',
  '/var/log/pods',
  '/var/log/containers',
  '/var/lib/cni',
  '/etc/kubernetes',
  // Specs look in it for what the runtime can.
  '/etc/containerd',
] as const;

/**
 * Runs a program of this package in namespaces of its own for processes, mounts, network and cgroups: whatever it starts ends with
 * it, whatever it mounts and whatever ports, links, rules and groups it makes are its own. It is told to end by the end of its input.
 * @param groups directories of the cgroup, one for each hierarchy, that is the root of all groups inside
 */
export function startInside(program: string, args: readonly string[], groups: readonly string[]): ChildProcess {
  const namespaces = ['--net', '--mount', '--propagation=private', '--cgroup', '--pid', '--fork', '--mount-proc'];
  const words = [
    ...['unshare', ...namespaces, '--kill-child=SIGKILL'],
    // The first process is one that waits for whatever is left to it.
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

/** A file system of cgroups that is mounted somewhere. */
export interface CgroupMount {
  readonly type: string;
  readonly options: string;
  readonly target: string;
}

/** The cgroup file systems in `/proc/self/mountinfo`. */
export function cgroupMounts(mountinfo: string): readonly CgroupMount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [type = '', , options = ''] = after.split(' ');
    const target = before.split(' ')[4];
    if (target === undefined || (type !== 'cgroup' && type !== 'cgroup2')) return [];
    return [{ type, options: options.replace(/^r[wo],?/, ''), target }];
  });
}

/** Mounts the groups anew, so that none is seen but those inside. */
async function remountCgroups(): Promise<void> {
  for (const { type, options, target } of cgroupMounts(await readFile('/proc/self/mountinfo', 'utf8'))) {
    await run('umount', [target]);
    await run('mount', ['-t', type, ...(options === '' ? [] : ['-o', options]), 'cgroup', target]);
    // Version 2 gives no controllers to the children of a group that has processes itself.
    if (type !== 'cgroup2' || target !== '/sys/fs/cgroup') continue;
    await mkdir(`${target}/init`);
    for (const pid of (await readFile(`${target}/cgroup.procs`, 'utf8')).split('\n')) {
      if (pid !== '' && pid !== '0') await writeFile(`${target}/init/cgroup.procs`, pid);
    }
  }
}

/** What the name of each run's directory in `/tmp` begins with. */
const RUN_PREFIX = 'na-conf-';

/** A run's own directory, and what gives it back when it is gone. */
export interface RunDirectory {
  readonly name: string;
  giveBack(): Promise<void>;
}

/** Makes a run's directory. It is kept for this process before it is there: none takes it for one that was left. */
export async function makeRunDirectory(parent: string): Promise<RunDirectory> {
  const name = `${RUN_PREFIX}${randomBytes(4).toString('hex')}`;
  const giveBack = await claim(`${parent}/${name}`);
  if (giveBack === undefined) throw new Error(`${parent}/${name} is another run's`);
  await mkdir(`${parent}/${name}`, { mode: 0o700 });
  return { name, giveBack };
}

/** Hands over, one by one, the directories of runs whose commands were killed: those that nobody keeps. */
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

/** Whether a process is in any of some groups, or below; also where that cannot be told, for they change. */
export async function hasProcesses(groups: readonly string[]): Promise<boolean> {
  for (const group of groups) {
    const files = await readdir(group, { recursive: true }).catch(() => undefined);
    if (files === undefined) return true;
    for (const file of files) {
      if (!/(^|\/)cgroup\.procs$/.test(file)) continue;
      // It may go while it is looked at.
      if ((await readFile(`${group}/${file}`, 'utf8').catch(() => '')) !== '') return true;
    }
  }
  return false;
}

/** Makes the directories that those inside get of their own, where the machine has not got them; resolves with what was made. */
export async function makeMountPoints(): Promise<readonly string[]> {
  const made: string[] = [];
  for (const path of OWN_DIRECTORIES) {
    // The first directory that had to be made, of all that a path names.
    const first = await mkdir(path, { recursive: true });
    if (first !== undefined) made.push(path);
  }
  return made;
}

/**
 * Takes away directories of {@link makeMountPoints} that are empty; none while another command's run is there, which would lose
 * what it has mounted on them.
 */
export async function removeMountPoints(paths: readonly string[]): Promise<void> {
  if ((await readdir('/tmp')).some((name) => name.startsWith(RUN_PREFIX))) return;
  for (const path of paths) await rmdir(path).catch(() => {});
}

/** More than specs fill, beside images: the file that holds it grows only as it is written to. */
const OWN_DISK = '24G';

/**
 * Puts a file system of its own over a directory that those inside have: what fills it fills nobody else's. It and its device go
 * with the namespace of mounts, and the file that holds it with the directory.
 */
export async function mountOwnDisk(directory: string): Promise<void> {
  const file = `${directory}/disk`;
  await run('truncate', ['-s', OWN_DISK, file]);
  await run('mkfs.ext4', ['-q', '-m', '0', file]);
  await run('mount', ['-o', 'loop,discard', file, directory]);
}

/** What those inside do first: mounts that propagate, as containers may ask for, directories of their own, and a network. */
export async function prepareInside(directory: string, nodeAddress: string): Promise<void> {
  await remountCgroups();
  await run('mount', ['--make-rshared', '/']);
  for (const path of OWN_DIRECTORIES) {
    const own = `${directory}/own${path}`;
    await mkdir(own, { recursive: true });
    await run('mount', ['--bind', own, path]);
  }
  await run('ip', ['link', 'set', 'lo', 'up']);
  // A link with an address that pods and the API server reach the node by.
  await run('ip', ['link', 'add', 'node0', 'type', 'bridge']);
  await run('ip', ['address', 'add', `${nodeAddress}/32`, 'dev', 'node0']);
  await run('ip', ['link', 'set', 'node0', 'up']);
  // Programs look for the address that others reach them by where the default route leads. There is nobody there.
  await run('ip', ['route', 'add', 'default', 'dev', 'node0', 'src', nodeAddress]);
  // Names are asked for here, and those of others refused at once: the machine's own servers are not to be reached.
  const resolvConf = `${directory}/own/resolv.conf`;
  await writeFile(resolvConf, `nameserver ${nodeAddress}\n`);
  await run('mount', ['--bind', resolvConf, '/etc/resolv.conf']);
  await run('sysctl', ['-q', '-w', 'net.ipv4.ip_forward=1']);
  // What one pod sends to another by a service's address comes back through the rules that sent it there, bridge or not.
  await run('modprobe', ['br_netfilter']).catch(() => '');
  await run('sysctl', ['-q', '-w', 'net.bridge.bridge-nf-call-iptables=1']);
}
