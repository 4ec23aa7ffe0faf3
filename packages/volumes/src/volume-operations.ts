import { abortable, type Clock, type Timer } from '@node-agent/async';
import type { Pod, Volume } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import { VolumeError } from './errors.ts';
import { type Filling, isFresh } from './freshness.ts';
import type { MountedVolume } from './plugin.ts';
import type { VolumeMetrics } from './volume-metrics.ts';
import { nextBackOffMs, nextVolumeStep, type VolumeState } from './volume-state.ts';

/** What is done to a volume; each is called again after a failure. */
export interface VolumeActions {
  /** The plugin's name, for metrics; `N/A` where there is none. */
  readonly pluginName: string;
  /** Whether setting it up once more renews its content. */
  readonly refreshes: boolean;
  setUp(pod: Pod, volume: Volume, signal: AbortSignal): Promise<MountedVolume>;
  tearDown(signal: AbortSignal): Promise<void>;
}

/** What {@link VolumeOperations} works with. */
export interface VolumeOperationsComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: VolumeMetrics;
  /** A volume could not be set up. */
  readonly onFailure: (pod: Pod, volume: Volume, error: VolumeError) => void;
  /** A volume became ready that nobody waits for any more. */
  readonly onReady: (podUid: string) => void;
}

/** How a volume stands, once no first attempt is under way. */
export interface VolumeOutcome {
  readonly name: string;
  /** Why it is not as it should be; `undefined` where it is. */
  readonly failure: VolumeError | undefined;
  readonly retryAtMs: number | undefined;
}

interface Entry {
  readonly podUid: string;
  readonly name: string;
  readonly actions: VolumeActions;
  wanted: boolean | undefined;
  /** What it is wanted for: the newest that was said. */
  request: { readonly pod: Pod; readonly volume: Volume } | undefined;
  /** What its content was made from last, or is being made from. */
  filling: Filling | undefined;
  presence: VolumeState['presence'];
  mounted: MountedVolume | undefined;
  stale: boolean;
  busy: boolean;
  failure: VolumeError | undefined;
  backOffMs: number | undefined;
  retryAtMs: number | undefined;
  timer: Timer | undefined;
  /** How it was counted last. */
  counted: string;
  /** Called when an operation has ended, or it is clear that none is due. */
  readonly waiters: Set<() => void>;
}

/**
 * Runs the operations of volumes, one at a time for each and no one waiting for another's (C7), and tries again what
 * failed: 500 ms later, then after twice as long, up to 122 s. What is to be done is {@link nextVolumeStep}'s to say.
 * An operation outlives those who wait for it, as upstream's do (`pkg/volume/util/operationexecutor`).
 */
export class VolumeOperations {
  readonly #components: VolumeOperationsComponents;
  readonly #entries = new Map<string, Entry>();
  readonly #byPod = new Map<string, Map<string, Entry>>();
  readonly #life = new AbortController();

  constructor(components: VolumeOperationsComponents) {
    this.#components = components;
  }

