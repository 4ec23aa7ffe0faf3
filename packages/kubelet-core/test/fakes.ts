import { Channel } from '@node-agent/async';
import type { PodWorkerSync, ProbeUpdate, UpdatePodOptions } from '@node-agent/contracts';
import type { Pod, PodStatus, RuntimeContainerStatus, RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';
import type { EventRecorder } from '@node-agent/telemetry';
import type { PodCachePort, PodCgroupsPort, PodWorkersPort, PodWorkerView } from '../src/ports.ts';

export function makePod(
  name: string,
  overrides: { uid?: string; spec?: Partial<Pod['spec']>; metadata?: object; status?: PodStatus } = {},
): Pod {
  return {
    metadata: { name, namespace: 'default', uid: overrides.uid ?? `uid-${name}`, ...overrides.metadata },
    spec: { containers: [{ name: 'main', image: 'busybox' }], ...overrides.spec },
    ...(overrides.status && { status: overrides.status }),
  };
}

export function emptyStatus(pod: Pod, overrides: Partial<RuntimePodStatus> = {}): RuntimePodStatus {
  const { uid, name, namespace } = pod.metadata;
  return { uid, name, namespace, ips: [], sandboxes: [], containers: [], observedAtMs: 0, ...overrides };
}

export function makeRuntimePod(uid: string, state: 'ready' | 'notReady' = 'ready'): RuntimePod {
  const sandbox = { id: `sandbox-${uid}`, state, attempt: 0, createdAtMs: 1, runtimeHandler: '' };
  return { uid, name: uid, namespace: 'default', createdAtMs: 1, containers: [], sandboxes: [sandbox] };
}

/** Pod cache that has read no pod. */
export const unreadCache: PodCachePort = {
  get: () => undefined,
  hasSeen: () => false,
  runningPods: () => undefined,
  getNewerThan: () => Promise.reject(new Error('not asked for')),
};

/** Pod workers that only record their calls. */
export class RecordingWorkers implements PodWorkersPort {
  readonly updates: UpdatePodOptions[] = [];
  readonly known: Map<string, PodWorkerSync> = new Map();
  readonly terminated: Set<string> = new Set();
  readonly terminationRequested: Set<string> = new Set();
  syncKnownPodsCalls = 0;
  view: PodWorkerView = { activity: { kind: 'idle' } };

  async start(): Promise<void> {}
  updatePod(options: UpdatePodOptions): void {
    this.updates.push(options);
    const uid = options.pod?.metadata.uid ?? options.runningPod?.uid ?? '';
    this.known.set(uid, { state: 'sync', orphan: false, hasConfig: true, static: true });
  }
  syncKnownPods(): ReadonlyMap<string, PodWorkerSync> {
    this.syncKnownPodsCalls += 1;
    return this.known;
  }
  /** UIDs of the pods that have finished and are desired again. */
  readonly reused: Set<string> = new Set();
  forgetReused(wantedPods: readonly Pod[]): readonly string[] {
    const forgotten = wantedPods.map(({ metadata }) => metadata.uid).filter((uid) => this.reused.delete(uid));
    for (const uid of forgotten) this.known.delete(uid);
    return forgotten;
  }
  isPodKnownTerminated(uid: string): boolean {
    return this.terminated.has(uid);
  }
  isPodTerminationRequested(uid: string): boolean {
    return this.terminationRequested.has(uid);
  }
  /** Evicted pods by UID: `ending` while the pod is terminating, `ended` afterwards. */
  readonly evicted: Map<string, 'ending' | 'ended'> = new Map();
  couldHaveRunningContainers(uid: string): boolean {
    return this.evicted.get(uid) === 'ending';
  }
  shouldPodContentBeRemoved(uid: string): boolean {
    return this.evicted.has(uid);
  }
  shouldPodRuntimeBeRemoved(): boolean {
    return false;
  }
  explain(uid: string): PodWorkerView | undefined {
    return this.known.has(uid) ? this.view : undefined;
  }
}

/** Status manager that stores every status unchanged. */
export class PlainStatuses {
  readonly statuses: Map<string, PodStatus> = new Map();
  readonly history: PodStatus[] = [];
  readonly terminated: string[] = [];
  /** Recorded calls of `setContainerReadiness` and `setContainerStartup`. */
  readonly told: string[] = [];

  getPodStatus(uid: string): PodStatus | undefined {
    return this.statuses.get(uid);
  }
  setPodStatus(pod: Pod, status: PodStatus): void {
    this.history.push(status);
    this.statuses.set(pod.metadata.uid, status);
  }
  knownStatus(pod: Pod): PodStatus | undefined {
    return this.getPodStatus(pod.metadata.uid) ?? pod.status;
  }
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void {
    this.told.push(`${uid} ${containerId} ready ${ready}`);
  }
  setContainerStartup(uid: string, containerId: string, started: boolean): void {
    this.told.push(`${uid} ${containerId} started ${started}`);
  }
  isReadinessStale({ spec }: Pod): boolean {
    return (spec.readinessGates ?? []).length > 0;
  }
  terminatePod(pod: Pod): void {
    this.terminated.push(pod.metadata.uid);
  }
  /** UIDs for which `resetForNewInstance` was called. */
  readonly begunAnew: string[] = [];
  resetForNewInstance(uid: string): void {
    this.begunAnew.push(uid);
  }
  removeOrphanedStatuses(known: ReadonlySet<string>): void {
    for (const uid of this.statuses.keys()) if (!known.has(uid)) this.statuses.delete(uid);
  }
}

/** Pod manager that stores pods by UID and has no mirror pods. */
export class PlainPodManager {
  readonly pods: Map<string, Pod> = new Map();

  addPod(pod: Pod): void {
    this.pods.set(pod.metadata.uid, pod);
  }
  updatePod(pod: Pod): void {
    this.pods.set(pod.metadata.uid, pod);
  }
  removePod(pod: Pod): void {
    this.pods.delete(pod.metadata.uid);
  }
  getPods(): readonly Pod[] {
    return [...this.pods.values()];
  }
  getPodByUid(uid: string): Pod | undefined {
    return this.pods.get(uid);
  }
  getPodByName(namespace: string, name: string): Pod | undefined {
    return this.getPods().find((pod) => pod.metadata.namespace === namespace && pod.metadata.name === name);
  }
  translatePodUid(uid: string): string {
    return uid;
  }
  getPodAndMirrorPod(pod: Pod): { pod: Pod; mirrorPod: undefined; wasMirror: boolean } {
    return { pod, mirrorPod: undefined, wasMirror: false };
  }
  orphanedMirrors: readonly string[] = [];
  getPodsAndMirrorPods(): { mirrorPods: readonly Pod[]; orphanedMirrorPodFullNames: readonly string[] } {
    return { mirrorPods: [], orphanedMirrorPodFullNames: this.orphanedMirrors };
  }
}

/** Returns an event recorder and the events that it recorded, as `reason: message` lines. */
export function recordEvents(): { readonly lines: string[]; readonly recorder: EventRecorder } {
  const lines: string[] = [];
  return { lines, recorder: { event: (_object, _type, reason, message) => void lines.push(`${reason}: ${message}`) } };
}

/** Probes that are never run; a test pushes results into `updates`. */
export class PlainProbes {
  readonly updates: Channel<ProbeUpdate> = new Channel<ProbeUpdate>();
  readonly calls: string[] = [];

  addPod(pod: Pod): void {
    this.calls.push(`add ${pod.metadata.uid}`);
  }
  stopLivenessAndStartup(uid: string): void {
    this.calls.push(`stop ${uid}`);
  }
  removePod(uid: string): void {
    this.calls.push(`remove ${uid}`);
  }
  cleanupPods(desired: ReadonlySet<string>): void {
    this.calls.push(`keep ${[...desired].join(' ')}`);
  }
  explain(uid: string): readonly unknown[] {
    return [`probes of ${uid}`];
  }
}

/** Pod cgroups in memory: `groups` has the existing cgroups, `calls` the recorded calls. */
export class PlainCgroups implements PodCgroupsPort {
  readonly groups: Set<string> = new Set();
  readonly calls: string[];
  /** Error that `ensure`, `destroy` and `pods` throw; `undefined` if they succeed. */
  failure: Error | undefined;

  constructor(calls: string[] = []) {
    this.calls = calls;
  }

  async exists(pod: Pod): Promise<boolean> {
    return this.groups.has(pod.metadata.uid);
  }
  async ensure(pod: Pod): Promise<boolean> {
    this.calls.push(`ensure ${pod.metadata.uid}`);
    if (this.failure) throw this.failure;
    const isNew = !this.groups.has(pod.metadata.uid);
    this.groups.add(pod.metadata.uid);
    return isNew;
  }
  async destroy(uid: string): Promise<void> {
    this.calls.push(`destroy ${uid}`);
    if (this.failure) throw this.failure;
    this.groups.delete(uid);
  }
  async reduceCpu(uid: string): Promise<void> {
    this.calls.push(`reduce ${uid}`);
  }
  async pods(): Promise<ReadonlySet<string>> {
    if (this.failure) throw this.failure;
    return new Set(this.groups);
  }
  async updateQos(active: readonly Pod[]): Promise<void> {
    this.calls.push(`qos ${active.map(({ metadata }) => metadata.uid).join(' ')}`);
  }
}

/** Status of a container of the pod `a`. */
export const container = (state: RuntimeContainerStatus['state'], id = 'c1'): RuntimeContainerStatus => ({
  id,
  name: 'main',
  state,
  createdAtMs: 1,
  startedAtMs: 2,
  finishedAtMs: 0,
  exitCode: 0,
  image: 'busybox',
  imageId: 'sha256:1',
  hash: '',
  restartCount: 0,
  reason: '',
  message: '',
  sandboxId: 's1',
});
