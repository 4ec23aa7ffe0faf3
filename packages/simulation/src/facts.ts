import type { Observation } from './observation.ts';
import type { Action, NodePlan } from './scenario/actions.ts';
import type { PodPlan } from './scenario/plans.ts';
import type { Life } from './world/ledger.ts';

interface FileFacts {
  /** What the file says now; `undefined` where it is broken. */
  readonly content: PodPlan | undefined;
  /** What a kubelet that saw all of it holds on to. */
  readonly lastGood: PodPlan | undefined;
}

/**
 * What is true of the machine, from what was observed: which pods the user wants, which containers have run. Invariants
 * are checked against it, so it asks nothing of the kubelet and shares no rule with it.
 */
export class Facts {
  readonly node: NodePlan;
  nowMs = 0;
  /** Which of the kubelet's lives this is; 0 before the first. */
  kubelet = 0;
  kubeletUp = false;
  kubeletStartedAtMs = 0;
  sourcesReady = false;
  sourcesReadyAtMs = 0;
  runtimeUp = true;
  runtimeChangedAtMs = 0;
  faultsEnded = false;
  /** When the wall clock was last moved; -1 where it never was. */
  clockJumpedAtMs = -1;
  /** Since when the API server refuses connections; infinite where it does not. */
  apiAwaySinceMs: number = Number.POSITIVE_INFINITY;
  /** When the API server was last away, or failed requests. */
  apiTroubleAtMs = 0;
  #apiFaults = 0;
  #apiAways = 0;
  readonly #apiPods = new Map<string, PodPlan>();
  readonly #everApiPods = new Set<string>();
  readonly #endedInApi = new Set<string>();
  /** When the first fault or restart of any kind was injected; infinite before. */
  firstFaultAtMs: number = Number.POSITIVE_INFINITY;
  readonly #files = new Map<string, FileFacts>();
  #served: readonly PodPlan[] = [];
  #wanted: ReadonlyMap<string, PodPlan> = new Map();
  readonly #lastUnwantedAtMs = new Map<string, number>();
  readonly #unwantedSinceMs = new Map<string, number>();
  readonly #wantedSinceMs = new Map<string, number>();
  readonly #livesById = new Map<string, Life>();
  readonly #sandboxUids = new Map<string, string>();
  readonly #knownToKubelet = new Set<string>();
  readonly #syncBeganAtMs = new Map<string, number>();
  readonly #stopAskedAtMs = new Map<string, number>();
  readonly #plans = new Map<string, { readonly atMs: number; readonly pod: PodPlan }[]>();
  readonly #lives = new Map<string, Life[]>();
  readonly #live = new Map<string, Life>();
  readonly #lostSandboxes = new Map<string, number>();
  /** UIDs that were not wanted at a time when a kubelet started, which knew only their containers, or that were taken away at once. */
  readonly #orphaned = new Set<string>();

  constructor(node: NodePlan) {
    this.node = node;
  }

  /** The pods that the user wants to run, by UID. */
  get wanted(): ReadonlyMap<string, PodPlan> {
    return this.#wanted;
  }

  /** Whether the API server refuses connections. */
  get apiAway(): boolean {
    return this.#apiAways > 0;
  }

  /** Whether the API server is away, or fails requests by chance. */
  get apiInTrouble(): boolean {
    return this.apiAway || this.#apiFaults > 0;
  }

  /** Whether the pod was bound to the node in the API. */
  isApiPod(uid: string): boolean {
    return this.#everApiPods.has(uid);
  }

  /** Whether the API server has shown the pod as ended: a kubelet that starts then has nothing to run of it. */
  hasEndedInApi(uid: string): boolean {
    return this.#endedInApi.has(uid);
  }

