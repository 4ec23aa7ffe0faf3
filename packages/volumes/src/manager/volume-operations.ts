import { abortable, type Clock } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import { VolumeError, type VolumeErrorCode } from '../errors.ts';
import { BackOff } from './back-off.ts';
import { presenceAfterFailure } from './failed-presence.ts';
import { isFresh } from './freshness.ts';
import { nodeVolumeUse } from './node-volume-state.ts';
import { NodeVolumes, type StagedVolume } from './node-volumes.ts';
import type { UnansweredCall } from './plugin.ts';
import type { ResolvedVolume } from './resolved-volume.ts';
import type { VolumeAttachments } from './volume-attachments.ts';
import {
  isSettled,
  namesOf,
  newEntry,
  type ReadyVolume,
  type VolumeActions,
  type VolumeEntry,
  type VolumeKey,
} from './volume-entry.ts';
import type { VolumeMetrics, VolumeOperation } from './volume-metrics.ts';
import { nextVolumeStep, type VolumeState } from './volume-state.ts';

/** Dependencies of {@link VolumeOperations}. */
export interface VolumeOperationsComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: VolumeMetrics;
  readonly attachments: VolumeAttachments;
  /** Called when {@link VolumeOperations.attachableInUse} has changed. */
  readonly onInUseChange: () => void;
  /** Called when a node volume is no longer used. */
  readonly onForgotten?: (uniqueName: string) => void;
  /** Called when a volume could not be set up, or its node volume could not be staged. */
  readonly onFailure: (
    pod: Pod,
    volume: ResolvedVolume,
    error: VolumeError,
    step: 'setUp' | 'stage' | 'expand',
  ) => void;
  /** Called when a volume became ready and no caller waits for it any more. */
  readonly onReady: (podUid: string) => void;
}

/** State of a volume after the first attempt of its operation. */
export interface VolumeOutcome {
  readonly name: string;
  /** Reason why the volume is not in its desired state; `undefined` if it is. */
  readonly failure: VolumeError | undefined;
  readonly retryAtMs: number | undefined;
}

/** A volume that is not in its desired state and whose operation has not failed. */
export interface UnsettledVolume {
  readonly name: string;
  /** Whether the volume waits for a controller to attach it. */
  readonly isUnattached: boolean;
  /** The call that a driver has not answered, if there is one. */
  readonly unanswered: UnansweredCall | undefined;
}

/**
 * Runs the operations of volumes: one at a time per volume. Operations of different volumes are independent (C7). A
 * failed operation is retried after 500 ms, then after twice as long each time, up to 122 s. {@link nextVolumeStep}
 * decides which operation is next; {@link NodeVolumes} runs node-level operations.
 * An operation continues when its callers stop waiting, as upstream's do (`pkg/volume/util/operationexecutor`).
 */
export class VolumeOperations {
  readonly #components: VolumeOperationsComponents;
  readonly #nodes: NodeVolumes;
  readonly #entries = new Map<string, VolumeEntry>();
  readonly #byPod = new Map<string, Map<string, VolumeEntry>>();
  readonly #life = new AbortController();

  constructor(components: VolumeOperationsComponents) {
    this.#components = components;
    this.#nodes = new NodeVolumes({ ...components, onChange: (uniqueName) => this.#onNodeVolume(uniqueName) });
  }

