import { sleep } from '@node-agent/async';
import type { FakeClock } from '@node-agent/async/testing';
import type {
  RuntimeContainer,
  RuntimeContainerState,
  RuntimePod,
  RuntimePodStatus,
  RuntimeSandbox,
} from '@node-agent/pod-spec';
import type { PlegRuntime, PlegRuntimeEvent } from '../src/index.ts';

/** State of a pod in the scripted runtime: the states of its containers and sandboxes by ID. */
export interface Truth {
  readonly containers: ReadonlyMap<string, RuntimeContainerState>;
  readonly sandboxes: ReadonlyMap<string, RuntimeSandbox['state']>;
}

export function truth(
  containers: Readonly<Record<string, RuntimeContainerState>>,
  sandboxes: Readonly<Record<string, RuntimeSandbox['state']>> = {},
): Truth {
  return { containers: new Map(Object.entries(containers)), sandboxes: new Map(Object.entries(sandboxes)) };
}

export function toPod(uid: string, { containers, sandboxes }: Truth): RuntimePod {
  const container = (id: string, state: RuntimeContainerState): RuntimeContainer => ({
    id,
    name: id,
    state,
    sandboxId: '',
    image: '',
    imageId: '',
    hash: '',
    restartCount: 0,
    createdAtMs: 0,
  });
  return {
    uid,
    name: `name-${uid}`,
    namespace: 'default',
    createdAtMs: 0,
    containers: [...containers].map(([id, state]) => container(id, state)),
    sandboxes: [...sandboxes].map(([id, state]) => ({ id, state, attempt: 0, createdAtMs: 0, runtimeHandler: '' })),
  };
}

export function toStatus(uid: string, { containers, sandboxes }: Truth, observedAtMs: number): RuntimePodStatus {
  return {
    uid,
    name: `name-${uid}`,
    namespace: 'default',
    ips: [...sandboxes.values()].includes('ready') ? ['10.0.0.1'] : [],
    sandboxes: [...sandboxes].map(([id, state]) => ({
      id,
      state,
      attempt: 0,
      createdAtMs: 0,
      ips: [],
      hostNetwork: false,
      runtimeHandler: '',
    })),
    containers: [...containers].map(([id, state]) => ({
      id,
      name: id,
      state,
      createdAtMs: 0,
      startedAtMs: 0,
      finishedAtMs: 0,
      exitCode: 0,
      image: '',
      imageId: '',
      hash: '',
      restartCount: 0,
      reason: '',
      message: '',
      sandboxId: '',
    })),
    observedAtMs,
  };
}

/** Behaviour of a call: its duration before and after it reads the pods, and the error with which it fails, if any. */
export interface CallPlan {
  readonly beforeMs?: number;
  readonly afterMs?: number;
  readonly fail?: Error;
  readonly hang?: boolean;
}

class Unimplemented extends Error {
  readonly code = 'UNIMPLEMENTED';
}

/** An in-memory runtime with configurable duration and failure of each call. */
export class ScriptedRuntime implements PlegRuntime {
  readonly #clock: FakeClock;
  readonly pods: Map<string, Truth> = new Map();
  plan: (call: 'getPods' | 'getPodStatus', uid: string) => CallPlan = () => ({});
  readonly calls: string[] = [];
  readonly names: string[] = [];
  /** Number of calls in progress, by pod. */
  readonly active: Map<string, number> = new Map();
  mostActive = 0;
  /** Whether the runtime supports events: `none` or `on`. */
  events: 'none' | 'on' = 'on';
  streams = 0;
  #listener: ((event: PlegRuntimeEvent | Error) => void) | undefined;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  /** Sets the state of a pod; `undefined` removes the pod. Sends an event unless `quiet` is true. */
  set(uid: string, state: Truth | undefined, quiet = false): void {
    if (state === undefined) this.pods.delete(uid);
    else this.pods.set(uid, state);
    if (!quiet) this.say(uid);
  }

  say(podUid: string, kind?: PlegRuntimeEvent['kind'], containerId?: string): void {
    const which = containerId === undefined ? {} : { containerId };
    this.#listener?.({ podUid, kind, ...which, createdAtMs: this.#clock.now() - 5 });
  }

  get streaming(): boolean {
    return this.#listener !== undefined;
  }

  cut(error: Error = new Error('the stream broke')): void {
    this.#listener?.(error);
  }

  async getPods(signal: AbortSignal): Promise<readonly RuntimePod[]> {
    return await this.#call('getPods', '', signal, () => [...this.pods].map(([uid, state]) => toPod(uid, state)));
  }

  async getPodStatus(uid: string, name: string, namespace: string, signal: AbortSignal): Promise<RuntimePodStatus> {
    this.names.push(`${namespace}/${name}`);
    const startMs = this.#clock.monotonic();
    const active = (this.active.get(uid) ?? 0) + 1;
    this.active.set(uid, active);
    this.mostActive = Math.max(
      this.mostActive,
      [...this.active.values()].reduce((sum, n) => sum + n, 0),
    );
    try {
      return await this.#call('getPodStatus', uid, signal, () =>
        toStatus(uid, this.pods.get(uid) ?? truth({}), startMs),
      );
    } finally {
      this.active.set(uid, active - 1);
    }
  }

  async *containerEvents(signal: AbortSignal): AsyncGenerator<PlegRuntimeEvent, void, undefined> {
    this.streams++;
    if (this.events === 'none') throw new Unimplemented('unknown method GetContainerEvents');
    const items: (PlegRuntimeEvent | Error)[] = [];
    let wake: () => void = () => {};
    this.#listener = (item) => {
      items.push(item);
      wake();
    };
    const onAbort = (): void => wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (!signal.aborted) {
        const item = items.shift();
        if (item instanceof Error) throw item;
        if (item !== undefined) {
          yield item;
          continue;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#listener = undefined;
    }
  }

  async #call<T>(name: 'getPods' | 'getPodStatus', uid: string, signal: AbortSignal, look: () => T): Promise<T> {
    this.calls.push(uid === '' ? name : `${name} ${uid}`);
    const { beforeMs = 0, afterMs = 0, fail, hang = false } = this.plan(name, uid);
    if (hang)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    if (beforeMs > 0) await sleep(this.#clock, beforeMs, signal);
    const result = look();
    if (afterMs > 0) await sleep(this.#clock, afterMs, signal);
    if (fail !== undefined) throw fail;
    return result;
  }
}
