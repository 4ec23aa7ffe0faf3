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

/** Options of {@link TestCluster}. */
export interface TestClusterOptions {
  readonly containerd: ContainerdBinaries;
  readonly controlPlane: ControlPlaneBinaries;
  /** Subnet of the pods. Concurrent clusters need different subnets. */
  readonly subnet: string;
  readonly configuration?: object;
  readonly extraArguments?: ControlPlaneOptions['extraArguments'];
  /** Called with the directory of the cluster before any file is created in it. */
  readonly prepare?: (directory: string) => Promise<void>;
}

/** Fields of an event that tests use. */
interface Event {
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
  readonly involvedObject: { readonly name: string };
}

/** Running container in the runtime. */
export interface RunningContainer {
  readonly id: string;
  readonly pod: string;
  readonly uid: string;
  readonly name: string;
}

/** One-node cluster: a real control plane, a real containerd and the kubelet, each a process that can be killed. */
export class TestCluster {
  readonly directory: string;
  readonly plane: ControlPlane;
  readonly containerd: Containerd;
  readonly node: TestNode;
  readonly cri: CriClient;
  /** Programs of the control plane, and kubectl. */
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
      ownFlags: ['--dashboard'],
    });
  }

  /** Directory of the kubelet's certificates. */
  get certificates(): string {
    return join(this.directory, 'pki');
  }

  /**
   * Starts control plane, containerd and the node, which has only a bootstrap token, and waits until the node is Ready.
   */
  static async start(options: TestClusterOptions): Promise<TestCluster> {
    // The path is short, because the directory contains Unix sockets, whose paths have a maximum length.
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
    // A failed test may have left pods with mounted volumes.
    await removeDirectory(this.directory);
  }

  /**
   * Returns the object at a path, or `undefined` if it does not exist. @throws Error if the API server does not
   * respond, or responds with another error
   */
  async get<T>(path: string): Promise<T | undefined> {
    const { status, text } = await this.plane.request('GET', path);
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`GET ${path}: ${status}: ${text}`);
    return JSON.parse(text) as T;
  }

  create<T>(path: string, object: object): Promise<T> {
    return this.plane.json('POST', path, object);
  }

  /** Creates a pod in the default namespace. The scheduler assigns the pod to the node. */
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

  /**
   * Waits until `wanted` returns true for a pod. @throws Error with the pod and the end of the kubelet's log on timeout
   */
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

  /** Deletes a pod and waits until it is gone from the API and the runtime. */
  async deletePod(name: string): Promise<void> {
    const pod = await this.pod(name);
    if (pod === undefined) return;
    await this.plane.request('DELETE', `${PODS}/${name}`);
    await this.until(`${name} to be gone`, async () => (await this.pod(name)) === undefined || undefined);
    await this.gone(pod.metadata.uid);
  }

  /** Waits until no container of a pod is running. */
  async gone(uid: string): Promise<void> {
    await this.until(`containers of ${uid} to be gone`, async () => {
      return (await this.running()).every((container) => container.uid !== uid) || undefined;
    });
  }

  /** Returns the events of an object. */
  async events(name: string): Promise<readonly Event[]> {
    const list = await this.get<{ items: readonly Event[] }>('/api/v1/namespaces/default/events');
    return (list?.items ?? []).filter(({ involvedObject }) => involvedObject.name === name);
  }

  eventUntil(name: string, reason: string, message: RegExp): Promise<Event> {
    return this.until(`event ${reason} of ${name}`, async () =>
      (await this.events(name)).find((event) => event.reason === reason && message.test(event.message)),
    );
  }

  /** Returns the status of the node's Ready condition. */
  async nodeReady(): Promise<string | undefined> {
    const node = await this.get<{ status?: { conditions?: readonly { type: string; status: string }[] } }>(
      `/api/v1/nodes/${NODE}`,
    );
    return node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  }

  /** Returns all running containers, sorted by pod and name. */
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

  /** Kills a container directly in the runtime. */
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

  /** Returns how long `wait` takes, in milliseconds. */
  async timed(wait: () => Promise<unknown>): Promise<number> {
    const startedAt = performance.now();
    await wait();
    return Math.round(performance.now() - startedAt);
  }
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