  /** Wants a volume, and its content up to date. @param id tells the volumes of a pod apart, on the disk too */
  want(pod: Pod, volume: Volume, id: string, actions: VolumeActions): void {
    const entry = this.#entry(pod.metadata.uid, volume.name, id, actions, 'absent');
    if (entry.wanted !== true) this.#forgive(entry);
    entry.wanted = true;
    entry.request = { pod, volume };
    entry.stale ||= entry.actions.refreshes && !isFresh(entry.filling, pod, this.#components.clock.monotonic());
    this.#step(entry);
  }

  /** A volume is on the disk, and who wants it is not known yet. */
  found(podUid: string, name: string, id: string, actions: VolumeActions): void {
    this.#count(this.#entry(podUid, name, id, actions, 'uncertain'));
  }

  /** A volume is on the disk, and nobody wants it. */
  remove(podUid: string, name: string, id: string, actions: VolumeActions): void {
    const entry = this.#entry(podUid, name, id, actions, 'uncertain');
    if (entry.presence === 'absent' && !entry.busy) entry.presence = 'uncertain';
    this.#unwant(entry);
  }

  /** Wants nothing of a pod any more. */
  release(podUid: string): void {
    for (const entry of [...this.#of(podUid)]) this.#unwant(entry);
  }

  /** Something has changed that may cure what failed for a pod, or be news for the content of its volumes: now, not later. */
  refresh(podUid: string): void {
    for (const entry of [...this.#of(podUid)]) {
      if (entry.wanted !== true || !entry.actions.refreshes) continue;
      this.#forgive(entry);
      entry.stale = true;
      this.#step(entry);
    }
  }

  /** A volume that is ready. */
  mounted(podUid: string, name: string): MountedVolume | undefined {
    for (const entry of this.#of(podUid)) if (entry.name === name && entry.wanted) return entry.mounted;
    return undefined;
  }

  /** All volumes of a pod that are ready, by name. */
  allMounted(podUid: string): ReadonlyMap<string, MountedVolume> {
    const ready = new Map<string, MountedVolume>();
    for (const { name, wanted, mounted } of this.#of(podUid)) if (wanted && mounted) ready.set(name, mounted);
    return ready;
  }

  /** The volumes of a pod for which something is still to be done before they are as they should be. */
  unsettled(podUid: string): readonly string[] {
    return [...this.#of(podUid)].filter((entry) => !isSettled(entry)).map(({ name }) => name);
  }

  /**
   * Waits until each volume of a pod is ready, gone, or has failed. That content is brought up to date is not waited for.
   * @throws the signal's reason
   */
  async settled(podUid: string, signal: AbortSignal): Promise<readonly VolumeOutcome[]> {
    const entries = [...this.#of(podUid)];
    await Promise.all(entries.map((entry) => this.#settled(entry, signal)));
    signal.throwIfAborted();
    return entries.map(({ name, failure, retryAtMs, wanted, presence }) => {
      const isRight = wanted ? presence === 'ready' : presence === 'absent';
      return { name, failure: isRight ? undefined : failure, retryAtMs };
    });
  }

  /** Ends everything: nothing is begun any more, and what runs is aborted. */
  close(reason: unknown): void {
    this.#life.abort(reason);
    for (const { timer } of this.#entries.values()) timer?.cancel();
  }

  async #settled(entry: Entry, signal: AbortSignal): Promise<void> {
    while (!isSettled(entry)) {
      let wake = (): void => {};
      const ended = new Promise<void>((resolve) => {
        wake = resolve;
      });
      entry.waiters.add(wake);
      try {
        await abortable(ended, signal);
      } finally {
        entry.waiters.delete(wake);
      }
    }
  }

  #of(podUid: string): Iterable<Entry> {
    return this.#byPod.get(podUid)?.values() ?? [];
  }

  #entry(podUid: string, name: string, id: string, actions: VolumeActions, presence: VolumeState['presence']): Entry {
    const key = `${podUid}/${id}`;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = {
      podUid,
      name,
      actions,
      presence,
      wanted: undefined,
      request: undefined,
      filling: undefined,
      mounted: undefined,
      stale: false,
      busy: false,
      failure: undefined,
      backOffMs: undefined,
      retryAtMs: undefined,
      timer: undefined,
      counted: '',
      waiters: new Set(),
    };
    this.#entries.set(key, entry);
    const ofPod = this.#byPod.get(podUid) ?? new Map<string, Entry>();
    this.#byPod.set(podUid, ofPod.set(key, entry));
    return entry;
  }

  #unwant(entry: Entry): void {
    // What failed before was another thing.
    if (entry.wanted !== false) this.#forgive(entry);
    entry.wanted = false;
    this.#step(entry);
  }

  #forgive(entry: Entry): void {
    entry.failure = undefined;
    entry.backOffMs = undefined;
    entry.retryAtMs = undefined;
  }

  #step(entry: Entry): void {
    if (this.#life.signal.aborted) return;
    const { clock } = this.#components;
    entry.timer?.cancel();
    entry.timer = undefined;
    const nowMs = clock.monotonic();
    const step = nextVolumeStep(entry, nowMs);
    if (step === 'setUp' || step === 'tearDown') void this.#run(entry, step);
    else if (step === 'forget') this.#forget(entry);
    else if (step === 'wait' && entry.retryAtMs !== undefined) {
      entry.timer = clock.setTimer(entry.retryAtMs - nowMs, () => this.#step(entry));
    }
    this.#count(entry);
    if (isSettled(entry)) for (const wake of [...entry.waiters]) wake();
  }

  /** Never rejects. */
  async #run(entry: Entry, step: 'setUp' | 'tearDown'): Promise<void> {
    const { clock, metrics } = this.#components;
    const { signal } = this.#life;
    const startedAtMs = clock.monotonic();
    entry.busy = true;
    // What becomes stale from here on is not seen by this operation.
    entry.stale = false;
    let failure: VolumeError | undefined;
    try {
      if (step === 'setUp') await this.#setUp(entry, signal);
      else await this.#tearDown(entry, signal);
    } catch (error) {
      failure = VolumeError.from(error);
    }
    entry.busy = false;
    if (signal.aborted) return;
    const operation = step === 'setUp' ? 'volume_mount' : 'volume_unmount';
    metrics.operation(entry.actions.pluginName, operation, failure === undefined, clock.monotonic() - startedAtMs);
    if (failure === undefined) this.#forgive(entry);
    else this.#failed(entry, step, failure);
    this.#step(entry);
  }

  async #setUp(entry: Entry, signal: AbortSignal): Promise<void> {
    const { request, actions, presence } = entry;
    if (request === undefined) return;
    if (presence === 'absent') entry.presence = 'uncertain';
    entry.filling = { pod: request.pod, atMs: this.#components.clock.monotonic() };
    entry.mounted = await actions.setUp(request.pod, request.volume, signal);
    entry.presence = 'ready';
    if (presence !== 'ready' && entry.waiters.size === 0 && entry.wanted) {
      this.#components.onReady(entry.podUid);
    }
  }

  async #tearDown(entry: Entry, signal: AbortSignal): Promise<void> {
    entry.presence = 'uncertain';
    entry.mounted = undefined;
    await entry.actions.tearDown(signal);
    entry.presence = 'absent';
  }

  #failed(entry: Entry, step: 'setUp' | 'tearDown', failure: VolumeError): void {
    const { clock, logger, onFailure } = this.#components;
    const { request, podUid, name, wanted } = entry;
    if (step === 'setUp' && request !== undefined) onFailure(request.pod, request.volume, failure);
    // It was about what is not to be any more.
    if ((step === 'setUp') !== (wanted === true)) {
      this.#forgive(entry);
      return;
    }
    entry.stale ||= step === 'setUp' && entry.presence === 'ready';
    entry.failure = failure;
    entry.filling = undefined;
    entry.backOffMs = nextBackOffMs(entry.backOffMs);
    entry.retryAtMs = clock.monotonic() + entry.backOffMs;
    logger.warn({ err: failure, podUid, volume: name, backOffMs: entry.backOffMs, step }, 'Volume operation failed');
  }

  #forget(entry: Entry): void {
    const ofPod = this.#byPod.get(entry.podUid);
    for (const [key, candidate] of ofPod ?? []) {
      if (candidate !== entry) continue;
      ofPod?.delete(key);
      this.#entries.delete(key);
    }
    if (ofPod?.size === 0) this.#byPod.delete(entry.podUid);
  }

  #count(entry: Entry): void {
    const counted = `${entry.wanted} ${entry.presence}`;
    if (counted === entry.counted) return;
    entry.counted = counted;
    this.#components.metrics.count(
      [...this.#entries.values()].map(({ wanted, presence, actions: { pluginName } }) => ({
        wanted,
        presence,
        pluginName,
      })),
    );
  }
}

/** Whether nothing of an entry is to be waited for: it is as it should be, or has failed and not been forgiven. */
function isSettled({ wanted, presence, failure, busy }: Entry): boolean {
  if (wanted === undefined) return true;
  if (wanted) return presence === 'ready' || (failure !== undefined && !busy);
  return (presence === 'absent' && !busy) || (failure !== undefined && !busy);
}
