import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
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
 * Runs a program of this package in namespaces of its own for processes, mounts and network: whatever it starts ends with
 * it, whatever it mounts and whatever ports, links and rules it makes are its own. It is told to end by the end of its input.
 */
export function startInside(program: string, args: readonly string[]): ChildProcess {
  return spawn(
    'unshare',
    [
      ...['--net', '--mount', '--propagation=private', '--pid', '--fork', '--mount-proc', '--kill-child=SIGKILL'],
      // The first process is one that waits for whatever is left to it.
      ...['sh', '-c', '"$@"; exit $?', 'sh', process.execPath],
      ...process.execArgv,
      fileURLToPath(new URL(program, import.meta.url)),
      ...args,
    ],
    { stdio: ['pipe', 'inherit', 'inherit'], detached: true },
  );
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

/** Takes away directories of {@link makeMountPoints} that are empty. */
export async function removeMountPoints(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rmdir(path).catch(() => {});
}

/** What those inside do first: mounts that propagate, as containers may ask for, directories of their own, and a network. */
export async function prepareInside(directory: string, nodeAddress: string): Promise<void> {
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
  // Names are asked for here, and refused at once: the machine's own servers are not to be reached.
  const resolvConf = `${directory}/own/resolv.conf`;
  await writeFile(resolvConf, `nameserver ${nodeAddress}\n`);
  await run('mount', ['--bind', resolvConf, '/etc/resolv.conf']);
  await run('sysctl', ['-q', '-w', 'net.ipv4.ip_forward=1']);
}
