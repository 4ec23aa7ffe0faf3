import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { nodeFileSystem } from '@node-agent/host';
import { KubeClients, loadKubeconfig, resources } from '@node-agent/kube-client';
import type { PodSpec } from '@node-agent/pod-spec';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import type { ContainerdBinaries } from '@node-agent/tools-containerd';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import { ClusterKubelet } from './cluster/cluster-kubelet.ts';
import { ClusterPods, conditionHolds } from './cluster/cluster-pods.ts';
import type { KubeletCaller } from './kubelet-call.ts';
import { MemorySide } from './memory-side.ts';
import { RuntimeSide } from './runtime-side.ts';
import { sleep, until } from './waiting.ts';

/** API server of a {@link BenchNode}. */
export interface BenchApi extends Pick<ControlPlane, 'nodeKubeconfig' | 'adminKubeconfig'> {
  /** CA of client certificates and the administrator's credentials; absent without authentication. */
  readonly caFile?: string;
  readonly admin?: ControlPlane['admin'];
}

/** Options of a {@link BenchNode}. */
export interface BenchNodePlan {
  readonly controlPlane: BenchApi;
  /** Programs of the runtime. Default: a runtime in memory. */
  readonly binaries: ContainerdBinaries | undefined;
  readonly program: string;
  readonly nodeName: string;
  readonly directory: string;
  readonly subnet: string;
  readonly profiles?: string | undefined;
  /** Module that is loaded into a kubelet that runs with Node, see {@link ClusterKubeletOptions.preload}. */
  readonly preload?: string | undefined;
  /** Whether pods run without cgroups of their own. */
  readonly withoutCgroups?: boolean;
  /**
   * Additional kubelet configuration fields. Default: fields that let the kubelet's server accept {@link
   * BenchNode.caller}.
   */
  readonly configuration?: Readonly<Record<string, unknown>>;
}

/**
 * Node in a private cluster, with a runtime, a kubelet and pods. The kubelet's server accepts client certificates of
 * the cluster's CA.
 */
export class BenchNode implements AsyncDisposable {
  readonly side: RuntimeSide | MemorySide;
  readonly kubelet: ClusterKubelet;
  readonly pods: ClusterPods;
  /** Administrator's client of the API server. */
  readonly client: KubeClients['requests'];
  readonly #plan: BenchNodePlan;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    plan: BenchNodePlan,
    side: RuntimeSide | MemorySide,
    kubelet: ClusterKubelet,
    pods: ClusterPods,
    client: KubeClients['requests'],
    stack: AsyncDisposableStack,
  ) {
    this.#plan = plan;
    this.side = side;
    this.kubelet = kubelet;
    this.pods = pods;
    this.client = client;
    this.#stack = stack;
  }

  /**
   * Starts a node and resolves when the node is Ready. Disposing the node removes everything that it created; if the
   * start fails, the same happens automatically.
   */
  static async start(plan: BenchNodePlan, signal: AbortSignal): Promise<BenchNode> {
    const { controlPlane, binaries, program, nodeName, directory, profiles, preload, withoutCgroups } = plan;
    await using stack = new AsyncDisposableStack();
    await mkdir(directory, { recursive: true });
    const side = binaries
      ? await RuntimeSide.start(binaries, directory, plan.subnet)
      : await MemorySide.start(directory);
    stack.defer(() => side.stop());
    const kubelet = new ClusterKubelet({
      ...{ program, nodeName, kubeconfig: await controlPlane.nodeKubeconfig(nodeName), endpoint: side.endpoint },
      ...{
        directory: join(directory, 'k'),
        profiles,
        preload,
        ...(!withoutCgroups && { cgroupRoot: side.cgroupRoot }),
      },
      configuration: plan.configuration ?? {
        authentication: {
          ...{ anonymous: { enabled: false }, webhook: { enabled: false } },
          x509: { clientCAFile: controlPlane.caFile },
        },
      },
    });
    const connection = await loadKubeconfig({ fs: nodeFileSystem }, controlPlane.adminKubeconfig);
    const clients = stack.use(
      new KubeClients(
        { clock: systemClock, logger: silentLogger, metrics: noMetrics, environment: {} },
        { connection, requests: { qps: 0, burst: 1 } },
      ),
    );
    stack.defer(() =>
      clients.requests.delete(resources.nodes, { name: nodeName }).then(
        () => {},
        () => {},
      ),
    );
    const pods = new ClusterPods(clients.requests, nodeName, signal);
    const watching = new AbortController();
    const watch = pods.start(watching.signal);
    stack.defer(async () => {
      watching.abort();
      await watch.catch(() => {});
    });
    stack.defer(() => kubelet.stop());
    await kubelet.start();
    const isReady = async (): Promise<boolean> => {
      await kubelet.usage();
      const node = await clients.requests.get(resources.nodes, { name: nodeName }).catch(() => undefined);
      return conditionHolds(node, 'Ready');
    };
    await until(`${nodeName} is ready`, isReady, signal);
    return new BenchNode(plan, side, kubelet, pods, clients.requests, stack.move());
  }

  get nodeName(): string {
    return this.#plan.nodeName;
  }

  get port(): number {
    return this.kubelet.port;
  }

  /** Client credentials that the kubelet's server accepts. */
  get caller(): KubeletCaller {
    const { admin } = this.#plan.controlPlane;
    if (admin === undefined) throw new Error('the API server has no client certificates');
    const { cert, key } = admin;
    return { port: this.port, cert, key };
  }

  /** Creates pods with generated names. @returns their names when all pods are Ready */
  async addPods(count: number, signal: AbortSignal, spec?: PodSpec, prefix = 'pod'): Promise<readonly string[]> {
    const names = Array.from({ length: count }, (_, index) => `${this.#plan.nodeName}-${prefix}-${index}`);
    await this.addPodsNamed(names, () => spec, signal);
    return names;
  }

  /**
   * Creates pods and resolves when all are Ready, with the time of each in ms.
   * @param specOf returns a pod's spec, as for {@link ClusterPods.create}
   * @param pace interval in ms between the creations; 0 creates all pods at once
   */
  async addPodsNamed(
    names: readonly string[],
    specOf: (name: string) => PodSpec | undefined,
    signal: AbortSignal,
    pace: { readonly everyMs: number } = { everyMs: 0 },
  ): Promise<readonly number[]> {
    const ready = Promise.all(names.map((name) => this.pods.ready(name)));
    ready.catch(() => {});
    await Promise.all(
      names.map(async (name, index) => {
        await sleep(index * pace.everyMs, signal);
        await this.pods.create(name, specOf(name));
      }),
    );
    let areReady = false;
    const waiting = ready.then(() => {
      areReady = true;
    });
    await until(`${names.length} pods are ready`, () => areReady, signal, { everyMs: 50, timeoutMs: 300_000 });
    await waiting;
    return ready;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
