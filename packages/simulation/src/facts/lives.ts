import type { Observation } from '../observation.ts';
import type { Action } from '../scenario/actions.ts';
import type { Life } from '../world/ledger.ts';

/** All container processes that have run, and their sandboxes. */
export class Lives {
  readonly #byId = new Map<string, Life>();
  readonly #byName = new Map<string, Life[]>();
  readonly #running = new Map<string, Life>();
  readonly #sandboxUids = new Map<string, string>();
  readonly #lostSandboxes = new Map<string, number>();
  /** Time of the last request for a sandbox, by pod UID. */
  readonly #sandboxAskedAtMs = new Map<string, number>();
  /**
   * Delay with which the runtime creates a sandbox although the call has failed; 0 before a fault with this effect is
   * injected.
   */
  #lateSandboxMs = 0;
  /** Times at which sandboxes whose creation has seemingly failed may still appear, by pod UID. */
  readonly #lateSandboxes = new Map<string, number[]>();

  /** The running processes. */
  get running(): readonly Life[] {
    return [...this.#running.values()];
  }

  /** Returns the running processes of a pod. */
  runningOf(uid: string): readonly Life[] {
    const of: Life[] = [];
    for (const life of this.#running.values()) if (life.podUid === uid) of.push(life);
    return of;
  }

  /** Returns the run of a container. */
  byId(containerId: string): Life | undefined {
    return this.#byId.get(containerId);
  }

  /** Returns all runs of a pod's container, oldest first. */
  of(uid: string, name: string): readonly Life[] {
    return this.#byName.get(`${uid}/${name}`) ?? [];
  }

  /** Returns all runs of a pod's containers in one of its sandboxes. */
  inSandbox(uid: string, sandboxId: string): readonly Life[] {
    return [...this.#byId.values()].filter((life) => life.podUid === uid && life.sandboxId === sandboxId);
  }

  /** Returns the pod UID of a sandbox, if a container has ever run in it. */
  uidOfSandbox(id: string): string | undefined {
    return this.#sandboxUids.get(id);
  }

  /**
   * Reports whether a sandbox is superseded: no container runs in it, and its pod has since had a container in a later
   * sandbox or has requested another sandbox.
   */
  isSuperseded(sandboxId: string): boolean {
    const uid = this.uidOfSandbox(sandboxId);
    const last = [...this.#byId.values()].findLast(({ podUid }) => podUid === uid);
    if (uid === undefined || last === undefined) return false;
    const isReplaced = last.sandboxId !== sandboxId || (this.#sandboxAskedAtMs.get(uid) ?? -1) > last.startedAtMs;
    return isReplaced && this.running.every((life) => life.sandboxId !== sandboxId);
  }

  /** Time at which a kubelet last requested a sandbox for the pod; -1 if no kubelet did. */
  sandboxAskedAtMs(uid: string): number {
    return this.#sandboxAskedAtMs.get(uid) ?? -1;
  }

  /** Time at which a fault killed the sandbox; `undefined` if no fault did. */
  sandboxLostAtMs(id: string): number | undefined {
    return this.#lostSandboxes.get(id);
  }

  /**
   * Reports whether a sandbox whose creation had seemingly failed may have appeared between the two times. The pod then
   * has two sandboxes and is restarted.
   */
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
