import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import { until } from '../waiting.ts';
import { autoscale, endAutoscaling, replaceImage, untilScaled } from './autoscaling.ts';
import { Child } from './child.ts';
import { type HollowExpectation, type HollowFindings, topProblems } from './hollow-report.ts';
import { MetricsServer } from './metrics-server.ts';
import { startControlPlane } from './plane.ts';

const NODES = 10;
const NODE_NAMES: readonly string[] = Array.from({ length: NODES }, (_, index) => `hollow-${index}`);
const HOLLOW_NODE = fileURLToPath(new URL('../../../../apps/hollow-node/src/main.ts', import.meta.url));
const PODS = '/api/v1/namespaces/default/pods';
const LOAD = 'load';
const IMAGES = { load: 'registry.example/load:1', busy: 'registry.example/busy:1', idle: 'registry.example/idle:1' };
const MAX_REPLICAS = 4;
const MIB = 2 ** 20;

const PROFILE = {
  rules: [
    { match: { image: '*/idle:*' }, cpu: '5m', memory: '16Mi' },
    { match: { namespace: 'default' }, cpu: '100m', memory: '64Mi' },
  ],
};
const REQUESTS = { cpu: '50m', memory: '32Mi' };
const EXPECTED: HollowExpectation = {
  pod: { cpuMillis: 100, memoryBytes: 64 * MIB },
  // As in apps/hollow-node/README.md.
  system: { cpuMillis: 20, memoryBytes: 300 * MIB },
  // 100m of 50m, and later 5m of 50m.
  busy: { utilization: 200, replicas: MAX_REPLICAS },
  idle: { utilization: 10, replicas: 1 },
};

/** Metrics-server scrapes every 15 s and needs two scrapes; a node's values are correct from the third one on. */
const TOP_WAIT = { everyMs: 2000, timeoutMs: 120_000 };

interface HollowSetting {
  /** Number of pods on all nodes together. */
  readonly pods: number;
  readonly directory: string;
  /** Program file of metrics-server. */
  readonly metricsServer: string;
  readonly say: (text: string) => void;
}

/** Starts hollow nodes in a cluster and checks what kubectl top, an autoscaler and kubectl describe get from them. */
export async function checkHollowNodes(
  { pods, directory, metricsServer: program, say }: HollowSetting,
  signal: AbortSignal,
): Promise<HollowFindings> {
  await using stack = new AsyncDisposableStack();
  const plane = await startControlPlane(directory, say);
  stack.defer(() => plane.stop());
  say(`starting ${NODES} hollow nodes`);
  const nodes = await startHollowNodes(plane, directory);
  stack.defer(() => nodes.stop());
  await until(`${NODES} hollow nodes are Ready`, () => areReady(plane, nodes), signal, { everyMs: 500 });
  await plane.json('POST', '/apis/apps/v1/namespaces/default/deployments', loadOf(pods));
  await plane.kubectl(['rollout', 'status', `deployment/${LOAD}`, '--timeout=120s']);
  const podsByNode = await podsOfNodes(plane);
  const metricsServer = await MetricsServer.start(program, plane, join(directory, 'metrics-server'), signal);
  stack.defer(() => metricsServer.stop());
  say('waiting for kubectl top');
  const top = await kubectlTop(plane, podsByNode, signal);
  const descriptions: string[] = [];
  // kubectl shows events only if it describes a single node.
  for (const name of NODE_NAMES) descriptions.push(await plane.kubectl(['describe', 'node', name]));
  say('testing an autoscaler');
  const container = { name: 'main', image: IMAGES.busy, resources: { requests: REQUESTS } };
  const behavior = { scaleDown: { stabilizationWindowSeconds: 0 } };
  const workload = { container, maxReplicas: MAX_REPLICAS, behavior };
  const { utilization } = await autoscale(plane, workload, signal);
  const busy = { utilization, replicas: (await untilScaled(plane, EXPECTED.busy.replicas, signal)).replicas };
  say('waiting until the autoscaler scales down');
  await replaceImage(plane, container.name, IMAGES.idle);
  const idle = await untilScaled(plane, EXPECTED.idle.replicas, signal);
  await endAutoscaling(plane);
  const complaints = await metricsServer.complaints();
  return { expected: EXPECTED, podsByNode, top, descriptions, busy, idle, complaints };
}

/**
 * Starts the hollow nodes in one process. All addresses of a control plane are loopback addresses of its own, so that
 * the default ports of the nodes are free there.
 */
async function startHollowNodes(plane: ControlPlane, directory: string): Promise<Child> {
  const profile = join(directory, 'profile.yaml');
  // JSON is valid YAML.
  await writeFile(profile, JSON.stringify(PROFILE));
  return new Child(
    process.execPath,
    [
      ...['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning', HOLLOW_NODE],
      ...[`--kubeconfig=${plane.adminKubeconfig}`, `--nodes=${NODES}`, `--profile=${profile}`],
      `--address=${new URL(plane.url).hostname}`,
    ],
    join(directory, 'hollow-node.log'),
  );
}

interface Node {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function areReady(plane: ControlPlane, program: Child): Promise<boolean> {
  if (!program.runs) throw new Error(`hollow-node exited: ${(await program.logLines()).slice(-5).join('\n')}`);
  const { items } = await plane.json<{ readonly items: readonly Node[] }>('GET', '/api/v1/nodes');
  const ready = items.filter(({ status }) =>
    status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True'),
  );
  return ready.length === NODES;
}

function loadOf(replicas: number): object {
  const labels = { app: LOAD };
  const containers = [{ name: 'main', image: IMAGES.load, resources: { requests: REQUESTS } }];
  return {
    metadata: { name: LOAD },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  };
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly nodeName?: string };
  }[];
}

async function podsOfNodes(plane: ControlPlane): Promise<HollowFindings['podsByNode']> {
  const { items } = await plane.json<PodList>('GET', PODS);
  return Object.fromEntries(
    NODE_NAMES.map((node) => [
      node,
      items.filter(({ spec }) => spec.nodeName === node).map(({ metadata }) => metadata.name),
    ]),
  );
}

/** Returns the output of kubectl top as soon as the output is as expected, and otherwise after a time limit. */
async function kubectlTop(
  plane: ControlPlane,
  podsByNode: HollowFindings['podsByNode'],
  signal: AbortSignal,
): Promise<HollowFindings['top']> {
  let top = { nodes: '', pods: '' };
  const isAsExpected = async (): Promise<boolean> => {
    const show = (what: string): Promise<string> => plane.kubectl(['top', what]).catch(() => '');
    top = { nodes: await show('node'), pods: await show('pod') };
    return topProblems({ expected: EXPECTED, podsByNode, top }).length === 0;
  };
  try {
    await until('kubectl top shows the usage of the profile', isAsExpected, signal, TOP_WAIT);
  } catch {
    signal.throwIfAborted();
    // The differences are in the findings.
  }
  return top;
}
