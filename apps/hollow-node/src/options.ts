import { parseArgs } from 'node:util';
import { parseQuantity } from '@node-agent/pod-spec';
import type { HollowNodeSettings } from './kubelet-settings.ts';
import type { NodePlanSettings } from './node-plan.ts';

/** The command line of `hollow-node`. */
export interface HollowOptions
  extends Pick<NodePlanSettings, 'nodes' | 'first' | 'namePrefix' | 'port' | 'podCidr'>,
    Omit<HollowNodeSettings, 'address'> {
  readonly kubeconfig: string;
  /** Address of all nodes. `undefined`: an address of this machine is chosen. */
  readonly address: string | undefined;
  readonly startRate: number;
  readonly profileFile: string | undefined;
  /** Whether operations of the container runtime take as long as containerd's. */
  readonly hasLatencies: boolean;
  readonly clientCaFile: string | undefined;
  readonly certificate: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly verbosity: number;
}

/** Error for an invalid command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Text of `--help`. */
export const HELP = `Usage: hollow-node --kubeconfig FILE [options]

Runs real kubelets in one process, without containers: each is a node for the API server, and its pods run in memory.
SIGTERM ends them all; their Node objects stay.

  --kubeconfig FILE           an administrator's kubeconfig: its user must be allowed to impersonate users and groups
  --nodes N                   number of nodes, 1 to 10000 (10)
  --first N                   index of the first node, for several processes in one cluster (0)
  --name-prefix TEXT          beginning of the names of nodes (hollow-)
  --start-rate N              nodes that start per second (50)
  --address IP                address of the nodes and of their servers (an address of this machine)
  --port N                    port of the kubelet server of node 0; node 1 has the next port. 0: no servers (20250)
  --pod-cidr CIDR             IPv4 range of pods, divided among the nodes that have no podCIDR in the cluster (10.128.0.0/9)
  --cpus N, --memory QUANTITY, --storage QUANTITY, --max-pods N
                              size of each node (8, 32Gi, 100Gi, 110)
  --label KEY=VALUE           label of the nodes; may be repeated
  --taint KEY=VALUE:EFFECT    taint of the nodes; may be repeated
  --profile FILE              what containers do: a YAML file, see the README
  --latencies                 let the container runtime take as long as containerd (78 ms for a sandbox, ...)
  --cluster-dns IP            DNS server of pods (10.96.0.10)
  --lease-duration SECONDS    nodeLeaseDurationSeconds (40)
  --client-ca-file FILE       CA of the clients of the kubelet servers (the CA of the kubeconfig)
  --tls-cert-file FILE, --tls-private-key-file FILE
                              certificate of all kubelet servers (self-signed)
  -v N                        0: errors and warnings, 1: info, 2: debug, 5: trace (0)
  --help                      this text
`;

const OPTIONS = {
  kubeconfig: { type: 'string' },
  nodes: { type: 'string' },
  first: { type: 'string' },
  'name-prefix': { type: 'string' },
  'start-rate': { type: 'string' },
  address: { type: 'string' },
  port: { type: 'string' },
  'pod-cidr': { type: 'string' },
  cpus: { type: 'string' },
  memory: { type: 'string' },
  storage: { type: 'string' },
  'max-pods': { type: 'string' },
  label: { type: 'string', multiple: true },
  taint: { type: 'string', multiple: true },
  profile: { type: 'string' },
  latencies: { type: 'boolean' },
  'cluster-dns': { type: 'string' },
  'lease-duration': { type: 'string' },
  'client-ca-file': { type: 'string' },
  'tls-cert-file': { type: 'string' },
  'tls-private-key-file': { type: 'string' },
  verbosity: { type: 'string', short: 'v' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Parses the command line. @returns `undefined` for `--help` @throws UsageError that names the option */
export function parseOptions(argv: readonly string[]): HollowOptions | undefined {
  const { help, ...given } = valuesOf(argv);
  if (help) return undefined;
  if (given.kubeconfig === undefined) throw new UsageError('--kubeconfig: is required');
  const certFile = given['tls-cert-file'];
  const keyFile = given['tls-private-key-file'];
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new UsageError('--tls-cert-file and --tls-private-key-file: one requires the other');
  }
  return {
    kubeconfig: given.kubeconfig,
    nodes: integer('--nodes', given.nodes, 10, 1, 10_000),
    first: integer('--first', given.first, 0, 0, 100_000),
    namePrefix: given['name-prefix'] ?? 'hollow-',
    startRate: integer('--start-rate', given['start-rate'], 50, 1, 1000),
    address: given.address,
    port: integer('--port', given.port, 20_250, 0, 65_535),
    podCidr: given['pod-cidr'] ?? '10.128.0.0/9',
    size: {
      cpus: integer('--cpus', given.cpus, 8, 1, 4096),
      memoryBytes: bytes('--memory', given.memory ?? '32Gi'),
      storageBytes: bytes('--storage', given.storage ?? '100Gi'),
    },
    maxPods: integer('--max-pods', given['max-pods'], 110, 1, 10_000),
    labels: Object.fromEntries((given.label ?? []).map(parseLabel)),
    taints: (given.taint ?? []).map(parseTaint),
    profileFile: given.profile,
    hasLatencies: given.latencies ?? false,
    clusterDns: [given['cluster-dns'] ?? '10.96.0.10'],
    leaseDurationSeconds: integer('--lease-duration', given['lease-duration'], 40, 5, 3600),
    clientCaFile: given['client-ca-file'],
    certificate: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined,
    verbosity: integer('-v', given.verbosity, 0, 0, 10),
  };
}

function valuesOf(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function integer(option: string, text: string | undefined, unset: number, least: number, most: number): number {
  if (text === undefined) return unset;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${option}: must be an integer from ${least} to ${most}`);
}

function bytes(option: string, text: string): number {
  try {
    const value = Number(parseQuantity(text).value());
    if (value > 0 && Number.isSafeInteger(value)) return value;
  } catch {
    // An invalid quantity is rejected below, as 0 is.
  }
  throw new UsageError(`${option}: must be a quantity above 0 such as 32Gi`);
}

function parseLabel(text: string): readonly [string, string] {
  const [, key, value] = /^([^=]+)=(.*)$/.exec(text) ?? [];
  if (key === undefined || value === undefined) throw new UsageError(`--label: ${text}: must be KEY=VALUE`);
  return [key, value];
}

function parseTaint(text: string): HollowOptions['taints'][number] {
  const [, key, , value, effect] = /^([^=:]+)(=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text) ?? [];
  if (key === undefined || effect === undefined) {
    throw new UsageError(`--taint: ${text}: must be KEY=VALUE:NoSchedule, or with another effect`);
  }
  return { key, effect, ...(value !== undefined && { value }) };
}
