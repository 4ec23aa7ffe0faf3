import { copyFile, mkdir, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bindOwnDirectories } from '@node-agent/tools-isolation';
import { run } from '../run-program.ts';

/**
 * Directories with fixed paths that a node uses: the kubelet's root with the sockets of plugins, logs of pods, and
 * results of CNI plugins. Each node has its own directory for each of these paths.
 */
export const OWN_DIRECTORIES: readonly string[] = [
  '/var/lib/kubelet',
  '/var/log/pods',
  '/var/log/containers',
  '/var/lib/cni',
];

/**
 * Prepares the mount and network namespaces of a node: own directories, an own `/run`, name servers, and the loopback
 * interface.
 * @param own parent of the own directories
 */
export async function prepareNamespaces(own: string, nameServers: readonly string[]): Promise<void> {
  // Containers may request mount propagation.
  await run('mount', ['--make-rshared', '/']);
  await bindOwnDirectories(OWN_DIRECTORIES, own);
  const resolvConf = join(own, 'resolv.conf');
  await writeFile(resolvConf, nameServers.map((server) => `nameserver ${server}\n`).join(''));
  // `/etc/resolv.conf` may be a link to a file in /run, which the next mount hides.
  const target = await realpath('/etc/resolv.conf').catch(() => undefined);
  // Sockets of shims, state of runc and locks of firewall programs have fixed paths in /run, so each node needs its own
  // /run.
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', '/run']);
  if (target?.startsWith('/run/')) {
    await mkdir(dirname(target), { recursive: true });
    await copyFile(resolvConf, target);
  } else if (target !== undefined) await run('mount', ['--bind', resolvConf, target]);
  await run('ip', ['link', 'set', 'lo', 'up']);
  await writeFile('/proc/sys/net/ipv4/ip_forward', '1');
}
