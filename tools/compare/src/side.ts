import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CriError } from '@node-agent/cri-client';
import type { Pod, PodSpec } from '@node-agent/pod-spec';
import { ClusterKubelet, RuntimeSide, until } from '@node-agent/tools-bench';
import type { ContainerdBinaries } from '@node-agent/tools-containerd';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import { type Case, EXTENDED, SIDE } from './cases/index.ts';
import { makeClaims } from './claims.ts';
import { BOUND_CLAIMS, type CsiVolume, growVolumes, makeCsiClaims, namesOfVolumes } from './csi/csi-claims.ts';
import { CsiDrivers } from './csi/drivers.ts';
import { csiFacts, sortStorage, usesCsi } from './csi/pod-storage.ts';
import { DEVICE_RESOURCES, DevicePlugins } from './device-plugins.ts';
import type { Json } from './differences.ts';
import type { OwnNames } from './normalise.ts';
import { type EventFields, hasStarted, plain } from './observed.ts';

/** Options of a {@link Side}. */
export interface SideOptions {
  /** Name of the side, which is the name of its node and of its namespace. */
  readonly name: string;
  readonly program: string;
  readonly binaries: ContainerdBinaries;
  readonly subnet: string;
  readonly directory: string;
  readonly controlPlane: ControlPlane;
  /** Whether the side has CSI drivers, for {@link csi} cases. Default: false. */
  readonly hasCsi?: boolean;
}

/** Findings of a side. */
export interface Found {
  readonly names: OwnNames;
  readonly pods: readonly Pod[];
  readonly events: readonly EventFields[];
  /** Requests that the runtime received, by `pod` and `pod/container`. */
  readonly runtime: ReadonlyMap<string, Json>;
  /** Files, mounts, driver calls and claims of CSI volumes, by pod. */
  readonly storage: ReadonlyMap<string, Json>;
  readonly node: NodeJson;
}

/** Node as the API returns it. */
export interface NodeJson {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string }[];
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
}

/** One of the two kubelets with its own runtime, node and namespace. */
export class Side {
  readonly #options: SideOptions;
  readonly #runtime: RuntimeSide;
  readonly #kubelet: ClusterKubelet;
  readonly #plugins: DevicePlugins;
  readonly #csi: CsiDrivers | undefined;
  #volumes: readonly CsiVolume[] = [];

  private constructor(options: SideOptions, runtime: RuntimeSide, kubelet: ClusterKubelet) {
    this.#options = options;
    this.#runtime = runtime;
    this.#kubelet = kubelet;
    this.#plugins = new DevicePlugins(kubelet.rootDirectory);
    const { name: nodeName, directory, hasCsi = false } = options;
    const { rootDirectory } = kubelet;
    this.#csi = hasCsi ? new CsiDrivers({ directory: join(directory, 'csi'), nodeName, rootDirectory }) : undefined;
  }

  /**
   * Starts the side and waits until its node is ready and pods can use the default service account. If the start fails,
   * everything is stopped again.
   */
  static async start(options: SideOptions, signal: AbortSignal): Promise<Side> {
    const { name, program, binaries, subnet, directory, controlPlane } = options;
    await using stack = new AsyncDisposableStack();
    const runtime = await RuntimeSide.start(binaries, directory, subnet);
    stack.defer(() => runtime.stop());
    const kubeconfig = await controlPlane.nodeKubeconfig(name);
    const staticPodPath = join(directory, 'manifests');
    await mkdir(staticPodPath);
    const configuration = { staticPodPath, fileCheckFrequency: '1s', ...CONFIGURATION };
    const kubelet = new ClusterKubelet({
      ...{ program, nodeName: name, kubeconfig, endpoint: runtime.endpoint, configuration },
      cgroupRoot: runtime.cgroupRoot,
      directory: join(directory, 'k'),
    });
    const side = new Side(options, runtime, kubelet);
    // `stop` also stops the runtime. The stack then stops the runtime again, which has no effect.
    stack.defer(() => side.stop());
    await side.#plugins.start();
    await kubelet.start();
    await side.#prepare(signal);
    stack.move();
    return side;
  }

