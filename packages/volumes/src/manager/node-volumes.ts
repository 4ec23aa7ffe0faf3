import type { Clock, Timer } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { VolumeError, type VolumeErrorCode } from '../errors.ts';
import { BackOff } from './back-off.ts';
import { presenceAfterFailure } from './failed-presence.ts';
import { type NodeVolumeState, type NodeVolumeUse, nextNodeVolumeStep } from './node-volume-state.ts';
import type { NodeVolumePlugin } from './plugin.ts';
import type { NodeVolume } from './resolved-volume.ts';
import type { VolumeAttachments } from './volume-attachments.ts';
import type { VolumeMetrics } from './volume-metrics.ts';

/** A node volume with the plugin that stages and unstages it. */
export interface StagedVolume {
  readonly volume: NodeVolume;
  readonly pluginName: string;
  /** Whether the volume is a block device. Default: false. */
  readonly isBlock?: boolean;
  readonly plugin: Pick<NodeVolumePlugin, 'stage' | 'unstage' | 'isAttachable' | 'isAttachLimitExceeded'>;
}

/** Dependencies of {@link NodeVolumes}. */
export interface NodeVolumesComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<VolumeMetrics, 'operation' | 'attached'>;
  readonly attachments: VolumeAttachments;
  /** Called when an operation of a node volume has finished. */
  readonly onChange: (uniqueName: string) => void;
  /** Called when {@link NodeVolumes.attachableInUse} has changed. */
  readonly onInUseChange: () => void;
  /** Called when a node volume is no longer used. */
  readonly onForgotten?: (uniqueName: string) => void;
}

interface Entry {
  staged: StagedVolume;
  /** Uses of the volume by pods, with an entry for each pod that wants or may have the volume. */
  readonly users: Map<string, NodeVolumeUse>;
  presence: NodeVolumeState['presence'];
  /** SELinux label with which the volume is staged, or may be; '' without one. */
  stagedLabel: string;
  /** Whether a former process may have staged the volume, and it was not staged since. */
  isReconstructed: boolean;
  busy: boolean;
  /** Whether staging the volume was attempted before. */
  isTried: boolean;
  readonly backOff: BackOff;
  timer: Timer | undefined;
}

/**
 * Runs the operations of node volumes: one at a time per volume. Operations of different volumes are independent (C7),
 * and an operation does not delay the termination of a pod. {@link nextNodeVolumeStep} decides which operation is next.
 */
export class NodeVolumes {
  readonly #components: NodeVolumesComponents;
  readonly #entries = new Map<string, Entry>();
  readonly #life = new AbortController();

  constructor(components: NodeVolumesComponents) {
    this.#components = components;
  }

  /** Records how a pod uses a node volume from now on. @param user identifies the pod's volume */
  note(staged: StagedVolume, user: string, use: NodeVolumeUse): void {
    const isUse = use.wanted || use.inPods;
    // If a pod already has the volume, a former kubelet process staged it.
    const presence = use.inPods ? 'uncertain' : 'absent';
    const entry = isUse ? this.#entry(staged, presence) : this.#entries.get(staged.volume.uniqueName);
    if (entry === undefined) return;
    const wasWanted = isWanted(entry);
    if (isUse) entry.users.set(user, use);
    else entry.users.delete(user);
    // Only the request of a pod that wants the volume contains the full spec.
    if (use.wanted) this.#become(entry, staged);
    // If the goal has changed, the recorded failure belongs to the previous goal.
    if (isWanted(entry) !== wasWanted) entry.backOff.forgive();
    this.#step(entry);
  }

  /** Records that a former process staged the volume, or may have. */
  found(staged: StagedVolume): void {
    const entry = this.#entry(staged, 'uncertain');
    if (!entry.busy && entry.presence === 'absent') {
      entry.presence = 'uncertain';
      entry.stagedLabel = labelOf(staged);
      entry.isReconstructed = true;
    }
    this.#step(entry);
  }

