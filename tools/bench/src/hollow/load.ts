import { type RestClient, resources } from '@node-agent/kube-client';
import type { PodSpec } from '@node-agent/pod-spec';
import { until } from '../waiting.ts';
import { ReadyWatch } from './ready-watch.ts';

/** Pods on all nodes, whose number can be increased. */
export interface Load extends Disposable {
  /** Increases the number of pods and waits until all are Ready. @throws Error if that takes an hour */
  grow(pods: number, signal: AbortSignal): Promise<void>;
}

const PODS_WAIT = { everyMs: 500, timeoutMs: 3_600_000 };
const NAME = { namespace: 'default', name: 'load' };
const LABELS = { app: NAME.name };
/** Number of concurrent requests that create pods. */
const WRITERS = 16;
const SPEC: PodSpec = {
  containers: [{ name: 'main', image: 'registry.example/app:1', resources: { requests: { cpu: '10m' } } }],
};
const deployments = {
  ...{ group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespaced: true },
} as const;

interface Deployment {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
  readonly status?: { readonly readyReplicas?: number };
}

/** Returns the pods of one Deployment, which the scheduler distributes. */
export function deploymentLoad(client: RestClient): Load {
  let exists = false;
  return {
    async grow(replicas, signal) {
      const template = { metadata: { labels: LABELS }, spec: SPEC };
      const spec = { replicas, selector: { matchLabels: LABELS }, template };
      if (exists) await client.patch(deployments, { type: 'merge', body: { spec: { replicas } } }, NAME, signal);
      else await client.create<Deployment>(deployments, { metadata: NAME, spec }, {}, signal);
      exists = true;
      const isReady = async (): Promise<boolean> => {
        const { status } = await client.get<Deployment>(deployments, NAME, signal);
        return status?.readyReplicas === replicas;
      };
      await until(`${replicas} pods are Ready`, isReady, signal, PODS_WAIT);
    },
    [Symbol.dispose]() {},
  };
}

/**
 * Returns pods that are created with a node name, distributed evenly over the nodes, so that no scheduler is needed.
 */
export function boundLoad(client: RestClient, nodes: number): Load {
  const watch = new ReadyWatch(client, resources.pods);
  let next = 0;
  return {
    async grow(pods, signal) {
      const write = async (): Promise<void> => {
        while (next < pods) {
          signal.throwIfAborted();
          const index = next++;
          const metadata = { name: `${NAME.name}-${index}`, namespace: NAME.namespace, uid: '', labels: LABELS };
          await client.create(resources.pods, { metadata, spec: { ...SPEC, nodeName: `hollow-${index % nodes}` } });
        }
      };
      await Promise.all(Array.from({ length: WRITERS }, write));
      await until(`${pods} pods are Ready`, () => watch.ready >= pods, signal, PODS_WAIT);
    },
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  };
}
