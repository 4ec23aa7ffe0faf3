import type { Clock, Timer } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { BackOff } from './back-off.ts';
import { type NodeVolumeState, type NodeVolumeUse, nextNodeVolumeStep } from './node-volume-state.ts';
import type { NodeVolumePlugin } from './plugin.ts';
import type { NodeVolume } from './resolved-volume.ts';
import type { VolumeMetrics } from './volume-metrics.ts';

/** A node volume, and who stages and unstages it. */
export interface StagedVolume {
  readonly volume: NodeVolume;
  readonly pluginName: string;
  readonly plugin: Pick<NodeVolumePlugin, 'stage' | 'unstage'>;
}

/** What {@link NodeVolumes} works with. */
export interface NodeVolumesComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<VolumeMetrics, 'operation'>;
  /** An operation of a node volume has ended. */
  readonly onChange: (uniqueName: string) => void;
}

interface Entry {
  staged: StagedVolume;
  /** How pods stand to it, those alone that it is anything to. */
  readonly users: Map<string, NodeVolumeUse>;
  presence: NodeVolumeState['presence'];
  busy: boolean;
  readonly backOff: BackOff;
  timer: Timer | undefined;
}

/**
 * Runs the operations of the volumes that are made ready once for the node: one at a time for each, none waiting for another's (C7),
 * and none for a pod's end. What is to be done is {@link nextNodeVolumeStep}'s to say.
 */
export class NodeVolumes {
  readonly #components: NodeVolumesComponents;
  readonly #entries = new Map<string, Entry>();
  readonly #life = new AbortController();

  constructor(components: NodeVolumesComponents) {
    this.#components = components;
  }

  /** How a pod stands to a node volume from now on. @param user tells pods' volumes apart */
  note(staged: StagedVolume, user: string, use: NodeVolumeUse): void {
    const isUse = use.wanted || use.inPods;
    // One that is in a pod already was staged by a former process.
    const presence = use.inPods ? 'uncertain' : 'absent';
    const entry = isUse ? this.#entry(staged, presence) : this.#entries.get(staged.volume.uniqueName);
    if (entry === undefined) return;
    const wasWanted = isWanted(entry);
    if (isUse) entry.users.set(user, use);
    else entry.users.delete(user);
    // Who wants it knows what it is made from.
    if (use.wanted) entry.staged = staged;
    // What failed before was another thing.
    if (isWanted(entry) !== wasWanted) entry.backOff.forgive();
    this.#step(entry);
  }

  /** One is staged, or may be: a former process has left it. */
  found(staged: StagedVolume): void {
    const entry = this.#entry(staged, 'uncertain');
    if (!entry.busy && entry.presence === 'absent') entry.presence = 'uncertain';
    this.#step(entry);
  }

  isStaged(uniqueName: string): boolean {
    return this.#entries.get(uniqueName)?.presence === 'staged';
  }

  /** Why it is not staged, and when that is tried again; `undefined` while it is being tried. */
  stageFailure(uniqueName: string): Pick<BackOff, 'failure' | 'retryAtMs'> | undefined {
    const { busy, backOff, presence } = this.#entries.get(uniqueName) ?? {};
    return busy || presence === 'staged' ? undefined : backOff;
  }

  /** Whether another pod has it, or may have it, than the one of `user`. */
  isInAnotherPod(uniqueName: string, user: string): boolean {
    const users = this.#entries.get(uniqueName)?.users ?? [];
    return [...users].some(([other, { inPods }]) => inPods && other !== user);
  }

  /** Ends everything: nothing is begun any more, and what runs is aborted. */
  close(reason: unknown): void {
    this.#life.abort(reason);
    for (const { timer } of this.#entries.values()) timer?.cancel();
  }

  #entry(staged: StagedVolume, presence: Entry['presence']): Entry {
    const known = this.#entries.get(staged.volume.uniqueName);
    if (known !== undefined) return known;
    const backOff = new BackOff(this.#components.clock);
    const entry: Entry = { staged, users: new Map(), presence, busy: false, backOff, timer: undefined };
    this.#entries.set(staged.volume.uniqueName, entry);
    return entry;
  }

  #step(entry: Entry): void {
    if (this.#life.signal.aborted) return;
    const { clock } = this.#components;
    entry.timer?.cancel();
    entry.timer = undefined;
    const nowMs = clock.monotonic();
    const { presence, busy } = entry;
    const { retryAtMs } = entry.backOff;
    const use = { wanted: isWanted(entry), inPods: [...entry.users.values()].some(({ inPods }) => inPods) };
    const step = nextNodeVolumeStep({ ...use, presence, busy, retryAtMs }, nowMs);
    if (step === 'stage' || step === 'unstage') void this.#run(entry, step);
    else if (step === 'forget') this.#entries.delete(entry.staged.volume.uniqueName);
    else if (step === 'wait' && retryAtMs !== undefined) {
      entry.timer = clock.setTimer(retryAtMs - nowMs, () => this.#step(entry));
    }
  }

  /** Never rejects. */
  async #run(entry: Entry, step: 'stage' | 'unstage'): Promise<void> {
    const { clock, metrics, logger, onChange } = this.#components;
    const { volume, pluginName, plugin } = entry.staged;
    const { signal } = this.#life;
    const startedAtMs = clock.monotonic();
    entry.busy = true;
    entry.presence = 'uncertain';
    let failure: VolumeError | undefined;
    try {
      await plugin[step](volume, signal);
    } catch (error) {
      failure = VolumeError.from(error);
    }
    entry.busy = false;
    if (signal.aborted) return;
    const tookMs = clock.monotonic() - startedAtMs;
    // Staging is a part of the pod's mounting, which counts itself where it gets that far.
    if (step === 'unstage') metrics.operation(pluginName, 'unmount_device', failure === undefined, tookMs);
    else if (failure !== undefined) metrics.operation(pluginName, 'volume_mount', false, tookMs);
    if (failure === undefined) {
      entry.presence = step === 'stage' ? 'staged' : 'absent';
      entry.backOff.forgive();
    } else if ((step === 'stage') === isWanted(entry)) {
      const backOffMs = entry.backOff.failed(failure);
      logger.warn({ err: failure, volume: volume.uniqueName, backOffMs, step }, 'Node volume operation failed');
    } else {
      // It was about what is not to be any more.
      entry.backOff.forgive();
    }
    this.#step(entry);
    onChange(volume.uniqueName);
  }
}

function isWanted({ users }: Entry): boolean {
  return [...users.values()].some(({ wanted }) => wanted);
}
