import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CriClient } from '@node-agent/cri-client';
import type { Pod } from '@node-agent/pod-spec';
import { Containerd, type ContainerdBinaries } from '@node-agent/tools-containerd';
import { ControlPlane, type ControlPlaneBinaries, type ControlPlaneOptions } from '@node-agent/tools-control-plane';
import { TestNode } from '../e2e/test-node.ts';
import { removeDirectory } from '../remove-directory.ts';

const exec = promisify(execFile);
const NODE = 'e2e';
const PODS = '/api/v1/namespaces/default/pods';

/** What a cluster of one node is made of. */
export interface TestClusterOptions {
  readonly containerd: ContainerdBinaries;
  readonly controlPlane: ControlPlaneBinaries;
  /** The pods' addresses; each cluster that runs at once needs its own. */
  readonly subnet: string;
  readonly configuration?: object;
  readonly extraArguments?: ControlPlaneOptions['extraArguments'];
  /** Called with the directory of the cluster, before anything is in it. */
  readonly prepare?: (directory: string) => Promise<void>;
}

/** An event, as much of it as tests look at. */
interface Event {
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
  readonly involvedObject: { readonly name: string };
}

/** A container that runs, as the runtime has it. */
export interface RunningContainer {
  readonly id: string;
  readonly pod: string;
  readonly uid: string;
  readonly name: string;
}

/** A cluster of one node: a real control plane, a real containerd, and the kubelet, each a process that can be killed. */
export class TestCluster {
  readonly directory: string;
  readonly plane: ControlPlane;
  readonly containerd: Containerd;
  readonly node: TestNode;
  readonly cri: CriClient;
  /** The control plane's, and kubectl. */
  readonly programs: ControlPlaneBinaries;
  readonly #ctr: string;

  private constructor(directory: string, options: TestClusterOptions) {
    this.directory = directory;
    this.#ctr = options.containerd.ctr;
    this.programs = options.controlPlane;
    this.plane = new ControlPlane({
      binaries: options.controlPlane,
      directory: join(directory, 'cp'),
      reachableFromPods: true,
      ...(options.extraArguments && { extraArguments: options.extraArguments }),
    });
    this.containerd = new Containerd({
      binaries: options.containerd,
      directory: join(directory, 'c'),
      subnet: options.subnet,
    });
    this.cri = new CriClient({}, { endpoint: this.containerd.endpoint });
    this.node = new TestNode({
      directory,
      endpoint: this.containerd.endpoint,
      configuration: {
        rotateCertificates: true,
        authentication: { x509: { clientCAFile: join(directory, 'client-ca.crt') } },
        ...options.configuration,
      },
      flags: [
        `--kubeconfig=${join(directory, 'kubelet.kubeconfig')}`,
        `--bootstrap-kubeconfig=${this.plane.bootstrapKubeconfig}`,
        `--cert-dir=${this.certificates}`,
      ],
    });
  }

  /** Where the kubelet keeps its certificates. */
  get certificates(): string {
    return join(this.directory, 'pki');
  }

  /** Starts all of it, the node with nothing but a bootstrap token, and waits until it is Ready. */
  static async start(options: TestClusterOptions): Promise<TestCluster> {
    // Short: sockets are in it.
    const cluster = new TestCluster(await mkdtemp('/tmp/na-e2e-'), options);
    try {
      await options.prepare?.(cluster.directory);
      await Promise.all([cluster.plane.start(), cluster.containerd.start()]);
      await writeFile(join(cluster.directory, 'client-ca.crt'), cluster.plane.admin.ca);
      await cluster.node.start();
      await cluster.until('the node to be Ready', async () => (await cluster.nodeReady()) === 'True' || undefined);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.node.kill('SIGTERM');
    await this.cri.close();
    await this.containerd.stop();
    await this.plane.stop();
    // A test that failed has left its pods, and they their volumes.
    await removeDirectory(this.directory);
  }

  /** The object at a path; `undefined` where there is none. @throws Error where there is no answer, or another */
  async get<T>(path: string): Promise<T | undefined> {
    const { status, text } = await this.plane.request('GET', path);
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`GET ${path}: ${status}: ${text}`);
    return JSON.parse(text) as T;
  }

