import { type Random, seededRandom, sleep } from '@node-agent/async';
import type { FakeClock } from '@node-agent/async/testing';
import {
  type AuditEntry,
  FakeApiServer,
  type FaultSource,
  type HttpTransport,
  type RequestAttributes,
  type RequestFault,
  seededFaults,
} from '@node-agent/fake-apiserver';
import type { NodePlan } from '../scenario/actions.ts';
import type { BrokenKind } from '../scenario/broken-plans.ts';
import {
  claimObjects,
  cpuRequest,
  ephemeralObject,
  FOREIGN_CONDITION,
  GATE_CONDITION,
  NODE_NAME,
  OBJECT_FILES,
  podObject,
  wholeAmounts,
} from '../scenario/manifest.ts';
import type { WholePlan } from '../scenario/numa-plans.ts';
import type { ContainerPlan, CpuPlan, ObjectPlan, PodPlan } from '../scenario/plans.ts';
import { driverObject, volumeObjects } from '../scenario/volume-objects.ts';
import type { CsiDriverPlan } from '../scenario/volume-plans.ts';
import { ClaimScheduler } from './claim-scheduler.ts';
import { millisOf } from './millis.ts';

/** The kubelet's API user. */
const NODE_USER = { name: `system:node:${NODE_NAME}`, groups: ['system:nodes'] };
/** The user who creates and deletes pods. Of all faults, only outages of the API server affect this user. */
const USER = { name: 'user', groups: ['system:masters'] };
const NAMESPACE = 'default';
const PLURALS = { secret: 'secrets', configMap: 'configmaps' } as const;
/** Name of the invalid pod object. */
const BROKEN_NAME = 'broken';
const RETRY_MS = 500;
/** Time after which the scheduler looks again for a device for a pod. */
const SCHEDULED_AGAIN_MS = 1000;
/** Delay between the release of a name and the creation of the next pod with this name. */
const COMES_AGAIN_MS = 10;
/** Maximum time by which a fault delays a request. */
export const MAX_REQUEST_DELAY_MS = 10_000;

/** A pod as the API server stores it. */
export interface ShownPod {
  readonly name: string;
  readonly uid: string;
  readonly mirror: boolean;
  readonly phase: string | undefined;
  /** Statuses of the pod's conditions, by type. */
  readonly conditions: Readonly<Record<string, string>>;
  /** The pod's resize conditions: `pending` is the reason why a resize is pending. */
  readonly resize: { readonly pending: string | undefined; readonly inProgress: boolean };
  /** CPU of the pod's containers in thousandths: requested, allocated, and reported as running. */
  readonly cpu: Readonly<Record<'asked' | 'allocated' | 'running', CpuPlan>>;
  /** IDs, restart counts and states of the pod's containers as text. The text must become equal to the kubelet's report. */
  readonly containers: string;
}

/** A request that the kubelet has sent to the API server, and its result. */
export type ApiRequest = Pick<AuditEntry, 'verb' | 'resource' | 'name' | 'status'> & {
  /** UID of the requested pod before the request was performed. */
  readonly uid: string | undefined;
};

/** Parameters of the deletion of a pod. */
export interface PodDeletion {
  readonly name: string;
  /** If set, only a pod with this UID is deleted. */
  readonly uid?: string;
  /** If true, the pod is deleted without a grace period. */
  readonly force?: boolean;
  /** Grace period in seconds. Default: the grace period in the pod's spec. */
  readonly graceSeconds?: number | undefined;
}

/**
 * The API server of the simulated cluster, and the user who works with the API server. The API server and the user
 * survive the kubelet.
 */
export class ClusterApi {
  readonly server: FakeApiServer;
  readonly #clock: FakeClock;
  readonly #random: Random;
  /** Last known UIDs of pods by name. The UIDs are needed because requests may name pods that were just deleted. */
  readonly #uids = new Map<string, string>();
  /** Callbacks that wait for a free name. */
  readonly #waiting: (() => void)[] = [];
  /** Allocates devices to claims; `undefined` without a DRA driver. */
  readonly claims: ClaimScheduler | undefined;
  readonly #csiDrivers: readonly CsiDriverPlan[];
  #faults: FaultSource | undefined;
  #behind = 0;
  /** Query of the request in progress. */
  #query = new URLSearchParams();