  /** Requests a volume with up-to-date content. */
  want(pod: Pod, volume: ResolvedVolume, id: string, actions: VolumeActions): void {
    const key = { podUid: pod.metadata.uid, directoryName: volume.directoryName, id };
    const entry = this.#entry(key, actions, 'absent');
    if (entry.wanted !== true) this.#begin(entry, true);
    entry.actions = actions;
    entry.wantedAs.set(volume.volume.name, volume.readOnly ?? false);
    entry.request = { pod, volume };
    entry.stale ||= entry.actions.refreshes && !isFresh(entry.filling, pod, this.#components.clock.monotonic());
    this.#step(entry);
  }

  /** Registers a volume that was found on disk and whose pod is not known yet. */
  found(key: VolumeKey, actions: VolumeActions): void {
    this.#step(this.#entry(key, actions, 'uncertain'));
  }

  /** Registers a node volume that is staged, or may be, whether or not a pod uses it. */
  foundStaged(staged: StagedVolume): void {
    this.#nodes.found(staged);
  }

  /** Requests the removal of a volume that was found on disk. */
  remove(key: VolumeKey, actions: VolumeActions): void {
    const entry = this.#entry(key, actions, 'uncertain');
    if (entry.presence === 'absent' && !entry.busy) entry.presence = 'uncertain';
    this.#unwant(entry);
  }

  /** Requests the removal of all volumes of a pod. */
  release(podUid: string): void {
    for (const entry of [...this.#of(podUid)]) this.#unwant(entry);
  }

  /**
   * Updates content and retries failed operations of a pod's projected volumes now, because one of their sources has
   * changed.
   */
  refresh(podUid: string): void {
    for (const entry of [...this.#of(podUid)]) {
      if (entry.wanted !== true || !entry.actions.refreshes) continue;
      entry.backOff.forgive();
      entry.stale = true;
      this.#step(entry);
    }
  }

  /**
   * Sets a ready volume up again if its type requires that at each sync of the pod. Its identity need not be determined
   * again. @returns whether the volume is ready
   */
  renew(pod: Pod, name: string): boolean {
    for (const entry of this.#of(pod.metadata.uid)) {
      const { request, actions } = entry;
      if (readyAs(entry, name) === undefined || request === undefined) continue;
      if (actions.republishes(request.volume)) {
        entry.request = { pod, volume: request.volume };
        entry.stale ||= !isFresh(entry.filling, pod, this.#components.clock.monotonic());
        this.#step(entry);
      }
      return true;
    }
    return false;
  }

  /** Returns a ready volume that can be expanded on this node. */
  expandable(podUid: string, name: string): ResolvedVolume | undefined {
    for (const entry of this.#of(podUid)) {
      const volume = readyAs(entry, name);
      if (volume !== undefined && entry.actions.expand !== undefined) return volume.resolved;
    }
    return undefined;
  }

  /** Expands a ready volume, which a controller has expanded. */
  expand(podUid: string, name: string): void {
    for (const entry of this.#of(podUid)) {
      if (readyAs(entry, name) === undefined || entry.actions.expand === undefined) continue;
      entry.expands = true;
      this.#step(entry);
    }
  }

  /** Continues with volumes that wait to be attached. Called when the node's status may have changed. */
  attachmentsChanged(): void {
    this.#nodes.attachmentsChanged();
  }

  /** Retries operations now that failed with this error code, because its cause may be gone. */
  retryNow(code: VolumeErrorCode): void {
    this.#nodes.retryNow(code);
    for (const entry of [...this.#entries.values()]) {
      if (entry.backOff.failure?.code !== code) continue;
      entry.backOff.forgive();
      this.#step(entry);
    }
  }

  /** Implements `VolumeManager.volumesInUse`. */
  attachableInUse(): readonly string[] | undefined {
    return this.#nodes.attachableInUse();
  }

  /** Returns a ready volume by the name that the pod uses. */
  mounted(podUid: string, name: string): ReadyVolume | undefined {
    let found: ReadyVolume | undefined;
    for (const entry of this.#of(podUid)) found = readyAs(entry, name) ?? found;
    return found;
  }

  /** Returns all ready volumes of a pod, by name. */
  allMounted(podUid: string): ReadonlyMap<string, ReadyVolume> {
    const ready = new Map<string, ReadyVolume>();
    for (const entry of this.#of(podUid)) {
      for (const name of entry.wantedAs.keys()) {
        const volume = readyAs(entry, name);
        if (volume !== undefined) ready.set(name, volume);
      }
    }
    return ready;
  }

  /** Returns a pod's volumes that are not in their desired state and whose operation has not failed. */
  unsettled(podUid: string): readonly UnsettledVolume[] {
    return [...this.#of(podUid)].flatMap((entry) => {
      if (this.#isSettled(entry)) return [];
      const { node } = entry.actions;
      const isUnattached =
        entry.waitsForNode && node !== undefined && this.#nodes.awaitsAttachment(node.volume.uniqueName);
      const unanswered = entry.actions.unanswered();
      return namesOf(entry).map((name) => ({ name, isUnattached, unanswered }));
    });
  }

  /**
   * Waits until each volume of a pod is ready, gone or failed. Content updates are not awaited.
   * @throws the signal's reason
   */
  async settled(podUid: string, signal: AbortSignal): Promise<readonly VolumeOutcome[]> {
    const entries = [...this.#of(podUid)];
    // A failed volume may be retried again while others are awaited. It has no result until that operation has finished.
    while (!entries.every((entry) => this.#isSettled(entry))) await this.#settled(entries, signal);
    signal.throwIfAborted();
    return entries.flatMap((entry) => {
      const isRight = entry.wanted ? entry.presence === 'ready' : entry.presence === 'absent';
      const { failure, retryAtMs } = this.#lastFailure(entry);
      return namesOf(entry).map((name) => ({ name, failure: isRight ? undefined : failure, retryAtMs }));
    });
  }

  /** Stops: starts no more operations and aborts running ones. */
  close(reason: unknown): void {
    this.#life.abort(reason);
    this.#nodes.close(reason);
    for (const { timer } of this.#entries.values()) timer?.cancel();
  }

  /** Waits for all volumes with one listener on the signal: a pod may have thousands. */
  async #settled(entries: readonly VolumeEntry[], signal: AbortSignal): Promise<void> {
    const waiting = new Map<VolumeEntry, () => void>();
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    for (const entry of entries) {
      if (this.#isSettled(entry)) continue;
      const wake = (): void => {
        waiting.delete(entry);
        entry.waiters.delete(wake);
        if (waiting.size === 0) resolve();
      };
      waiting.set(entry, wake);
      entry.waiters.add(wake);
    }
    if (waiting.size === 0) return;
    try {
      await abortable(ended, signal);
    } finally {
      for (const [entry, wake] of waiting) entry.waiters.delete(wake);
    }
  }

  #of(podUid: string): Iterable<VolumeEntry> {
    return this.#byPod.get(podUid)?.values() ?? [];
  }

  #entry(key: VolumeKey, actions: VolumeActions, presence: VolumeState['presence']): VolumeEntry {
    const { podUid } = key;
    const name = nameOf(key);
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const entry = newEntry(key, actions, presence, new BackOff(this.#components.clock));
    this.#entries.set(name, entry);
    const ofPod = this.#byPod.get(podUid) ?? new Map<string, VolumeEntry>();
    this.#byPod.set(podUid, ofPod.set(name, entry));
    return entry;
  }

  #unwant(entry: VolumeEntry): void {
    if (entry.wanted !== false) this.#begin(entry, false);
    this.#step(entry);
  }

  /** Sets the goal and resets the back-off, because the recorded failure belongs to the former goal. */
  #begin(entry: VolumeEntry, wanted: boolean): void {
    entry.backOff.forgive();
    entry.wanted = wanted;
  }

  #onNodeVolume(uniqueName: string): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.actions.node?.volume.uniqueName === uniqueName) this.#step(entry);
    }
  }

  #step(entry: VolumeEntry): void {
    if (this.#life.signal.aborted) return;
    const { clock } = this.#components;
    entry.timer?.cancel();
    entry.timer = undefined;
    this.#noteUse(entry);
    const nowMs = clock.monotonic();
    const { retryAtMs } = entry.backOff;
    const step = nextVolumeStep({ ...entry, node: this.#nodeStateOf(entry), retryAtMs }, nowMs);
    entry.waitsForNode = step === 'stage';
    if (entry.waitsForNode) this.#tellStageFailure(entry);
    if (step === 'setUp' || step === 'expand' || step === 'tearDown') void this.#run(entry, step);
    else if (step === 'forget') this.#forget(entry);
    else if (step === 'wait' && retryAtMs !== undefined) {
      entry.timer = clock.setTimer(retryAtMs - nowMs, () => this.#step(entry));
    }
    this.#count(entry);
    if (this.#isSettled(entry)) for (const wake of [...entry.waiters]) wake();
  }

  #nodeStateOf({ actions: { node } }: VolumeEntry): VolumeState['node'] {
    if (node === undefined) return 'none';
    return this.#nodes.isStaged(node.volume.uniqueName) ? 'staged' : 'notStaged';
  }

  /** Reports the use of the node volume: before anything is mounted for the pod, and after everything is unmounted. */
  #noteUse(entry: VolumeEntry): void {
    const { node } = entry.actions;
    if (node !== undefined) this.#nodes.note(node, nameOf(entry), nodeVolumeUse(entry));
  }

  /** Reports a staging failure, once for each waiting pod. */
  #tellStageFailure(entry: VolumeEntry): void {
    const { failure } = this.#lastFailure(entry);
    const { request, toldFailure } = entry;
    if (failure === undefined || failure === toldFailure || request === undefined) return;
    entry.toldFailure = failure;
    this.#components.onFailure(request.pod, request.volume, failure, 'stage');
  }

  /** Returns the last failure of the volume or, if it waits for its node volume, of the node volume. */
  #lastFailure({
    waitsForNode,
    actions: { node },
    backOff,
  }: VolumeEntry): Partial<Pick<BackOff, 'failure' | 'retryAtMs'>> {
    if (!waitsForNode || node === undefined) return backOff;
    return this.#nodes.stageFailure(node.volume.uniqueName) ?? {};
  }

  #isSettled(entry: VolumeEntry): boolean {
    return isSettled(entry, this.#lastFailure(entry).failure);
  }

  /** Never rejects. */
  async #run(entry: VolumeEntry, step: 'setUp' | 'expand' | 'tearDown'): Promise<void> {
    const { clock, metrics } = this.#components;
    const { signal } = this.#life;
    const startedAtMs = clock.monotonic();
    entry.busy = true;
    // Changes from here on are not covered by this operation.
    if (step === 'expand') entry.expands = false;
    else entry.stale = false;
    let failure: VolumeError | undefined;
    try {
      if (step === 'setUp') await this.#setUp(entry, signal);
      else if (step === 'expand') await this.#expand(entry, signal);
      else await this.#tearDown(entry, signal);
    } catch (error) {
      failure = VolumeError.from(error);
    }
    entry.busy = false;
    if (signal.aborted) return;
    const { pluginName, isBlock } = entry.actions;
    metrics.operation(pluginName, operationOf(step, isBlock), failure === undefined, clock.monotonic() - startedAtMs);
    if (failure === undefined) entry.backOff.forgive();
    else this.#failed(entry, step, failure);
    this.#step(entry);
  }

  async #setUp(entry: VolumeEntry, signal: AbortSignal): Promise<void> {
    const { request, actions, presence } = entry;
    if (request === undefined) return;
    const { pod, volume } = request;
    if (volume.node?.exclusive && this.#nodes.isInAnotherPod(volume.node.uniqueName, nameOf(entry))) {
      const message = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod';
      throw new VolumeError('InUse', message);
    }
    const { isReconstructed, mounted } = entry;
    if (presence === 'absent') entry.presence = 'uncertain';
    this.#noteUse(entry);
    entry.filling = { pod, atMs: this.#components.clock.monotonic() };
    const state = { isReconstructed, ...(presence === 'ready' && mounted && { ready: mounted }) };
    try {
      const mountedNow = await actions.setUp(pod, volume, state, signal);
      // The volume is in use from here on. It is not ready before it has its size.
      if (presence !== 'ready' && actions.expand) await actions.expand(pod, volume, mountedNow, signal);
      entry.mounted = { ...mountedNow, resolved: volume };
    } catch (error) {
      const { effect } = VolumeError.from(error);
      if (presence !== 'ready') entry.presence = presenceAfterFailure(presence, effect, isReconstructed);
      throw error;
    }
    entry.presence = 'ready';
    entry.isReconstructed = false;
    if (presence !== 'ready' && entry.waiters.size === 0 && entry.wanted) {
      this.#components.onReady(entry.podUid);
    }
  }

  async #expand({ request, mounted, actions }: VolumeEntry, signal: AbortSignal): Promise<void> {
    if (request === undefined || mounted === undefined) return;
    await actions.expand?.(request.pod, mounted.resolved, mounted, signal);
  }

  async #tearDown(entry: VolumeEntry, signal: AbortSignal): Promise<void> {
    entry.presence = 'uncertain';
    entry.mounted = undefined;
    await entry.actions.tearDown(signal);
    entry.presence = 'absent';
  }

  #failed(entry: VolumeEntry, step: 'setUp' | 'expand' | 'tearDown', failure: VolumeError): void {
    const { logger, onFailure } = this.#components;
    const { request, podUid, directoryName, wanted, backOff } = entry;
    if (step !== 'tearDown' && request !== undefined) onFailure(request.pod, request.volume, failure, step);
    // The failed operation is no longer needed.
    if ((step !== 'tearDown') !== (wanted === true)) {
      backOff.forgive();
      return;
    }
    entry.stale ||= step === 'setUp' && entry.presence === 'ready';
    entry.expands ||= step === 'expand';
    entry.filling = undefined;
    const backOffMs = backOff.failed(failure);
    logger.warn({ err: failure, podUid, volume: directoryName, backOffMs, step }, 'Volume operation failed');
  }

  #forget(entry: VolumeEntry): void {
    const name = nameOf(entry);
    if (this.#entries.get(name) !== entry) return;
    this.#entries.delete(name);
    const ofPod = this.#byPod.get(entry.podUid);
    ofPod?.delete(name);
    if (ofPod?.size === 0) this.#byPod.delete(entry.podUid);
  }

  /**
   * Recounts this volume only: recounting all volumes at each step would be slow for pods with thousands of volumes.
   */
  #count(entry: VolumeEntry): void {
    const { counted, actions, wanted, presence } = entry;
    const now = { plugin: actions.pluginName, isWanted: wanted === true, isThere: presence !== 'absent' };
    if (counted?.plugin === now.plugin && counted.isWanted === now.isWanted && counted.isThere === now.isThere) return;
    entry.counted = now;
    this.#components.metrics.recount(counted, now);
  }
}

/** Returns a volume by a name that its pod uses; `undefined` if it has another name, is not ready or not wanted. */
function readyAs({ wantedAs, wanted, mounted }: VolumeEntry, name: string): ReadyVolume | undefined {
  if (!wanted || mounted === undefined || !wantedAs.has(name)) return undefined;
  return { ...mounted, readOnly: wantedAs.get(name) === true || mounted.readOnly };
}

/** Returns upstream's name of an operation. */
function operationOf(step: 'setUp' | 'expand' | 'tearDown', isBlock = false): VolumeOperation {
  if (step === 'expand') return 'volume_fs_resize';
  if (step === 'setUp') return isBlock ? 'map_volume' : 'volume_mount';
  return isBlock ? 'unmap_volume' : 'volume_unmount';
}

/** Returns a key that is unique among the volumes of all pods. */
function nameOf({ podUid, id }: VolumeKey): string {
  return `${podUid}/${id}`;
}

/** Returns the earliest retry time of the failed volumes. */
export function earliestRetry(outcomes: readonly VolumeOutcome[]): number | undefined {
  const times = outcomes.map(({ retryAtMs }) => retryAtMs).filter((time) => time !== undefined);
  return times.length > 0 ? Math.min(...times) : undefined;
}
