import { sleep } from '@node-agent/async';
import type { FakeClock } from '@node-agent/async/testing';
import type { Pod, RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';
import type { PodCacheReader, PodStatusFn, PodSyncer, PodUpdateType, PodWorkerStep } from '../src/index.ts';

export interface PodShape {
  readonly uid?: string;
  readonly name?: string;
  readonly static?: boolean;
  readonly phase?: string;
  readonly deleted?: boolean;
  readonly deletionGraceSeconds?: number;
  readonly graceSeconds?: number;
  readonly seen?: string;
}

/** A pod with a grace period of 30 s in its spec. */
export function pod(shape: PodShape = {}): Pod {
  const annotations = {
    ...(shape.static === true && { 'kubernetes.io/config.source': 'file' }),
    ...(shape.seen !== undefined && { 'kubernetes.io/config.seen': shape.seen }),
  };
  return {
    metadata: {
      name: shape.name ?? 'web',
      namespace: 'default',
      uid: shape.uid ?? 'uid-1',
      annotations,
      ...(shape.deleted === true && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      ...(shape.deletionGraceSeconds !== undefined && { deletionGracePeriodSeconds: shape.deletionGraceSeconds }),
    },
    spec: { containers: [{ name: 'c' }], terminationGracePeriodSeconds: shape.graceSeconds ?? 30 },
    ...(shape.phase !== undefined && { status: { phase: shape.phase } }),
  };
}

export function runtimePod(uid = 'uid-1', name = 'web'): RuntimePod {
  return { uid, name, namespace: 'default', createdAtMs: 0, containers: [], sandboxes: [] };
}

export function podStatus(uid: string, observedAtMs = 0): RuntimePodStatus {
  return { uid, name: 'web', namespace: 'default', ips: [], sandboxes: [], containers: [], observedAtMs };
}

/** Fake pod cache whose statuses are always up to date. If `fail` is set, reads throw it. */
export class FreshCache implements PodCacheReader {
  readonly #clock: FakeClock;
  synced = true;
  entry: ReturnType<PodCacheReader['get']>;
  fail: Error | undefined;
  /** If set, reads wait for this promise. */
  gate: Promise<void> | undefined;
  /** UIDs that `runningPods` returns for any name; `undefined` before the runtime's pods were listed. */
  running: readonly string[] | undefined = [];
  readonly asked: { uid: string; minTimeMs: number }[] = [];

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  get(_uid: string): ReturnType<PodCacheReader['get']> {
    return this.entry;
  }

  hasSeen(_uid: string): boolean {
    return this.synced;
  }

  runningPods(): readonly string[] | undefined {
    return this.running;
  }

  async getNewerThan(uid: string, minTimeMs: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    this.asked.push({ uid, minTimeMs });
    if (this.gate !== undefined) {
      await Promise.race([
        this.gate,
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
      ]);
    }
    if (this.fail !== undefined) throw this.fail;
    return podStatus(uid, this.#clock.monotonic());
  }
}

export interface StepCall {
  readonly step: PodWorkerStep;
  readonly uid: string;
  readonly atMs: number;
  readonly updateType?: PodUpdateType;
  readonly pod?: Pod;
  readonly mirrorPod?: Pod | undefined;
  readonly graceSeconds?: number | undefined;
  readonly podStatusFn?: PodStatusFn | undefined;
  endedAtMs?: number;
  aborted?: boolean;
  /** Whether the step succeeded. */
  ok?: boolean;
}

export type StepScript = (call: StepCall) => {
  readonly durationMs?: number;
  readonly fail?: unknown;
  readonly isTerminal?: boolean;
  readonly idle?: boolean;
  readonly stoppedAtMs?: number;
  /** Error that the step returns although it succeeds. */
  readonly error?: unknown;
  /** Whether the step ignores its abort signal. */
  readonly deaf?: boolean;
};

/** A syncer that follows a script and records its calls. */
export class ScriptedSyncer implements PodSyncer {
  readonly #clock: FakeClock;
  readonly calls: StepCall[] = [];
  script: StepScript = () => ({});
  /** Called at the start and at the end of each step. */
  onEdge: (call: StepCall) => void = () => {};

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  async syncPod(
    updateType: PodUpdateType,
    pod: Pod,
    mirrorPod: Pod | undefined,
    _status: RuntimePodStatus,
    signal: AbortSignal,
  ): Promise<{ isTerminal: boolean; idle: boolean; error: unknown }> {
    return await this.#step({ step: 'syncPod', pod, updateType, mirrorPod }, pod.metadata.uid, signal);
  }

  async syncTerminatingPod(
    pod: Pod,
    _status: RuntimePodStatus,
    graceSeconds: number | undefined,
    podStatusFn: PodStatusFn | undefined,
    signal: AbortSignal,
  ): Promise<{ stoppedAtMs?: number }> {
    const call = { step: 'syncTerminatingPod', pod, graceSeconds, podStatusFn } as const;
    const { stoppedAtMs } = await this.#step(call, pod.metadata.uid, signal);
    return stoppedAtMs === undefined ? {} : { stoppedAtMs };
  }

  async syncTerminatingRuntimePod(runningPod: RuntimePod, signal: AbortSignal): Promise<void> {
    await this.#step({ step: 'syncTerminatingRuntimePod' }, runningPod.uid, signal);
  }

  async syncTerminatedPod(pod: Pod, _status: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    await this.#step({ step: 'syncTerminatedPod', pod }, pod.metadata.uid, signal);
  }

  /** Steps of a pod, by name. */
  steps(uid = 'uid-1'): PodWorkerStep[] {
    return this.calls.filter((call) => call.uid === uid).map((call) => call.step);
  }

  async #step(what: Omit<StepCall, 'uid' | 'atMs'>, uid: string, signal: AbortSignal) {
    const call: StepCall = { ...what, uid, atMs: this.#clock.monotonic() };
    this.calls.push(call);
    this.onEdge(call);
    const {
      durationMs = 0,
      fail,
      isTerminal = false,
      idle = false,
      error,
      deaf = false,
      stoppedAtMs,
    } = this.script(call);
    signal.addEventListener('abort', () => {
      call.aborted = true;
    });
    try {
      if (durationMs > 0) await sleep(this.#clock, durationMs, deaf ? undefined : signal);
      if (fail !== undefined) throw fail;
      call.ok = true;
      return { isTerminal, idle, error, stoppedAtMs };
    } finally {
      call.endedAtMs = this.#clock.monotonic();
      this.onEdge(call);
    }
  }
}