  /** All UIDs that were ever wanted. */
  get knownUids(): readonly string[] {
    return [...this.#plans.keys()];
  }

  /** The processes that run. */
  get live(): readonly Life[] {
    return [...this.#live.values()];
  }

  /** When the pod was last not wanted; -1 where it is, and always was. */
  lastUnwantedAtMs(uid: string): number {
    return this.#wanted.has(uid) ? (this.#lastUnwantedAtMs.get(uid) ?? -1) : this.nowMs;
  }

  /** Since when the pod is not wanted any more; infinite where it is. */
  unwantedSinceMs(uid: string): number {
    return this.#wanted.has(uid) ? Number.POSITIVE_INFINITY : (this.#unwantedSinceMs.get(uid) ?? 0);
  }

  /** Whether the pod's manifest is a file that is broken now. */
  isBroken(uid: string): boolean {
    return [...this.#files.values()].some(({ content, lastGood }) => content === undefined && lastGood?.uid === uid);
  }

  /** When a kubelet first asked for a container to be stopped. */
  stopAskedAtMs(containerId: string): number | undefined {
    return this.#stopAskedAtMs.get(containerId);
  }

  /** Whether the kubelet that runs has had the pod from one of its sources. */
  isKnownToKubelet(uid: string): boolean {
    return this.#knownToKubelet.has(uid);
  }

  /**
   * When the last `syncPod` of the pod began in the kubelet that runs; infinite where none has. A removal that is seen
   * while it works ends the pod after it, whatever the configuration says by then.
   */
  syncBeganAtMs(uid: string): number {
    return this.#syncBeganAtMs.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /** The run of a container. */
  lifeOf(containerId: string): Life | undefined {
    return this.#livesById.get(containerId);
  }

  /** Whose sandbox this is, where a container has ever run in it. */
  uidOfSandbox(id: string): string | undefined {
    return this.#sandboxUids.get(id);
  }

  /** Whether a sandbox is an empty shell: nothing runs in it, and its pod has since had a container in a later one. */
  isSuperseded(sandboxId: string): boolean {
    const last = [...this.#livesById.values()].findLast(({ podUid }) => podUid === this.uidOfSandbox(sandboxId));
    return (
      last !== undefined && last.sandboxId !== sandboxId && this.live.every((life) => life.sandboxId !== sandboxId)
    );
  }

  /** Since when the pod is wanted as it is. */
  wantedSinceMs(uid: string): number {
    return this.#wantedSinceMs.get(uid) ?? this.nowMs;
  }

  /** What the pod was planned as, at any time: the newest last. */
  plansOf(uid: string): readonly PodPlan[] {
    return (this.#plans.get(uid) ?? []).map(({ pod }) => pod);
  }

  /** The plan that is or was the newest of this pod. */
  planOf(uid: string): PodPlan | undefined {
    return this.#wanted.get(uid) ?? this.#plans.get(uid)?.at(-1)?.pod;
  }

  /** All runs of a pod's container, the oldest first. */
  livesOf(uid: string, name: string): readonly Life[] {
    return this.#lives.get(`${uid}/${name}`) ?? [];
  }

  /** All runs of a pod's containers in one sandbox. */
  livesIn(uid: string, sandboxId: string): readonly Life[] {
    return [...this.#livesById.values()].filter((life) => life.podUid === uid && life.sandboxId === sandboxId);
  }

  /** The processes of a pod that run. */
  liveOf(uid: string): readonly Life[] {
    return this.live.filter((life) => life.podUid === uid);
  }

  sandboxLostAtMs(id: string): number | undefined {
    return this.#lostSandboxes.get(id);
  }

  /** Whether some kubelet may have known the pod by its containers only. */
  wasOrphaned(uid: string): boolean {
    return this.#orphaned.has(uid);
  }

  /** Takes in what happened; before the invariants look at it. */
  observe(observation: Observation): void {
    this.nowMs = observation.atMs;
    switch (observation.kind) {
      case 'action':
        this.#onAction(observation.action);
        return;
      case 'kubeletStarted':
        this.kubelet++;
        this.kubeletUp = true;
        this.kubeletStartedAtMs = observation.atMs;
        this.sourcesReady = false;
        this.#knownToKubelet.clear();
        this.#syncBeganAtMs.clear();
        for (const [file, { content }] of this.#files) this.#files.set(file, { content, lastGood: content });
        this.#updateWanted();
        for (const { podUid } of this.#live.values()) if (!this.#wanted.has(podUid)) this.#orphaned.add(podUid);
        return;
      case 'kubeletEnded':
        this.kubeletUp = false;
        return;
      case 'call': {
        const { name, args } = observation.call;
        const { containerId } = (args[0] ?? {}) as { readonly containerId?: string };
        if (name !== 'stopContainer' || containerId === undefined || this.#stopAskedAtMs.has(containerId)) return;
        this.#stopAskedAtMs.set(containerId, observation.atMs);
        return;
      }
      case 'stepBegan':
        if (observation.step === 'syncTerminatingRuntimePod') this.#orphaned.add(observation.uid);
        else this.#knownToKubelet.add(observation.uid);
        if (observation.step === 'syncPod') this.#syncBeganAtMs.set(observation.uid, observation.atMs);
        return;
      case 'sourcesReady':
        this.sourcesReady = true;
        this.sourcesReadyAtMs = observation.atMs;
        return;
      case 'runtimeDown':
      case 'runtimeUp':
        this.runtimeUp = observation.kind === 'runtimeUp';
        this.runtimeChangedAtMs = observation.atMs;
        return;
      case 'sandboxLost':
        this.#lostSandboxes.set(observation.id, observation.atMs);
        return;
      case 'faultsEnded':
        this.faultsEnded = true;
        return;
      case 'containerStarted': {
        const { life } = observation;
        const key = `${life.podUid}/${life.name}`;
        const lives = this.#lives.get(key) ?? [];
        lives.push(life);
        this.#lives.set(key, lives);
        this.#live.set(life.id, life);
        this.#livesById.set(life.id, life);
        this.#sandboxUids.set(life.sandboxId, life.podUid);
        return;
      }
      case 'apiRequest':
        if (observation.shown?.phase === 'Succeeded' || observation.shown?.phase === 'Failed') {
          this.#endedInApi.add(observation.shown.uid);
        }
        return;
      case 'podDeleted':
        this.#apiPods.delete(observation.uid);
        this.#updateWanted();
        return;
      case 'apiCured':
        this.apiTroubleAtMs = observation.atMs;
        if (observation.what === 'away') this.#apiAways--;
        else this.#apiFaults--;
        if (!this.apiAway) this.apiAwaySinceMs = Number.POSITIVE_INFINITY;
        return;
      case 'containerEnded':
        this.#live.delete(observation.life.id);
        return;
      default:
    }
  }

  #onAction(action: Action): void {
    switch (action.do) {
      case 'writeManifest':
        this.#files.set(action.file, { content: action.pod, lastGood: action.pod });
        this.#updateWanted();
        return;
      case 'breakManifest': {
        const lastGood = this.kubeletUp ? this.#files.get(action.file)?.lastGood : undefined;
        this.#files.set(action.file, { content: undefined, lastGood });
        this.#updateWanted();
        return;
      }
      case 'removeManifest':
        this.#files.delete(action.file);
        this.#updateWanted();
        return;
      case 'serve':
        this.#served = action.pods;
        this.#updateWanted();
        return;
      case 'jumpClock':
        this.clockJumpedAtMs = this.nowMs;
        return;
      case 'apiCreate':
        this.#apiPods.set(action.pod.uid, action.pod);
        this.#everApiPods.add(action.pod.uid);
        this.#updateWanted();
        return;
      case 'apiDelete':
        // Its containers get a second, as those that only the runtime knows.
        if (action.force) this.#orphaned.add(action.uid);
        return;
      case 'apiDeleteMirror':
      case 'apiGate':
        return;
      default:
        this.#onApiTrouble(action);
        this.firstFaultAtMs = Math.min(this.firstFaultAtMs, this.nowMs);
    }
  }

  #onApiTrouble(action: Action): void {
    if (action.do === 'apiAway') {
      this.#apiAways++;
      this.apiAwaySinceMs = Math.min(this.apiAwaySinceMs, this.nowMs);
    } else if (action.do === 'apiFaults') {
      this.#apiFaults++;
    } else if (action.do !== 'apiCompact') {
      return;
    }
    this.apiTroubleAtMs = this.nowMs;
  }

  #updateWanted(): void {
    const wanted = new Map<string, PodPlan>();
    const names = new Set<string>();
    const files = [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [, { lastGood }] of files) {
      if (lastGood === undefined || wanted.has(lastGood.uid) || names.has(lastGood.name)) continue;
      wanted.set(lastGood.uid, lastGood);
      names.add(lastGood.name);
    }
    for (const pod of this.node.http ? this.#served : []) if (!wanted.has(pod.uid)) wanted.set(pod.uid, pod);
    for (const [uid, pod] of this.#apiPods) wanted.set(uid, pod);
    for (const uid of this.#wanted.keys()) {
      if (wanted.has(uid)) continue;
      this.#wantedSinceMs.delete(uid);
      this.#unwantedSinceMs.set(uid, this.nowMs);
    }
    for (const [uid, pod] of wanted) {
      const before = this.#wanted.get(uid);
      if (before === undefined) this.#lastUnwantedAtMs.set(uid, this.nowMs);
      if (before === pod) continue;
      this.#wantedSinceMs.set(uid, this.nowMs);
      const plans = this.#plans.get(uid) ?? [];
      plans.push({ atMs: this.nowMs, pod });
      this.#plans.set(uid, plans);
    }
    this.#wanted = wanted;
  }
}
