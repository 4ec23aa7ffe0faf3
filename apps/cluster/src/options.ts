import { parseArgs } from 'node:util';

/** Parsed command line. */
export interface ClusterOptions {
  /** `up` starts a cluster, `down` ends the cluster of a directory. */
  readonly command: 'up' | 'down';
  /** Number of nodes, 1 or 2. */
  readonly nodes: number;
  /** Directory of the cluster. Default: {@link DEFAULT_DIRECTORY}. */
  readonly directory: string;
  /** Whether the directory, and with it the state of the cluster, is kept at the end. */
  readonly keeps: boolean;
  /** Whether the command returns when the cluster is ready. */
  readonly detaches: boolean;
  /** Directory with all programs of the cluster. Default: the programs are found, downloaded or built. */
  readonly binaries?: string;
  readonly help: boolean;
}

/** Default directory of a cluster. The directory is on disk, because files below /run are in memory. */
export const DEFAULT_DIRECTORY = '/var/lib/node-agent-cluster';

const MAX_NODES = 2;

/**
 * Returns the text of --help.
 * @param calledAs command that the user typed
 */
export function usage(calledAs: string): string {
  return `Usage: ${calledAs} [up] [options]
       ${calledAs} down [--run-dir DIR | --data DIR]

Runs a whole Kubernetes cluster on this machine as root: etcd, API server, controller manager, scheduler, and a node
with this kubelet, containerd, kube-proxy and CoreDNS. Everything runs in namespaces of its own. Ctrl-C removes it;
containers are killed without a grace period, unless the state is kept.

  --nodes N       number of nodes, 1 or 2. Default: 1
  --detach        return when the cluster is ready. It runs until \`${calledAs} down\`
  --data DIR      keep the state of the cluster in DIR; containers get their grace period at the end. The next run with
                  DIR continues as after a reboot of all nodes. Default: each run starts an empty cluster
  --run-dir DIR   directory of an empty cluster, which is removed at the end. Default: ${DEFAULT_DIRECTORY}
  --binaries DIR  directory with all programs of the cluster. Default: they are searched in PATH and in the cache, then
                  downloaded as published, then built
  --help          print this help

Exit codes: 0 after a requested end, 1 after a failure, 2 for an invalid command line, 3 without root or on a system
other than Linux.`;
}

/** Options of a command line, or the problem of it, which the caller prints together with {@link usage}. */
export type Parsed = { readonly options: ClusterOptions } | { readonly problem: string };

/** Parses the arguments of the command. */
export function parseClusterOptions(args: readonly string[]): Parsed {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  const { values, positionals } = parsed;
  const [command = 'up', ...rest] = positionals;
  if ((command !== 'up' && command !== 'down') || rest.length > 0) {
    return { problem: `${positionals.join(' ')}: must be up or down` };
  }
  const nodes = Number(values.nodes);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > MAX_NODES) {
    return { problem: `--nodes ${values.nodes}: must be 1 or ${MAX_NODES}` };
  }
  if (values.data !== undefined && values['run-dir'] !== undefined) {
    return { problem: '--data and --run-dir must not be used together' };
  }
  for (const name of ['data', 'run-dir', 'binaries'] as const) {
    if (values[name] === '') return { problem: `--${name}: must be a directory` };
  }
  return {
    options: {
      command,
      nodes,
      directory: values.data ?? values['run-dir'] ?? DEFAULT_DIRECTORY,
      keeps: values.data !== undefined,
      detaches: values.detach,
      ...(values.binaries !== undefined && { binaries: values.binaries }),
      help: values.help,
    },
  };
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      nodes: { type: 'string', default: '1' },
      detach: { type: 'boolean', default: false },
      data: { type: 'string' },
      'run-dir': { type: 'string' },
      binaries: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
}
