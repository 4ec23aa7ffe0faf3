import type { Observation } from '../observation.ts';
import type { Action } from '../scenario/actions.ts';
import type { Life } from '../world/ledger.ts';

/** The containers' processes that have run, and their sandboxes. */
export class Lives {
  readonly #byId = new Map<string, Life>();
  readonly #byName = new Map<string, Life[]>();
  readonly #running = new Map<string, Life>();
  readonly #sandboxUids = new Map<string, string>();
  readonly #lostSandboxes = new Map<string, number>();
  /** When a sandbox was last asked for, by the UID of its pod. */
  readonly #sandboxAskedAtMs = new Map<string, number>();
  /** How long a sandbox takes that is made after its call has failed, by a fault; 0 before there is such a fault. */
  #lateSandboxMs = 0;
  /** When such sandboxes may come, by the UID of their pod. */
  readonly #lateSandboxes = new Map<string, number[]>();

  /** The processes that run. */
  get running(): readonly Life[] {
    return [...this.#running.values()];
  }

  /** The processes of a pod that run. */
  runningOf(uid: string): readonly Life[] {
    const of: Life[] = [];
    for (const life of this.#running.values()) if (life.podUid === uid) of.push(life);
    return of;
  }

  /** The run of a container. */
  byId(containerId: string): Life | undefined {
    return this.#byId.get(containerId);
  }

  /** All runs of a pod's container, the oldest first. */
  of(uid: string, name: string): readonly Life[] {
    return this.#byName.get(`${uid}/${name}`) ?? [];
  }

  /** All runs of a pod's containers in one sandbox. */
  inSandbox(uid: string, sandboxId: string): readonly Life[] {
    return [...this.#byId.values()].filter((life) => life.podUid === uid && life.sandboxId === sandboxId);
  }

  /** Whose sandbox this is, where a container has ever run in it. */
  uidOfSandbox(id: string): string | undefined {
    return this.#sandboxUids.get(id);
  }

  /**
   * Whether a sandbox is an empty shell: nothing runs in it, and its pod has since had a container in a later one, or was to have another
   * sandbox.
   */
  isSuperseded(sandboxId: string): boolean {
    const uid = this.uidOfSandbox(sandboxId);
    const last = [...this.#byId.values()].findLast(({ podUid }) => podUid === uid);
    if (uid === undefined || last === undefined) return false;
    const isReplaced = last.sandboxId !== sandboxId || (this.#sandboxAskedAtMs.get(uid) ?? -1) > last.startedAtMs;
    return isReplaced && this.running.every((life) => life.sandboxId !== sandboxId);
  }

  /** When a kubelet last asked for a sandbox of the pod; -1 if none has. */
  sandboxAskedAtMs(uid: string): number {
    return this.#sandboxAskedAtMs.get(uid) ?? -1;
  }

  /** When a sandbox died by a fault. */
  sandboxLostAtMs(id: string): number | undefined {
    return this.#lostSandboxes.get(id);
  }

  /** Whether a sandbox whose call had failed may have come since, so that the pod has two, and is to begin anew. */
  mayHaveTwoSandboxes(uid: string, sinceMs: number, nowMs: number): boolean {
    return this.#lateSandboxes.get(uid)?.some((atMs) => sinceMs <= atMs && atMs <= nowMs) ?? false;
  }

  observe(observation: Observation): void {
    if (observation.kind === 'action') this.#onAction(observation.action);
    if (observation.kind === 'sandboxLost') this.#lostSandboxes.set(observation.id, observation.atMs);
    if (observation.kind === 'containerEnded') this.#running.delete(observation.life.id);
    if (observation.kind === 'call' && observation.call.name === 'runPodSandbox') {
      const { config } = (observation.call.args[0] ?? {}) as SandboxRequest;
      this.#onSandboxAsked(config?.metadata?.uid ?? '', observation.atMs);
    }
    if (observation.kind !== 'containerStarted') return;
    const { life } = observation;
    const key = `${life.podUid}/${life.name}`;
    const lives = this.#byName.get(key) ?? [];
    lives.push(life);
    this.#byName.set(key, lives);
    this.#running.set(life.id, life);
    this.#byId.set(life.id, life);
    this.#sandboxUids.set(life.sandboxId, life.podUid);
  }

  #onAction(action: Action): void {
    if (action.do !== 'rpcFault' || action.rpc !== 'runPodSandbox' || action.fault.kind !== 'lateSuccess') return;
    this.#lateSandboxMs = Math.max(this.#lateSandboxMs, action.fault.workDelayMs ?? 0);
  }

  #onSandboxAsked(uid: string, atMs: number): void {
    this.#sandboxAskedAtMs.set(uid, atMs);
    if (this.#lateSandboxMs === 0) return;
    this.#lateSandboxes.set(uid, [...(this.#lateSandboxes.get(uid) ?? []), atMs + this.#lateSandboxMs]);
  }
}

interface SandboxRequest {
  readonly config?: { readonly metadata?: { readonly uid?: string } };
}