  /**
   * @param plan drivers whose objects the cluster has
   * @param tell called for each request of the kubelet that gets a response
   */
  constructor(
    clock: FakeClock,
    seed: number,
    { csi, claims }: Pick<NodePlan, 'csi' | 'claims'>,
    tell: (request: ApiRequest) => void,
  ) {
    this.#clock = clock;
    this.#csiDrivers = csi?.drivers ?? [];
    this.#random = seededRandom(seed ^ 0x5eed);
    this.server = new FakeApiServer({ clock, random: seededRandom(seed + 7) });
    this.claims = claims && new ClaimScheduler(this.server, NAMESPACE, claims.devices);
    this.#putCsiDrivers();
    this.server.faults.useSource({ nextFault: (request) => this.#lagOf(request) ?? this.#faults?.nextFault(request) });
    this.server.onRequest(({ user, verb, resource, name, status }) => {
      if (user === NODE_USER.name) tell({ verb, resource, name, status, uid: this.#uids.get(name) });
      this.#rememberUids();
      if (verb === 'delete') this.#nameFreed();
    });
  }

  /** The kubelet's connection to the API server. */
  get transport(): HttpTransport {
    return {
      request: (request, signal) => {
        // The server draws faults synchronously during the call, so the query is set immediately before.
        this.#query = new URL(request.path, 'http://api').searchParams;
        return this.server.request(request, signal, NODE_USER);
      },
    };
  }

  /**
   * Binds a pod to the node, with the UID of its plan, as soon as no other pod has its name and its claim has a device.
   * Calls `then` immediately before it binds the pod.
   */
  create(pod: PodPlan, then: () => void): void {
    if (this.pods().some(({ name }) => name === pod.name)) {
      this.#waiting.push(() => this.create(pod, then));
      return;
    }
    if (this.claims?.allocate(pod) === false) {
      this.#clock.setTimer(SCHEDULED_AGAIN_MS, () => this.create(pod, then));
      return;
    }
    then();
    const { metadata, spec, ...type } = podObject(pod);
    const conditions = [{ type: FOREIGN_CONDITION, status: 'True' }];
    for (const disk of pod.disks ?? []) for (const object of claimObjects(disk, NAMESPACE)) this.server.put(object);
    for (const volume of pod.csi ?? []) for (const object of volumeObjects(volume, NAMESPACE)) this.#putNew(object);
    const status = { phase: 'Pending', qosClass: qosOf(pod), conditions };
    this.server.put({
      ...type,
      metadata: { ...metadata, namespace: NAMESPACE },
      spec: { ...spec, nodeName: NODE_NAME },
      status,
    });
    this.#rememberUids();
  }

  /**
   * Sends an invalid pod object to the node. The object is not part of {@link pods}, because the kubelet must ignore
   * it.
   */
  putBroken(kind: BrokenKind): void {
    const containers = {
      noContainers: undefined,
      wrongTypes: 'busybox',
      leadsOutside: [{ name: '../../outside', image: 'busybox' }],
    }[kind];
    const metadata = { name: BROKEN_NAME, namespace: NAMESPACE, uid: `${BROKEN_NAME}-u` };
    const spec = { nodeName: NODE_NAME, ...(containers !== undefined && { containers }) };
    this.server.put({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
  }

  /** Retries all waiting creations, because a name may have become free. */
  #nameFreed(): void {
    if (this.#waiting.length === 0) return;
    this.#clock.setTimer(COMES_AGAIN_MS, () => {
      for (const create of this.#waiting.splice(0)) create();
    });
  }

  /** Deletes a pod as soon as the server is reachable. Calls `then` immediately before it sends the request. */
  async delete({ name, uid, force = false, graceSeconds }: PodDeletion, then: () => void): Promise<void> {
    while (!this.server.reachable) await sleep(this.#clock, RETRY_MS);
    then();
    const gracePeriodSeconds = force ? 0 : graceSeconds;
    const body = JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds },
      ...(uid !== undefined && { preconditions: { uid } }),
    });
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}`;
    const headers = { 'content-type': 'application/json' };
    await this.server.request({ method: 'DELETE', path, headers, body }, undefined, USER);
  }

  /** Sets the condition of a pod's readiness gate as soon as the server is reachable. */
  async openGate(name: string): Promise<void> {
    while (!this.server.reachable) await sleep(this.#clock, RETRY_MS);
    const body = JSON.stringify({ status: { conditions: [{ type: GATE_CONDITION, status: 'True' }] } });
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}/status`;
    const headers = { 'content-type': 'application/strategic-merge-patch+json' };
    await this.server.request({ method: 'PATCH', path, headers, body }, undefined, USER);
  }

  /**
   * Requests other resources for a pod, if it still exists, as soon as the server is reachable. Calls `then`
   * immediately before it sends the request.
   */
  async resize(name: string, uid: string, cpu: CpuPlan, then: () => void): Promise<void> {
    while (!this.server.reachable) await sleep(this.#clock, RETRY_MS);
    if (!this.pods().some((pod) => pod.uid === uid)) return;
    then();
    const containers = Object.entries(cpu).map(([of, millis]) => ({
      name: of,
      resources: { requests: cpuRequest(millis) },
    }));
    await this.#patch(`${name}/resize`, { spec: { containers } });
  }

  /**
   * Requests other resources for a container of a Guaranteed pod, if the pod still exists, as soon as the server is
   * reachable. The server may reject the resize.
   */
  async resizeWhole(name: string, uid: string, container: string, whole: WholePlan): Promise<void> {
    while (!this.server.reachable) await sleep(this.#clock, RETRY_MS);
    if (!this.pods().some((pod) => pod.uid === uid)) return;
    const amounts = wholeAmounts(whole);
    const containers = [{ name: container, resources: { requests: amounts, limits: amounts } }];
    await this.#patch(`${name}/resize`, { spec: { containers } }).catch(() => {});
  }

  /** Adds an ephemeral container to a pod, if it still exists, as soon as the server is reachable. */
  async debug(name: string, uid: string, container: ContainerPlan): Promise<void> {
    while (!this.server.reachable) await sleep(this.#clock, RETRY_MS);
    if (!this.pods().some((pod) => pod.uid === uid)) return;
    await this.#patch(`${name}/ephemeralcontainers`, { spec: { ephemeralContainers: [ephemeralObject(container)] } });
  }

  async #patch(what: string, patch: object): Promise<void> {
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${what}`;
    const headers = { 'content-type': 'application/strategic-merge-patch+json' };
    const { status, body } = await this.server.request(
      { method: 'PATCH', path, headers, body: JSON.stringify(patch) },
      undefined,
      USER,
    );
    if (status !== 200) throw new Error(`request ${path}: ${status} ${await textOf(body)}`);
  }

  /** The node's condition MemoryPressure in the API. */
  get memoryPressure(): boolean | undefined {
    const condition = this.#nodeCondition('MemoryPressure');
    return condition && condition.status === 'True';
  }

  /** Status and message of the node's condition Ready in the API. */
  get ready(): string | undefined {
    const condition = this.#nodeCondition('Ready');
    return condition && `${condition.status}: ${condition.message ?? ''}`;
  }

  #nodeCondition(of: string): ConditionLike | undefined {
    const [node] = this.server.objects('nodes') as unknown as readonly StoredPod[];
    return node?.status?.conditions?.find(({ type }) => type === of);
  }

  /** Makes requests of the kubelet fail randomly until {@link cure} is called. */
  strike(requestRate: number, watchRate: number): void {
    const source = seededFaults(this.#random, {
      request: requestRate,
      watch: watchRate,
      maxDelayMs: MAX_REQUEST_DELAY_MS,
      maxWatchMs: 20_000,
    });
    this.#faults = {
      nextFault: (request) => (request.user === NODE_USER.name ? source.nextFault(request) : undefined),
    };
  }

  cure(): void {
    this.#faults = undefined;
  }

  /**
   * Makes reads of the kubelet that may be served from a cache return a state that is this number of writes old. The
   * value 0 ends the fault.
   */
  lag(behind: number): void {
    this.#behind = behind;
  }

  /** Starts a new, empty cluster. */
  wipe(): void {
    this.server.wipe();
    this.#putCsiDrivers();
    this.#uids.clear();
    this.#nameFreed();
  }

  /**
   * Sets the version in a secret or config map as soon as the server is reachable. Calls `then` immediately before it
   * sets the version.
   */
  async putObject({ kind, name }: ObjectPlan, version: number, then: () => void): Promise<void> {
    while (!this.server.reachable) await sleep(this.#clock, RETRY_MS);
    then();
    const text = String(version);
    const before = this.server
      .objects(PLURALS[kind])
      .find(({ metadata }) => (metadata as { name?: string }).name === name);
    const value = kind === 'secret' ? Buffer.from(text).toString('base64') : text;
    this.server.put({
      apiVersion: 'v1',
      kind: kind === 'secret' ? 'Secret' : 'ConfigMap',
      metadata: { ...(before?.metadata as object | undefined), name, namespace: NAMESPACE },
      data: Object.fromEntries(OBJECT_FILES.map((file) => [file, value])),
      ...(kind === 'secret' && { type: 'Opaque' }),
    });
  }

  /**
   * Deletes a secret or config map as soon as the server is reachable. Calls `then` immediately before it sends the
   * request.
   */
  async removeObject({ kind, name }: ObjectPlan, then: () => void): Promise<void> {
    while (!this.server.reachable) await sleep(this.#clock, RETRY_MS);
    then();
    const path = `/api/v1/namespaces/${NAMESPACE}/${PLURALS[kind]}/${name}`;
    await this.server.request({ method: 'DELETE', path, headers: {} }, undefined, USER);
  }

  #putCsiDrivers(): void {
    for (const plan of this.#csiDrivers) this.server.put(driverObject(plan));
  }

  /**
   * Puts a volume or claim into the API, unless the API has the object already: an existing object may have been
   * expanded.
   */
  #putNew(object: ReturnType<typeof volumeObjects>[number]): void {
    const { kind, metadata } = object;
    const plural = kind === 'PersistentVolume' ? 'persistentvolumes' : 'persistentvolumeclaims';
    const known = this.server.objects(plural).some((one) => (one.metadata as { name?: string }).name === metadata.name);
    if (!known) this.server.put(object);
  }

  /**
   * Expands a volume as a controller does, as soon as the server is reachable: the node must expand it, too, and then
   * writes the claim's new capacity. Does nothing if the volume does not exist.
   */
  async expandVolume(name: string, gibibytes: number): Promise<void> {
    while (!this.server.reachable) await sleep(this.#clock, RETRY_MS);
    const storage = `${gibibytes}Gi`;
    const change = (plural: string, of: (object: VolumeLike) => object): void => {
      const found = this.server.objects(plural).find((one) => (one.metadata as { name?: string }).name === name);
      if (found !== undefined) this.server.put({ ...found, ...of(found as unknown as VolumeLike) } as typeof found);
    };
    change('persistentvolumes', ({ spec }) => ({
      ...{ apiVersion: 'v1', kind: 'PersistentVolume' },
      spec: { ...spec, capacity: { storage } },
    }));
    change('persistentvolumeclaims', ({ spec, status }) => ({
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
      spec: { ...spec, resources: { requests: { storage } } },
      status: {
        ...status,
        allocatedResources: { storage },
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
      },
    }));
  }

  /** Returns the capacities of the volumes and of their claims, by name. */
  volumeSizes(): ReadonlyMap<string, { readonly volume: string | undefined; readonly claim: string | undefined }> {
    const claims = this.server.objects('persistentvolumeclaims') as unknown as readonly VolumeLike[];
    const volumes = this.server.objects('persistentvolumes') as unknown as readonly VolumeLike[];
    return new Map(
      claims.map(({ metadata: { name }, status }) => {
        const volume = volumes.find(({ metadata }) => metadata.name === name);
        return [name, { volume: volume?.spec.capacity?.storage, claim: status?.capacity?.storage }];
      }),
    );
  }

  /** The names in the node's `volumesInUse`; `undefined` if the node is not registered. */
  get volumesInUse(): readonly string[] | undefined {
    const [node] = this.server.objects('nodes') as unknown as readonly StoredPod[];
    return node && (node.status?.volumesInUse ?? []);
  }

  /** Whether the node is registered. */
  get registered(): boolean {
    return this.server.objects('nodes').length > 0;
  }

  /** Returns the pods of the node, as the server stores them. */
  pods(): readonly ShownPod[] {
    return this.#stored().map(shownPod);
  }

  /** Returns the pod with this UID, as the server stores it. */
  podOf(uid: string): ShownPod | undefined {
    const pod = this.#stored().find(({ metadata }) => metadata.uid === uid);
    return pod && shownPod(pod);
  }

  #stored(): readonly StoredPod[] {
    const stored = this.server.objects('pods') as unknown as readonly StoredPod[];
    return stored.filter(({ metadata }) => metadata.name !== BROKEN_NAME);
  }

  /**
   * Returns the fault of a read that hits a stale cache. A read with a resource version never returns an older version,
   * and a read without a resource version is always current.
   */
  #lagOf({ user, verb }: RequestAttributes): RequestFault | undefined {
    if (this.#behind === 0 || user !== NODE_USER.name) return undefined;
    // Simulates an old server that does not stream lists.
    if (verb === 'watch') return this.#query.has('sendInitialEvents') ? { kind: 'status', code: 400 } : undefined;
    const version = this.#query.get('resourceVersion') ?? '';
    if ((verb !== 'list' && verb !== 'get') || version === '') return undefined;
    const revisionsBehind = Math.min(this.#behind, this.server.revision - Number(version));
    return revisionsBehind > 0 ? { kind: 'stale', revisionsBehind } : undefined;
  }

  #rememberUids(): void {
    for (const { metadata } of this.#stored()) this.#uids.set(metadata.name, metadata.uid);
  }
}

interface StoredPod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly containers?: readonly Asking[] };
  readonly status?: PodStatusLike;
}

interface Asking {
  readonly name: string;
  readonly resources?: { readonly requests?: { readonly cpu?: string } };
}

function qosOf({ cpu, whole }: PodPlan): string {
  if (whole !== undefined) return 'Guaranteed';
  return cpu === undefined ? 'BestEffort' : 'Burstable';
}

interface VolumeLike {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly capacity?: { readonly storage?: string } };
  readonly status?: { readonly capacity?: { readonly storage?: string } };
}

interface PodStatusLike {
  readonly volumesInUse?: readonly string[];
  readonly phase?: string;
  readonly conditions?: readonly ConditionLike[];
  readonly containerStatuses?: readonly ContainerStatusLike[];
  readonly initContainerStatuses?: readonly ContainerStatusLike[];
}

interface ConditionLike {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

interface ContainerStatusLike extends Asking {
  readonly allocatedResources?: { readonly cpu?: string };
  readonly containerID?: string;
  readonly restartCount: number;
  readonly state?: object;
}

function shownPod(pod: StoredPod): ShownPod {
  const { name, uid, annotations = {} } = pod.metadata;
  const mirror = 'kubernetes.io/config.mirror' in annotations;
  const { phase, conditions = [] } = pod.status ?? {};
  return {
    ...{ name, uid, mirror, phase, containers: containersText(pod.status) },
    resize: resizeOf(conditions),
    cpu: cpuOf(pod),
    conditions: Object.fromEntries(conditions.map(({ type, status }) => [type, status])),
  };
}

function resizeOf(conditions: readonly ConditionLike[]): ShownPod['resize'] {
  const of = (type: string): ConditionLike | undefined =>
    conditions.find((condition) => condition.type === type && condition.status === 'True');
  const pending = of('PodResizePending');
  return { pending: pending && (pending.reason ?? ''), inProgress: of('PodResizeInProgress') !== undefined };
}

function cpuOf({ spec, status }: StoredPod): ShownPod['cpu'] {
  const asked = (of: readonly Asking[] = []): CpuPlan =>
    cpus(of.map(({ name, resources }) => [name, resources?.requests?.cpu]));
  const { containerStatuses = [] } = status ?? {};
  return {
    asked: asked(spec?.containers),
    allocated: cpus(containerStatuses.map(({ name, allocatedResources }) => [name, allocatedResources?.cpu])),
    running: asked(containerStatuses),
  };
}

function cpus(of: readonly (readonly [string, string | undefined])[]): CpuPlan {
  return Object.fromEntries(of.flatMap(([name, cpu]) => (cpu === undefined ? [] : [[name, millisOf(cpu)]])));
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Formats the container statuses as one text, for comparison. */
export function containersText(status: PodStatusLike | undefined): string {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all
    .map(
      ({ name, containerID, restartCount, state }) =>
        `${name} ${containerID} ${restartCount} ${Object.keys(state ?? {})}`,
    )
    .sort()
    .join('; ');
}
