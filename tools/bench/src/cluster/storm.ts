import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@node-agent/async';
import { KubeClients, resources } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { type ContainerdBinaries, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { freePorts } from '@node-agent/tools-ports';
import { RuntimeSide } from '../runtime-side.ts';
import { kubeconfigOf } from '../scale/memory-api.ts';
import { sleep, until } from '../waiting.ts';
import { ClusterKubelet } from './cluster-kubelet.ts';
import { conditionHolds, POD_COMMAND } from './cluster-pods.ts';
import { PodWatch } from './pod-watch.ts';
import type { Storm } from './storm-figures.ts';
import type { StormNews, StormOrder } from './storm-server.ts';

/** Options of {@link measureStorm}. */
export interface StormPlan {
  readonly binaries: ContainerdBinaries;
  readonly program: string;
  readonly nodeName: string;
  readonly directory: string;
  readonly subnet: string;
  readonly seconds: number;
  readonly profiles?: string | undefined;
  readonly say: (text: string) => void;
}

/** Time in ms for a process to settle after work. */
const SETTLE_MS = 20_000;
const CHANGES_PER_SECOND = 1000;
const ANNOTATION = 'bench/change';
const NAMESPACE = 'default';
const NAME = 'stormy';
const VOLUME = 'changes';
const SERVER = fileURLToPath(new URL('./storm-server.ts', import.meta.url));

/**
 * Starts a kubelet with its own runtime and an API server in memory, and changes the annotations of its only pod 1,000
 * times a second. A real API server with etcd cannot change one object so often.
 */
export async function measureStorm(plan: StormPlan, signal: AbortSignal): Promise<Storm> {
  const { directory, nodeName, program, profiles, say } = plan;
  await mkdir(directory, { recursive: true });
  await using stack = new AsyncDisposableStack();
  const server = fork(SERVER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  stack.defer(() => {
    if (server.connected) server.disconnect();
  });
  const side = await RuntimeSide.start(plan.binaries, directory, plan.subnet);
  stack.defer(() => side.stop());
  const { url } = await newsOf(server, 'url', signal);
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigOf(url));
  const [readOnlyPort = 0] = await freePorts(1);
  const kubelet = new ClusterKubelet({
    ...{ program, nodeName, kubeconfig, endpoint: side.endpoint, profiles },
    directory: join(directory, 'k'),
    // The kubelet must use JSON, because the API server in memory does not support protobuf.
    configuration: { readOnlyPort, contentType: 'application/json' },
  });
  const clients = stack.use(
    new KubeClients(
      { clock: systemClock, logger: silentLogger, metrics: noMetrics, environment: {} },
      { connection: { cluster: { server: url }, user: {} }, requests: { qps: 0, burst: 1 } },
    ),
  );
  const { requests } = clients;
  stack.defer(() => kubelet.stop());
  await kubelet.start();
  say(`${nodeName}: waiting for the node`);
  const look = async () =>
    conditionHolds(await requests.get(resources.nodes, { name: nodeName }).catch(() => undefined), 'Ready');
  await until('the node is ready', look, signal);
  const { metadata } = await requests.create(resources.pods, stormyPod(nodeName));
  const pod = new PodWatch(requests, { namespace: NAMESPACE, name: NAME });
  const stop = new AbortController();
  const watching = pod.run(stop.signal);
  stack.defer(async () => {
    stop.abort();
    await watching.catch(() => {});
  });
  await until('the pod is ready', () => conditionHolds(pod.newest, 'Ready'), signal);
  const file = join(kubelet.rootDirectory, 'pods', metadata.uid, 'volumes/kubernetes.io~downward-api', VOLUME, 'value');
  const storm = await storming(plan, { kubelet, server, pod, file, readOnlyPort }, signal);
  await requests.delete(resources.pods, { namespace: NAMESPACE, name: NAME });
  await until('the pod is gone', () => pod.newest === undefined, signal);
  stop.abort();
  await watching;
  return storm;
}

interface Scene {
  readonly kubelet: ClusterKubelet;
  readonly server: ChildProcess;
  readonly pod: PodWatch;
  /** File of the volume that contains the annotation. */
  readonly file: string;
  readonly readOnlyPort: number;
}

async function storming({ seconds, nodeName, say }: StormPlan, scene: Scene, signal: AbortSignal): Promise<Storm> {
  const { kubelet, server, pod, file, readOnlyPort } = scene;
  await sleep(SETTLE_MS, signal);
  say(`${nodeName}: changing annotations ${CHANGES_PER_SECOND} times a second for ${seconds} s`);
  const before = await kubelet.usage();
  const order: StormOrder = {
    ...{ namespace: NAMESPACE, name: NAME, annotation: ANNOTATION, seconds },
    perSecond: CHANGES_PER_SECOND,
  };
  pod.count();
  server.send(order);
  const ended = newsOf(server, 'made', signal);
  const thirdsRssBytes: number[] = [];
  for (let third = 1; third <= 3; third++) {
    if (third === 3) await ended;
    else await sleep((seconds * 1000) / 3, signal);
    thirdsRssBytes.push((await kubelet.usage()).rssBytes);
  }
  const { cpuSeconds } = await kubelet.usage();
  const { made } = await ended;
  const endMs = performance.now();
  const newest = `${made}`;
  const [listedAfterMs, writtenAfterMs] = await Promise.all([
    after(
      endMs,
      'the kubelet lists the newest annotation',
      async () => (await listed(readOnlyPort)) === newest,
      signal,
    ),
    after(
      endMs,
      'the newest annotation is in the volume',
      async () => (await readFile(file, 'utf8')) === newest,
      signal,
    ),
  ]);
  await until(
    'the watch has received all changes',
    () => pod.newest?.metadata.annotations?.[ANNOTATION] === newest,
    signal,
  );
  await sleep(SETTLE_MS, signal);
  const settledRssBytes = (await kubelet.usage()).rssBytes;
  return {
    perSecond: pod.perSecond,
    cpuShare: (cpuSeconds - before.cpuSeconds) / seconds,
    beforeRssBytes: before.rssBytes,
    ...{ thirdsRssBytes, settledRssBytes, listedAfterMs, writtenAfterMs },
  };
}

/** Returns the time in ms from `startMs` until a condition was first seen to hold. */
async function after(
  startMs: number,
  what: string,
  condition: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<number> {
  await until(what, condition, signal, { everyMs: 5 });
  return performance.now() - startMs;
}

/** Returns the value of the annotation in the kubelet's page `/pods`. */
async function listed(port: number): Promise<string | undefined> {
  const response = await fetch(`http://127.0.0.1:${port}/pods`);
  const { items } = (await response.json()) as { readonly items: readonly Pod[] };
  return items.find(({ metadata }) => metadata.name === NAME)?.metadata.annotations?.[ANNOTATION];
}

/** Returns a pod with its annotation in a volume, so that the kubelet must update the volume on every change. */
function stormyPod(nodeName: string): Pod {
  const fieldRef = { fieldPath: `metadata.annotations['${ANNOTATION}']` };
  return {
    metadata: { name: NAME, namespace: NAMESPACE, uid: '', annotations: { [ANNOTATION]: '0' } },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 1,
      dnsPolicy: 'Default',
      containers: [
        {
          ...{ name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'IfNotPresent' },
          command: POD_COMMAND,
          volumeMounts: [{ name: VOLUME, mountPath: '/changes' }],
        },
      ],
      volumes: [{ name: VOLUME, downwardAPI: { items: [{ path: 'value', fieldRef }] } }],
    },
  };
}

/**
 * Waits for the server's next message that contains the field `kind`. @throws Error if the server exits; AbortError if
 * the signal is aborted
 */
async function newsOf<K extends 'url' | 'made'>(
  server: ChildProcess,
  kind: K,
  signal: AbortSignal,
): Promise<Extract<StormNews, Record<K, unknown>>> {
  const ended = once(server, 'exit', { signal }).then(([code]) => {
    throw new Error(`API server in memory exited with ${code}`);
  });
  // Without this handler, an exit after the message would be an unhandled rejection.
  ended.catch(() => {});
  for (;;) {
    const [news] = (await Promise.race([once(server, 'message', { signal }), ended])) as [StormNews];
    if (kind in news) return news as Extract<StormNews, Record<K, unknown>>;
  }
}
