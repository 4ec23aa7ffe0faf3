import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeFileSystem } from '@node-agent/host';
import { KubeClients, loadKubeconfig, Reflector, type RestClient, resources } from '@node-agent/kube-client';
import type { Node } from '@node-agent/pod-spec/api';
import { ControlPlane, type ControlPlaneOptions, type ProcessName } from '@node-agent/tools-control-plane';
import { readUsage } from '../proc.ts';
import { sleep, until } from '../waiting.ts';
import type { HollowFigures } from './figures.ts';
import type { HollowBenchOptions } from './options.ts';

/** Built program. */
export const HOLLOW_NODE: string = fileURLToPath(new URL('../../../../apps/hollow-node/dist/main.js', import.meta.url));

/** Settings of a turn. */
export interface HollowTurn {
  readonly binaries: ControlPlaneOptions['binaries'];
  readonly directory: string;
  readonly nodes: number;
  readonly options: Pick<HollowBenchOptions, 'pods' | 'idleSeconds'>;
  readonly say: (text: string) => void;
}

/** More requests at a time than by default: all clients are on this machine, and so is what they wait for. */
const LARGE_CLUSTER: NonNullable<ControlPlaneOptions['extraArguments']> = {
  'kube-apiserver': ['--max-requests-inflight=3000', '--max-mutating-requests-inflight=1000'],
  'kube-controller-manager': ['--kube-api-qps=500', '--kube-api-burst=1000', '--concurrent-rc-syncs=20'],
  'kube-scheduler': ['--kube-api-qps=500', '--kube-api-burst=1000'],
};
const PROCESSES: readonly ProcessName[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
/** The processes start slowly on a busy machine. */
const START_TIMEOUT_MS = 300_000;
const NODES_WAIT = { everyMs: 200, timeoutMs: 600_000 };
const PODS_WAIT = { everyMs: 500, timeoutMs: 3_600_000 };
const NAME = { namespace: 'default', name: 'load' };
const deployments = {
  ...{ group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespaced: true },
} as const;

/** Measures one number of hollow nodes with all numbers of pods. @throws Error if something is not ready in time */
export async function takeHollowTurn(
  { binaries, directory, nodes, options, say }: HollowTurn,
  signal: AbortSignal,
): Promise<readonly HollowFigures[]> {
  const controlPlane = new ControlPlane({
    ...{
      binaries,
      directory: join(directory, `control-plane-${nodes}`),
      extraArguments: LARGE_CLUSTER,
      startTimeoutMs: START_TIMEOUT_MS,
    },
  });
  await controlPlane.start();
  let hollow: ChildProcess | undefined;
  try {
    const connection = await loadKubeconfig({ fs: nodeFileSystem }, controlPlane.adminKubeconfig);
    await using clients = new KubeClients({ environment: {} }, { connection });
    using watched = new NodeWatch(clients.requests);
    const startedAtMs = performance.now();
    hollow = spawn(
      process.execPath,
      [HOLLOW_NODE, `--kubeconfig=${controlPlane.adminKubeconfig}`, `--nodes=${nodes}`, '--address=127.0.0.1'],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    const { pid = 0 } = hollow;
    const program = hollow;
    const areReady = (): boolean => {
      if (program.exitCode !== null) throw new Error(`hollow-node: ended with exit code ${program.exitCode}`);
      return watched.ready >= nodes;
    };
    await until(`${nodes} nodes are Ready`, areReady, signal, NODES_WAIT);
    const nodesReadySeconds = (performance.now() - startedAtMs) / 1000;
    say(`${nodes} nodes are Ready after ${nodesReadySeconds.toFixed(1)} s`);
    const figures: HollowFigures[] = [];
    let before = 0;
    for (const pods of options.pods) {
      const started =
        pods === 0 ? undefined : await startPods(clients.requests, pid, nodes * before, nodes * pods, signal);
      if (started) say(`${nodes * pods} pods are Ready after ${started.seconds.toFixed(1)} s`);
      const rest = await measureRest(pid, controlPlane, options.idleSeconds, signal);
      figures.push({
        ...{ nodes, pods, nodesReadySeconds, podsReadySeconds: started?.seconds, cpuMsPerPod: started?.cpuMsPerPod },
        ...rest,
        notReady: nodes - watched.ready,
      });
      before = pods;
    }
    return figures;
  } finally {
    if (hollow !== undefined && hollow.exitCode === null) {
      hollow.kill('SIGTERM');
      await once(hollow, 'exit');
    }
    await controlPlane.stop();
  }
}

/** Counts the nodes that are Ready. */
class NodeWatch implements Disposable {
  readonly #reflector: Reflector<Node>;
  readonly #controller = new AbortController();

  constructor(client: RestClient) {
    this.#reflector = new Reflector<Node>({ client }, { resource: resources.nodes, transform: withReadiness });
    void this.#reflector.start(this.#controller.signal);
  }

  get ready(): number {
    return [...this.#reflector.objects.values()].filter(({ status }) => status?.conditions?.[0]?.status === 'True')
      .length;
  }

  [Symbol.dispose](): void {
    this.#controller.abort();
  }
}

function withReadiness({ metadata, status }: Node): Node {
  const { name, uid, resourceVersion } = metadata;
  const ready = status?.conditions?.filter(({ type }) => type === 'Ready') ?? [];
  return { metadata: { name, uid, resourceVersion } as Node['metadata'], status: { conditions: ready } };
}

/** Scales the Deployment and waits until all its pods are Ready. */
async function startPods(
  client: RestClient,
  pid: number,
  before: number,
  replicas: number,
  signal: AbortSignal,
): Promise<{ readonly seconds: number; readonly cpuMsPerPod: number }> {
  const startedAtMs = performance.now();
  const from = await readUsage(pid);
  if (before === 0) await client.create(deployments, deployment(replicas), {}, signal);
  else await client.patch(deployments, { type: 'merge', body: { spec: { replicas } } }, NAME, signal);
  const isReady = async (): Promise<boolean> => {
    const { status } = await client.get<Deployment>(deployments, NAME, signal);
    return status?.readyReplicas === replicas;
  };
  await until(`${replicas} pods are Ready`, isReady, signal, PODS_WAIT);
  const to = await readUsage(pid);
  return {
    seconds: (performance.now() - startedAtMs) / 1000,
    cpuMsPerPod: ((to.cpuSeconds - from.cpuSeconds) * 1000) / (replicas - before),
  };
}

interface Deployment {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
  readonly status?: { readonly readyReplicas?: number };
}

function deployment(replicas: number): Deployment {
  const labels = { app: NAME.name };
  const containers = [{ name: 'main', image: 'registry.example/app:1', resources: { requests: { cpu: '10m' } } }];
  return {
    metadata: NAME,
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  };
}

async function measureRest(
  pid: number,
  controlPlane: ControlPlane,
  seconds: number,
  signal: AbortSignal,
): Promise<Pick<HollowFigures, 'restShare' | 'rssBytes' | 'controlPlaneShare'>> {
  // Statuses that are still on their way belong to the start.
  await sleep(5000, signal);
  const pids = (await Promise.all(PROCESSES.map((name) => controlPlane.pid(name)))).filter((one) => one !== undefined);
  const cpuOf = async (all: readonly number[]): Promise<number> =>
    (await Promise.all(all.map(readUsage))).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const before = { hollow: await cpuOf([pid]), controlPlane: await cpuOf(pids), atMs: performance.now() };
  await sleep(seconds * 1000, signal);
  const tookSeconds = (performance.now() - before.atMs) / 1000;
  return {
    restShare: ((await cpuOf([pid])) - before.hollow) / tookSeconds,
    controlPlaneShare: ((await cpuOf(pids)) - before.controlPlane) / tookSeconds,
    rssBytes: (await readUsage(pid)).rssBytes,
  };
}