  create<T>(path: string, object: object): Promise<T> {
    return this.plane.json('POST', path, object);
  }

  /** Makes a pod in the default namespace, which the scheduler gives to the node. */
  async createPod(name: string, spec: object, metadata: object = {}): Promise<Pod> {
    return this.create(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, ...metadata },
      spec: { terminationGracePeriodSeconds: 1, ...spec },
    });
  }

  pod(name: string): Promise<Pod | undefined> {
    return this.get(`${PODS}/${name}`);
  }

  async pods(labelSelector = ''): Promise<readonly Pod[]> {
    const query = labelSelector === '' ? '' : `?labelSelector=${encodeURIComponent(labelSelector)}`;
    return (await this.get<{ items: readonly Pod[] }>(`${PODS}${query}`))?.items ?? [];
  }

  /** Waits until a pod is as wanted. @throws Error with the pod as it is, and the end of the kubelet's log */
  podUntil(name: string, wanted: (pod: Pod) => boolean, waitMs?: number): Promise<Pod> {
    return this.until(
      `pod ${name}`,
      async () => {
        const pod = await this.pod(name);
        return pod !== undefined && wanted(pod) ? pod : undefined;
      },
      waitMs,
    );
  }

  readyPod(name: string): Promise<Pod> {
    return this.podUntil(name, isReady);
  }

  /** Deletes a pod, and waits until it is gone from the API and the runtime. */
  async deletePod(name: string): Promise<void> {
    const pod = await this.pod(name);
    if (pod === undefined) return;
    await this.plane.request('DELETE', `${PODS}/${name}`);
    await this.until(`${name} to be gone`, async () => (await this.pod(name)) === undefined || undefined);
    await this.gone(pod.metadata.uid);
  }

  /** Waits until nothing of a pod runs. */
  async gone(uid: string): Promise<void> {
    await this.until(`containers of ${uid} to be gone`, async () => {
      return (await this.running()).every((container) => container.uid !== uid) || undefined;
    });
  }

  /** The events of an object. */
  async events(name: string): Promise<readonly Event[]> {
    const list = await this.get<{ items: readonly Event[] }>('/api/v1/namespaces/default/events');
    return (list?.items ?? []).filter(({ involvedObject }) => involvedObject.name === name);
  }

  eventUntil(name: string, reason: string, message: RegExp): Promise<Event> {
    return this.until(`event ${reason} of ${name}`, async () =>
      (await this.events(name)).find((event) => event.reason === reason && message.test(event.message)),
    );
  }

  /** The status of the node's Ready condition. */
  async nodeReady(): Promise<string | undefined> {
    const node = await this.get<{ status?: { conditions?: readonly { type: string; status: string }[] } }>(
      `/api/v1/nodes/${NODE}`,
    );
    return node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  }

  /** Every container that runs, in the order of pods and names. */
  async running(): Promise<readonly RunningContainer[]> {
    const { containers } = await this.cri.listContainers({ filter: { state: { state: 1 } } });
    return containers
      .map(({ id, labels }) => ({
        id,
        pod: labels['io.kubernetes.pod.name'] ?? '',
        uid: labels['io.kubernetes.pod.uid'] ?? '',
        name: labels['io.kubernetes.container.name'] ?? '',
      }))
      .sort((a, b) => (`${a.pod}/${a.name}` < `${b.pod}/${b.name}` ? -1 : 1));
  }

  /** Kills a container behind the kubelet's back. */
  async killContainer(id: string): Promise<void> {
    const socket = this.containerd.endpoint.slice('unix://'.length);
    await exec(this.#ctr, ['--address', socket, '-n', 'k8s.io', 'task', 'kill', '-s', 'SIGKILL', id]);
  }

  kubeletLog(): Promise<string> {
    return readFile(this.node.logFile, 'utf8');
  }

  until<T>(what: string, ask: () => Promise<T | undefined>, waitMs?: number): Promise<T> {
    return this.node.until(what, ask, waitMs);
  }

  /** How long something takes to come true, in milliseconds. */
  async timed(wait: () => Promise<unknown>): Promise<number> {
    const startedAt = performance.now();
    await wait();
    return Math.round(performance.now() - startedAt);
  }
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
