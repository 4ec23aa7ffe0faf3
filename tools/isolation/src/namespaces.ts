import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';

/** Options of {@link startIsolated}. */
export interface StartOptions {
  /**
   * `machine`: own network, mount, PID and cgroup namespaces. All child processes end with the program. `node`: own
   * network and mount namespaces.
   */
  readonly namespaces: 'machine' | 'node';
  /** Directories of the cgroup to join, one per hierarchy. The cgroup is the root cgroup in a new cgroup namespace. */
  readonly groups?: readonly string[];
  readonly stdio: StdioOptions;
}

const MACHINE = ['--net', '--mount', '--propagation=private', '--cgroup', '--pid', '--fork', '--mount-proc'];
const NODE = ['--net', '--mount', '--propagation=private'];

/**
 * Runs a command in namespaces of its own. Links, routes, firewall rules and mounts that it creates belong to the
 * namespaces and end with them. The command has its own process group, so that Ctrl-C does not reach it. After
 * `unshare`, the returned process is in the new network namespace.
 */
export function startIsolated(command: readonly string[], options: StartOptions): ChildProcess {
  const { namespaces, groups = [], stdio } = options;
  const words =
    namespaces === 'machine'
      ? // The namespace's first process is a shell that waits for the program and for orphaned processes.
        ['unshare', ...MACHINE, '--kill-child=SIGKILL', 'sh', '-c', '"$@"; exit $?', 'sh', ...command]
      : ['unshare', ...NODE, ...command];
  const join = 'for group in $1; do echo $$ > $group/cgroup.procs || exit 1; done; shift; exec "$@"';
  return spawn('sh', ['-c', join, 'sh', groups.join(' '), ...words], { stdio, detached: true });
}
