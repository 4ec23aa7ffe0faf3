import type { Clock } from '@node-agent/async';
import { sleep } from '@node-agent/async';
import type { Pod, PodStatus } from '@node-agent/pod-spec';
import type { PodStatusPatch } from '../src/status-patch.ts';
import type { StatusApi } from '../src/status-writer-ports.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * Applies a strategic merge patch to a status: null removes a field, maps are merged, and some lists are merged by
 * their key.
 */
export function applyStatusPatch(status: PodStatus, patch: Json): PodStatus {
  return mergeMap(status as Json, patch) as PodStatus;
}

const KEYS: Readonly<Record<string, string>> = { conditions: 'type', podIPs: 'ip', hostIPs: 'ip' };

function mergeMap(before: Json, patch: Json): Json {
  const after: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$setElementOrder/')) continue;
    const key = KEYS[name];
    if (value === null) delete after[name];
    else if (Array.isArray(value))
      after[name] = key === undefined ? value : mergeList(listOf(before[name]), value, key);
    else if (isRecord(value)) after[name] = mergeMap(isRecord(before[name]) ? before[name] : {}, value);
    else after[name] = value;
  }
  for (const [directive, order] of Object.entries(patch)) {
    const [, name] = directive.split('$setElementOrder/');
    const key = KEYS[name ?? ''];
    if (name === undefined || key === undefined) continue;
    const ranks = new Map(listOf(order).map((item, rank) => [item[key], rank]));
    const rank = (item: Json): number => ranks.get(item[key]) ?? -1;
    after[name] = listOf(after[name]).toSorted((a, b) => rank(a) - rank(b));
  }
  return after;
}

function mergeList(before: readonly Json[], patch: readonly Json[], key: string): readonly Json[] {
  let after = [...before];
  for (const item of patch) {
    const index = after.findIndex((candidate) => candidate[key] === item[key]);
    if (item.$patch === 'delete') after = after.filter((candidate) => candidate[key] !== item[key]);
    else if (index < 0) after.push(item);
    else after[index] = mergeMap(after[index] ?? {}, item);
  }
  return after;
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Creates an error with the fields of an error of the API client. */
export function apiError(httpStatus: number | undefined, text = 'refused'): Error {
  return Object.assign(new Error(text), httpStatus === undefined ? {} : { httpStatus });
}

/** Fault of a request to a {@link FakeApi}. `lost`: the request takes effect, but the response never arrives. */
export type Fault = { readonly delayMs?: number; readonly error?: Error; readonly lost?: boolean };

/** An API server that holds pods by namespace and name. */
export class FakeApi implements StatusApi {
  readonly pods: Map<string, Pod> = new Map();
  readonly calls: string[] = [];
  readonly patches: PodStatusPatch[] = [];
  /** The phases that the API showed for each pod, in order, by UID. */
  readonly phases: Map<string, (string | undefined)[]> = new Map();
  /** The largest number of simultaneous requests for one pod. */
  mostAtOnce = 0;
  fault: (call: string) => Fault | undefined = (): undefined => undefined;
  readonly #clock: Clock;
  #revision = 0;
  readonly #underWay = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put(given: Pod): Pod {
    const pod = { ...given, metadata: { ...given.metadata, resourceVersion: `${++this.#revision}` } };
    this.pods.set(`${pod.metadata.namespace}/${pod.metadata.name}`, pod);
    const phases = this.phases.get(pod.metadata.uid) ?? [];
    this.phases.set(pod.metadata.uid, phases);
    if (phases.at(-1) !== pod.status?.phase) phases.push(pod.status?.phase);
    return pod;
  }

  get(name: string): Pod | undefined {
    return this.pods.get(`default/${name}`);
  }

  getPod(namespace: string, name: string, signal: AbortSignal): Promise<Pod> {
    return this.#request('get', `${namespace}/${name}`, signal, (pod) => pod);
  }

  patchPodStatus(
    namespace: string,
    name: string,
    uid: string,
    patch: PodStatusPatch,
    signal: AbortSignal,
  ): Promise<Pod> {
    return this.#request('patch', `${namespace}/${name}`, signal, (pod) => {
      if (patch.metadata.uid !== pod.metadata.uid || uid !== pod.metadata.uid)
        throw apiError(409, 'Precondition failed');
      const { resourceVersion = pod.metadata.resourceVersion } = patch.metadata;
      if (resourceVersion !== pod.metadata.resourceVersion) throw apiError(409, 'the object has been modified');
      const patched = { ...pod, status: applyStatusPatch(pod.status ?? {}, patch.status) };
      this.patches.push(patch);
      return this.put(patched);
    });
  }

  deletePod(
    namespace: string,
    name: string,
    { uid, gracePeriodSeconds }: { readonly uid: string; readonly gracePeriodSeconds: number },
    signal: AbortSignal,
  ): Promise<void> {
    return this.#request(`delete(${gracePeriodSeconds})`, `${namespace}/${name}`, signal, (pod) => {
      if (pod.metadata.uid !== uid) throw apiError(409, 'Precondition failed');
      this.pods.delete(`${namespace}/${name}`);
    });
  }

  async #request<T>(verb: string, key: string, signal: AbortSignal, act: (pod: Pod) => T): Promise<T> {
    const call = `${verb} ${key}`;
    this.calls.push(call);
    const underWay = (this.#underWay.get(key) ?? 0) + 1;
    this.#underWay.set(key, underWay);
    this.mostAtOnce = Math.max(this.mostAtOnce, underWay);
    try {
      const { delayMs, error, lost } = this.fault(call) ?? {};
      if (delayMs !== undefined) await sleep(this.#clock, delayMs, signal);
      if (error !== undefined && lost !== true) throw error;
      const pod = this.pods.get(key);
      if (pod === undefined) throw apiError(404, 'not found');
      const result = act(pod);
      if (lost === true) throw error ?? apiError(undefined, 'connection reset');
      return result;
    } finally {
      this.#underWay.set(key, (this.#underWay.get(key) ?? 1) - 1);
    }
  }
}
