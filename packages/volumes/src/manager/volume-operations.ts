import type { Clock } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import { VolumeError, type VolumeErrorCode } from '../errors.ts';
import { BackOff } from './back-off.ts';
import { isFresh } from './freshness.ts';
import { nodeVolumeUse } from './node-volume-state.ts';
import { NodeVolumes, type StagedVolume } from './node-volumes.ts';
import type { ResolvedVolume } from './resolved-volume.ts';
import type { VolumeAttachments } from './volume-attachments.ts';
import { nameOf, readyAs, type VolumeEntries } from './volume-entries.ts';
import { newEntry, type VolumeActions, type VolumeEntry, type VolumeKey } from './volume-entry.ts';
import type { VolumeMetrics } from './volume-metrics.ts';
import { type UnsettledVolume, type VolumeOutcome, VolumeOutcomes } from './volume-outcomes.ts';
import { type RunningStep, VolumeRunner } from './volume-runner.ts';
import { nextVolumeStep, type VolumeState } from './volume-state.ts';

/** Dependencies of {@link VolumeOperations}. */
export interface VolumeOperationsComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: VolumeMetrics;
  readonly attachments: VolumeAttachments;
  readonly entries: VolumeEntries;
  /** Called when {@link VolumeOperations.attachableInUse} has changed. */
  readonly onInUseChange: () => void;
  /**
   * Called when this node no longer uses a volume. `name` is the unique name of the node volume, or the name of the
   * volume's directory if there is no node volume.
   */
  readonly onForgotten?: (name: string) => void;
  /** Called when a volume could not be set up, or its node volume could not be staged. */
  readonly onFailure: (
    pod: Pod,
    volume: ResolvedVolume,
    error: VolumeError,
    step: 'setUp' | 'stage' | 'expand',
  ) => void;
  /** Called when a volume became ready after all callers have stopped waiting for it. */
  readonly onReady: (podUid: string) => void;
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
  readonly #outcomes: VolumeOutcomes;
  readonly #runner: VolumeRunner;
  readonly #life = new AbortController();

  constructor(components: VolumeOperationsComponents) {
    this.#components = components;
    this.#nodes = new NodeVolumes({ ...components, onChange: (uniqueName) => this.#onNodeVolume(uniqueName) });
    this.#outcomes = new VolumeOutcomes({ ...components, nodes: this.#nodes });
    this.#runner = new VolumeRunner({ ...components, nodes: this.#nodes, onUse: (entry) => this.#noteUse(entry) });
  }

  /** Records that a pod wants a volume with up-to-date content. */
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

  /** Registers a node volume that is staged or may be staged. The volume need not be used by any pod. */
  foundStaged(staged: StagedVolume): void {
    this.#nodes.found(staged);
  }

  /** Requests the removal of a volume that was found on disk. @param pod the volume's pod if it is known */
  remove(key: VolumeKey, actions: VolumeActions, pod: Pod | undefined): void {
    const entry = this.#entry(key, actions, 'uncertain');
    entry.removedPod = pod;
    if (entry.presence === 'absent' && !entry.busy) entry.presence = 'uncertain';
    this.#unwant(entry);
  }

  /** Requests the removal of all volumes of a pod. */
  release(podUid: string): void {
    for (const entry of [...this.#components.entries.of(podUid)]) this.#unwant(entry);
  }

  /**
   * Updates content and retries failed operations of a pod's projected volumes now, because one of their sources has
   * changed.
   */
  refresh(podUid: string): void {
    for (const entry of [...this.#components.entries.of(podUid)]) {
      if (entry.wanted !== true || !entry.actions.refreshes) continue;
      entry.backOff.forgive();
      entry.stale = true;
      this.#step(entry);
    }
  }

  /**
   * Sets a ready volume up again if its type requires that at each sync of the pod. The volume is not resolved again.
   * @returns whether the volume is ready
   */
  renew(pod: Pod, name: string): boolean {
    for (const entry of this.#components.entries.of(pod.metadata.uid)) {
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
    for (const entry of this.#components.entries.of(podUid)) {
      const volume = readyAs(entry, name);
      if (volume !== undefined && entry.actions.expand !== undefined) return volume.resolved;
    }
    return undefined;
  }

  /** Records that a ready volume must be expanded on this node, because a controller has expanded it. */
  expand(podUid: string, name: string): void {
    for (const entry of [...this.#components.entries.of(podUid)]) {
      if (readyAs(entry, name) === undefined || entry.actions.expand === undefined) continue;
      entry.expands = true;
      this.#step(entry);
    }
  }

  /** Continues with volumes that wait to be attached. Called when the node's status may have changed. */
  attachmentsChanged(): void {
    this.#nodes.attachmentsChanged();
  }

  /**
   * Continues with volumes that wait to be attached although no controller attaches them any more
   * (`desired_state_of_world_populator.go: findAndRemoveDeletedPods`). A volume that was attached before keeps its
   * mark, so that it stays in use until it is unstaged.
   */
  attachabilityChanged(): void {
    const waiting = this.#components.entries.all().filter(({ waitsForNode, actions: { node } }) => {
      const { volume, plugin } = node ?? {};
      if (!waitsForNode || volume?.attachable !== true || plugin?.isAttachable?.(volume) !== false) return false;
      return this.#nodes.awaitsAttachment(volume.uniqueName);
    });
    // The volumes of all pods are changed before the first step, because that step stages the volume for all pods.
    for (const entry of waiting) entry.actions = withoutAttachment(entry.actions);
    for (const entry of waiting) this.#step(entry);
  }

  /** Retries all operations now whose last failure has this error code, because the cause may be resolved. */
  retryNow(code: VolumeErrorCode): void {
    this.#nodes.retryNow(code);
    for (const entry of this.#components.entries.all()) {
      const { failure } = entry.backOff;
      // The failure of an expansion wraps the failure of the driver.
      const cause = failure?.code === 'ExpandFailed' ? failure.cause : failure;
      if (!VolumeError.is(cause) || cause.code !== code) continue;
      entry.backOff.forgive();
      this.#step(entry);
    }
  }

  /** Implements `VolumeManager.volumesInUse`. */
  attachableInUse(): readonly string[] | undefined {
    return this.#nodes.attachableInUse();
  }

  /** Implements {@link VolumeOutcomes.unsettled}. */
  unsettled(podUid: string): readonly UnsettledVolume[] {
    return this.#outcomes.unsettled(podUid);
  }

  /** Implements {@link VolumeOutcomes.settled}. @throws the signal's reason */
  settled(podUid: string, signal: AbortSignal): Promise<void> {
    return this.#outcomes.settled(podUid, signal);
  }

  /** Implements {@link VolumeOutcomes.outcomes}. */
  outcomes(podUid: string, unfinished: (volume: UnsettledVolume) => VolumeError): readonly VolumeOutcome[] {
    return this.#outcomes.outcomes(podUid, unfinished);
  }

  /** Implements {@link VolumeOutcomes.isAttachLimitExceeded}. @throws the signal's reason */
  isAttachLimitExceeded(podUid: string, signal: AbortSignal): Promise<boolean> {
    return this.#outcomes.isAttachLimitExceeded(podUid, signal);
  }

  /** Stops: starts no more operations and aborts running ones. */
  close(reason: unknown): void {
    this.#life.abort(reason);
    this.#nodes.close(reason);
    for (const { timer } of this.#components.entries.all()) timer?.cancel();
  }

  #entry(key: VolumeKey, actions: VolumeActions, presence: VolumeState['presence']): VolumeEntry {
    const { entries, clock } = this.#components;
    return entries.getOrAdd(key, () => newEntry(key, actions, presence, new BackOff(clock)));
  }

  #unwant(entry: VolumeEntry): void {
    if (entry.wanted !== false) this.#begin(entry, false);
    this.#step(entry);
  }

  /**
   * Sets whether the volume is wanted, and resets the back-off, because the recorded failure belongs to the previous
   * goal.
   */
  #begin(entry: VolumeEntry, wanted: boolean): void {
    entry.backOff.forgive();
    entry.wanted = wanted;
  }

  #onNodeVolume(uniqueName: string): void {
    for (const entry of this.#components.entries.all()) {
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
    if (this.#outcomes.isSettled(entry)) for (const wake of [...entry.waiters]) wake();
  }

  #forget(entry: VolumeEntry): void {
    const { entries, onForgotten } = this.#components;
    entries.remove(entry);
    if (entry.actions.node === undefined) onForgotten?.(entry.directoryName);
  }

  /** Runs one step of a volume and then the next one that is due. Never rejects. */
  async #run(entry: VolumeEntry, step: RunningStep): Promise<void> {
    await this.#runner.run(entry, step, this.#life.signal);
    this.#step(entry);
  }

  #nodeStateOf({ actions: { node } }: VolumeEntry): VolumeState['node'] {
    if (node === undefined) return 'none';
    return this.#nodes.isStaged(node.volume.uniqueName) ? 'staged' : 'notStaged';
  }

  /** Reports the pod's use of the node volume, both before the first mount for the pod and after the last unmount. */
  #noteUse(entry: VolumeEntry): void {
    const { node } = entry.actions;
    if (node !== undefined) this.#nodes.note(node, nameOf(entry), nodeVolumeUse(entry));
  }

  /** Calls `onFailure` for a staging failure, once for each pod that waits for the volume. */
  #tellStageFailure(entry: VolumeEntry): void {
    const { failure } = this.#outcomes.lastFailure(entry);
    const { request, toldFailure } = entry;
    if (failure === undefined || failure === toldFailure || request === undefined) return;
    entry.toldFailure = failure;
    this.#components.onFailure(request.pod, request.volume, failure, 'stage');
  }

  /**
   * Recounts this volume only: recounting all volumes at each step would be slow for pods with thousands of volumes.
   */
  #count(entry: VolumeEntry): void {
    const { counted, actions, wanted, presence } = entry;
    const now = { plugin: actions.pluginName, isWanted: wanted === true, isMounted: presence === 'ready' };
    if (counted?.plugin === now.plugin && counted.isWanted === now.isWanted && counted.isMounted === now.isMounted)
      return;
    entry.counted = now;
    this.#components.metrics.recount(counted, now);
  }
}

/** Returns the operations of a volume that no controller attaches. */
function withoutAttachment(actions: VolumeActions): VolumeActions {
  const { node } = actions;
  return node === undefined
    ? actions
    : { ...actions, node: { ...node, volume: { ...node.volume, attachable: false } } };
}