  async create({ name, spec, finalizers, labels, isStatic = false }: Case): Promise<void> {
    const { name: side, controlPlane } = this.#options;
    const metadata = {
      name,
      namespace: side,
      labels: { app: name, ...labels },
      annotations: { note: 'n' },
      finalizers,
    };
    const own = JSON.parse(JSON.stringify(spec).replaceAll(SIDE, side)) as PodSpec;
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...DEFAULTS, ...own } };
    if (isStatic) return writeFile(join(this.#manifests, `${name}.json`), JSON.stringify(pod));
    await controlPlane.json('POST', `${this.#namespace}/pods`, { ...pod, spec: { ...pod.spec, nodeName: side } });
  }

  /** Reports whether the status of a case's pod shows that the pod has started ({@link hasStarted}). */
  async isStarted({ name }: Case): Promise<boolean> {
    return hasStarted(await this.#options.controlPlane.json<Pod>('GET', `${this.#namespace}/pods/${name}`));
  }

  /** Returns the number of cases whose pods have started, according to {@link isStarted}. */
  async countStarted(cases: readonly Case[]): Promise<number> {
    const { name: node } = this.#options;
    const names = new Set(cases.map(({ name, isStatic }) => (isStatic ? `${name}-${node}` : name)));
    return (await this.#pods()).filter((pod) => names.has(pod.metadata.name) && hasStarted(pod)).length;
  }

  /** Performs the change that the case defines. */
  async change({ name, later = [] }: Case): Promise<void> {
    if (later.length > 0)
      await this.#options.controlPlane.kubectl([`--namespace=${this.#options.name}`, ...later, name]);
  }

  /** Collects everything that is compared. */
  async find(): Promise<Found> {
    const { name, directory, controlPlane } = this.#options;
    const list = <T>(path: string): Promise<{ readonly items: readonly T[] }> => controlPlane.json('GET', path);
    const { items: ofPods } = await list<EventFields>(`${this.#namespace}/events`);
    const { items: others } = await list<EventFields>('/api/v1/namespaces/default/events');
    const pods = await this.#pods();
    const storage = await this.#storage(pods);
    const node = await controlPlane.json<NodeJson>('GET', `/api/v1/nodes/${name}`);
    return {
      names: { [name]: '<side>', [directory]: '<directory>', ...namesOfVolumes(this.#volumes) },
      pods,
      events: [...ofPods, ...others.filter(({ involvedObject }) => involvedObject.name === name)],
      runtime: await this.#runtimeRequests(),
      storage: storage.pods,
      node: { ...node, ...storage.ofNode },
    };
  }

  /** Returns the findings about CSI volumes: those of each pod, and those of the node. */
  async #storage(
    pods: readonly Pod[],
  ): Promise<{ readonly pods: ReadonlyMap<string, Json>; readonly ofNode: { readonly [key: string]: unknown } }> {
    const { name, controlPlane } = this.#options;
    if (this.#csi === undefined) return { pods: new Map(), ofNode: {} };
    type Claim = { readonly metadata: { readonly name: string }; readonly status?: Json };
    const list = `${this.#namespace}/persistentvolumeclaims`;
    const { items } = await controlPlane.json<{ readonly items: readonly Claim[] }>('GET', list);
    const own = pods.filter(usesCsi);
    const uids = own.map(({ metadata }) => metadata.uid);
    const found = sortStorage({
      ...{ pods: own, volumes: this.#volumes, calls: await this.#csi.calls() },
      facts: await csiFacts(this.#kubelet.rootDirectory, uids),
      claims: new Map(items.map(({ metadata, status = null }) => [metadata.name, status])),
    });
    const csiNode = await controlPlane.json('GET', `/apis/storage.k8s.io/v1/csinodes/${name}`);
    return { pods: found.pods, ofNode: { csiNode, csi: found.others } };
  }

  /** Deletes the pods and waits until they are gone. */
  async clear(signal: AbortSignal): Promise<void> {
    const { name, controlPlane } = this.#options;
    // The manifests are deleted one by one: if the whole directory were removed, the kubelet would keep its static
    // pods.
    for (const file of await readdir(this.#manifests)) await rm(join(this.#manifests, file));
    await controlPlane.json('DELETE', `${this.#namespace}/pods`);
    const held = ['patch', 'pod', '--patch={"metadata":{"finalizers":null}}'];
    for (const { metadata } of await this.#pods()) {
      if (metadata.finalizers?.length) await controlPlane.kubectl([`--namespace=${name}`, ...held, metadata.name]);
    }
    const isEmpty = async (): Promise<boolean> => (await this.#pods()).length === 0;
    await until('all pods are deleted', isEmpty, signal, { everyMs: 500 });
  }

  /** Deletes the pods, waits until they are gone, and stops kubelet and runtime. */
  async stop(signal?: AbortSignal): Promise<void> {
    try {
      if (signal && !signal.aborted) await this.clear(signal);
    } finally {
      await this.#kubelet.stop();
      this.#plugins.stop();
      await this.#csi?.stop();
      await this.#runtime.stop();
    }
  }

  get #manifests(): string {
    return join(this.#options.directory, 'manifests');
  }

  get #namespace(): string {
    return `/api/v1/namespaces/${this.#options.name}`;
  }

  async #pods(): Promise<readonly Pod[]> {
    const path = `${this.#namespace}/pods`;
    return (await this.#options.controlPlane.json<{ readonly items: readonly Pod[] }>('GET', path)).items;
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    const { name, controlPlane } = this.#options;
    await controlPlane.json('POST', '/api/v1/namespaces', { metadata: { name } });
    await controlPlane.json('POST', `${this.#namespace}/configmaps`, { metadata: { name: 'here' }, data: { k: 'v' } });
    await controlPlane.json('POST', `${this.#namespace}/secrets`, {
      metadata: { name: 'here' },
      stringData: { k: 's' },
    });
    await makeClaims(this.#options);
    const isReady = async (): Promise<boolean> => {
      // Throws if the kubelet has exited.
      await this.#kubelet.usage();
      const account = await controlPlane.request('GET', `${this.#namespace}/serviceaccounts/default`);
      const { status, text } = await controlPlane.request('GET', `/api/v1/nodes/${name}`);
      return account.status === 200 && status === 200 && READY.test(text);
    };
    await until(`the node ${name} is ready`, isReady, signal, { everyMs: 250 });
    const status = { capacity: AMOUNTS, allocatable: AMOUNTS };
    const patch = [
      'patch',
      'node',
      name,
      '--subresource=status',
      '--type=merge',
      `--patch=${JSON.stringify({ status })}`,
    ];
    await controlPlane.kubectl(patch);
    const hasDevices = async (): Promise<boolean> => {
      const [refusal] = this.#plugins.refusals;
      if (refusal !== undefined) throw new Error(`register device plugins: kubelet rejected ${refusal}`);
      const { status } = await controlPlane.json<NodeJson>('GET', `/api/v1/nodes/${name}`);
      return DEVICE_RESOURCES.every((resource) => status?.allocatable?.[resource] === '1');
    };
    await until(`the node ${name} has its devices`, hasDevices, signal, { everyMs: 250 });
    if (this.#csi !== undefined) await this.#prepareCsi(this.#csi, signal);
  }

  async #prepareCsi(drivers: CsiDrivers, signal: AbortSignal): Promise<void> {
    const { name: side, controlPlane } = this.#options;
    await drivers.start();
    const isRegistered = async (): Promise<boolean> => {
      const { status, text } = await controlPlane.request('GET', `/apis/storage.k8s.io/v1/csinodes/${side}`);
      return status === 200 && drivers.names.every((driver) => text.includes(`"name":"${driver}"`));
    };
    await until(`the node ${side} has its CSI drivers`, isRegistered, signal, { everyMs: 250 });
    this.#volumes = await makeCsiClaims({ side, controlPlane, drivers });
    const areBound = async (): Promise<boolean> => {
      type Claims = { readonly items: readonly { metadata: { name: string }; status?: { phase?: string } }[] };
      const { items } = await controlPlane.json<Claims>('GET', `${this.#namespace}/persistentvolumeclaims`);
      const bound = new Set(
        items.flatMap(({ metadata, status }) => (status?.phase === 'Bound' ? [metadata.name] : [])),
      );
      return BOUND_CLAIMS.every((claim) => bound.has(claim));
    };
    await until(`the claims of ${side} are bound`, areBound, signal, { everyMs: 500 });
    await growVolumes({ side, controlPlane });
  }

  async #runtimeRequests(): Promise<ReadonlyMap<string, Json>> {
    const { client } = this.#runtime;
    const requests = new Map<string, Json>();
    for (const { id, metadata } of (await client.listPodSandbox({})).items) {
      const found = await unlessGone(client.podSandboxStatus({ podSandboxId: id, verbose: true }));
      if (found) requests.set(metadata?.name ?? '', configurationIn(found.info));
    }
    for (const { id, metadata, labels } of (await client.listContainers({})).containers) {
      if (metadata?.attempt !== 0) continue;
      const found = await unlessGone(client.containerStatus({ containerId: id, verbose: true }));
      if (found) requests.set(`${labels['io.kubernetes.pod.name']}/${metadata.name}`, configurationIn(found.info));
    }
    return requests;
  }
}

/**
 * Waits for the response of a runtime status call for an object that was just listed. Resolves with `undefined` if the
 * object is gone.
 */
async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (CriError.from(error).code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

const CONFIGURATION = {
  ...{ clusterDNS: ['192.0.2.10'], clusterDomain: 'cluster.local', syncFrequency: '20s' },
  // The period is short, so that the kubelet measures volumes at least once before the comparison.
  volumeStatsAggPeriod: '10s',
};
const AMOUNTS = { [EXTENDED.scarce]: '2', [EXTENDED.rare]: '1' };
const DEFAULTS = { terminationGracePeriodSeconds: 1 };
const READY = /"type":"Ready","status":"True"/;

/**
 * Returns containerd's record of a sandbox or container: the configuration from the CRI request, and the OCI runtime
 * specification that containerd made from it.
 */
function configurationIn(info: Readonly<Record<string, string>>): Json {
  const { config, runtimeSpec } = JSON.parse(info.info ?? '{}') as Readonly<Record<string, unknown>>;
  return plain({ config, runtimeSpec });
}