  /** Continues with volumes that wait to be attached. Called when the node's status may have changed. */
  attachmentsChanged(): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.staged.volume.attachable && isWanted(entry)) this.#step(entry);
    }
  }

  /** Retries all operations now whose last failure has this error code, because the cause may be resolved. */
  retryNow(code: VolumeErrorCode): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.backOff.failure?.code !== code) continue;
      entry.backOff.forgive();
      this.#step(entry);
    }
  }

  /**
   * Returns the names of all volumes that a controller attaches and that are, or may be, in use. Of a volume that a
   * former process left, the node's status says whether a controller attaches it (upstream:
   * `UpdateReconstructedVolumeAttachability`). Returns `undefined` while that is not known.
   */
  attachableInUse(): readonly string[] | undefined {
    const names: string[] = [];
    for (const [uniqueName, { staged }] of this.#entries) {
      const isAttachable = staged.volume.attachable ?? this.#components.attachments.isAttached(uniqueName);
      if (isAttachable === undefined) return undefined;
      if (isAttachable) names.push(uniqueName);
    }
    return names;
  }

  /** Returns whether the volume waits for a controller to attach it. */
  awaitsAttachment(uniqueName: string): boolean {
    const entry = this.#entries.get(uniqueName);
    return entry !== undefined && !entry.busy && entry.presence !== 'staged' && !this.#isAttached(entry);
  }

  /** Returns whether the volume is staged as its pods want it. */
  isStaged(uniqueName: string): boolean {
    const entry = this.#entries.get(uniqueName);
    return entry?.presence === 'staged' && !isOtherwise(entry);
  }

  /** Returns whether the volume is, or may be, staged with another SELinux label for a pod that has ended. */
  isStagedOtherwise(uniqueName: string): boolean {
    const entry = this.#entries.get(uniqueName);
    return entry !== undefined && isOtherwise(entry) && isLeaving(entry);
  }

  /** Returns why the volume is not staged, and the time of the next retry; `undefined` while staging is in progress. */
  stageFailure(uniqueName: string): Pick<BackOff, 'failure' | 'retryAtMs'> | undefined {
    const { busy, backOff, presence } = this.#entries.get(uniqueName) ?? {};
    return busy || presence === 'staged' ? undefined : backOff;
  }

  /** Returns whether a pod other than the one of `user` has, or may have, the volume. */
  isInAnotherPod(uniqueName: string, user: string): boolean {
    const users = this.#entries.get(uniqueName)?.users ?? [];
    return [...users].some(([other, { inPods }]) => inPods && other !== user);
  }

  /** Stops: starts no more operations and aborts running ones. */
  close(reason: unknown): void {
    this.#life.abort(reason);
    for (const { timer } of this.#entries.values()) timer?.cancel();
  }

  #entry(staged: StagedVolume, presence: Entry['presence']): Entry {
    const known = this.#entries.get(staged.volume.uniqueName);
    if (known !== undefined) return known;
    const backOff = new BackOff(this.#components.clock);
    const isReconstructed = presence === 'uncertain';
    const entry = {
      staged,
      stagedLabel: isReconstructed ? labelOf(staged) : '',
      users: new Map(),
      presence,
      isReconstructed,
      busy: false,
      isTried: false,
      backOff,
      timer: undefined,
    };
    this.#entries.set(staged.volume.uniqueName, entry);
    if (staged.volume.attachable !== false) this.#components.onInUseChange();
    return entry;
  }

  /**
   * Replaces the volume's spec by the spec of the pod that wants the volume. A volume that is, or may be, staged keeps
   * its name, because the name may be part of the path at which it must be unstaged: several PersistentVolumes may name
   * one volume of a driver.
   */
  #become(entry: Entry, staged: StagedVolume): void {
    const { name, attachable: wasAttachable } = entry.staged.volume;
    entry.staged = entry.presence === 'absent' ? staged : { ...staged, volume: { ...staged.volume, name } };
    if (wasAttachable !== staged.volume.attachable) this.#components.onInUseChange();
  }

  #forget({ staged: { volume } }: Entry): void {
    const { attachments, onInUseChange, onForgotten } = this.#components;
    onForgotten?.(volume.uniqueName);
    this.#entries.delete(volume.uniqueName);
    attachments.released(volume.uniqueName);
    if (volume.attachable !== false) onInUseChange();
  }

  #isAttached({ staged: { volume } }: Entry): boolean {
    return !volume.attachable || this.#components.attachments.isReady(volume.uniqueName);
  }

  #step(entry: Entry): void {
    if (this.#life.signal.aborted) return;
    const { clock } = this.#components;
    entry.timer?.cancel();
    entry.timer = undefined;
    const nowMs = clock.monotonic();
    const { presence, busy } = entry;
    const { retryAtMs } = entry.backOff;
    const use = {
      wanted: isWanted(entry),
      inPods: [...entry.users.values()].some(({ inPods }) => inPods),
      isLeaving: isLeaving(entry),
    };
    const attached = this.#isAttached(entry);
    const state = { ...use, presence, isOtherwise: isOtherwise(entry), attached, busy, retryAtMs };
    const step = nextNodeVolumeStep(state, nowMs);
    if (step === 'stage' || step === 'unstage') void this.#run(entry, step);
    else if (step === 'forget') this.#forget(entry);
    else if (step === 'wait' && retryAtMs !== undefined) {
      entry.timer = clock.setTimer(retryAtMs - nowMs, () => this.#step(entry));
    }
  }

  /** Runs one operation of a node volume and records the result. Never rejects. */
  async #run(entry: Entry, step: 'stage' | 'unstage'): Promise<void> {
    const { clock, metrics, logger, onChange } = this.#components;
    const { volume, pluginName, plugin, isBlock } = entry.staged;
    const { signal } = this.#life;
    const startedAtMs = clock.monotonic();
    if (step === 'stage' && !entry.isTried && !entry.isReconstructed) {
      metrics.attached(pluginName, volume.spec?.isMigrated);
    }
    entry.isTried ||= step === 'stage';
    const before = entry.presence === 'absent' ? 'absent' : 'uncertain';
    entry.busy = true;
    entry.presence = 'uncertain';
    if (step === 'stage') entry.stagedLabel = labelOf(entry.staged);
    let failure: VolumeError | undefined;
    try {
      await plugin[step](volume, signal);
    } catch (error) {
      failure = VolumeError.from(error);
    }
    entry.busy = false;
    if (signal.aborted) return;
    const durationMs = clock.monotonic() - startedAtMs;
    const result = { succeeded: failure === undefined, durationMs, isMigrated: volume.spec?.isMigrated };
    // A successful staging has no metric of its own: the mount operation of the pod, which follows, records its result.
    if (step === 'unstage') metrics.operation(pluginName, isBlock ? 'unmap_device' : 'unmount_device', result);
    else if (failure !== undefined) metrics.operation(pluginName, isBlock ? 'map_volume' : 'volume_mount', result);
    if (failure !== undefined && step === 'stage') {
      entry.presence = presenceAfterFailure(before, failure.effect, entry.isReconstructed);
    }
    if (failure === undefined) {
      entry.presence = step === 'stage' ? 'staged' : 'absent';
      entry.isReconstructed = false;
      entry.backOff.forgive();
    } else if ((step === 'stage') === (isWanted(entry) && !isOtherwise(entry))) {
      const backOffMs = entry.backOff.failed(failure);
      logger.warn({ err: failure, volume: volume.uniqueName, backOffMs, step }, 'Node volume operation failed');
    } else {
      // The operation is no longer needed, so its failure causes no back-off.
      entry.backOff.forgive();
    }
    this.#step(entry);
    onChange(volume.uniqueName);
  }
}

/** Returns whether the volume is, or may be, staged with another SELinux label than its pods want. */
function isOtherwise({ presence, stagedLabel, staged }: Entry): boolean {
  return presence !== 'absent' && stagedLabel !== labelOf(staged);
}

function labelOf({ volume }: StagedVolume): string {
  return volume.selinuxLabel ?? '';
}

/** Returns whether a pod that does not want the volume (any more) has it, or may have it. */
function isLeaving({ users }: Entry): boolean {
  return [...users.values()].some(({ inPods, wanted }) => inPods && !wanted);
}

function isWanted({ users }: Entry): boolean {
  return [...users.values()].some(({ wanted }) => wanted);
}
