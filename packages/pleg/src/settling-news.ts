import type { Clock, Timer } from '@node-agent/async';
import { noPod, type PodSnapshot } from './snapshot.ts';
import type { PlegRuntimeEvent, PlegRuntimeEventKind } from './types.ts';

/** Dependencies of {@link SettlingNews}. */
export interface SettlingNewsComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Returns the known snapshot of a pod, or `undefined` if the pod is unknown. */
  readonly snapshot: (uid: string) => PodSnapshot | undefined;
  /** Requests a read of a pod. */
  readonly look: (uid: string) => void;
}

interface Settling {
  readonly timer: Timer;
  /** Kind of the last event of each container or sandbox, by ID. The key `''` stands for events without an ID. */
  readonly news: Map<string, PlegRuntimeEventKind | undefined>;
}

/**
 * Returns whether a snapshot already shows the state that an event reports, or a later state. Containers and sandboxes
 * never return to an earlier state, and never reappear after their removal.
 */
export function showsNews(
  { containers, sandboxes }: PodSnapshot,
  id: string,
  kind: PlegRuntimeEventKind | undefined,
): boolean {
  const container = containers.get(id);
  const sandbox = sandboxes.get(id);
  switch (kind) {
    case 'created':
      return container !== undefined || sandbox !== undefined;
    case 'started':
      return container === 'running' || container === 'exited' || sandbox !== undefined;
    case 'stopped':
      return container === 'exited' || sandbox === 'notReady';
    case 'deleted':
      return container === undefined && sandbox === undefined;
    default:
      return false;
  }
}

/**
 * Delays runtime events that are not urgent. Starting a pod causes several events, and one read after them shows all
 * changes. An event causes a read only if no read of the pod begins after the event and the known snapshot does not
 * show it.
 */
export class SettlingNews {
  readonly #components: SettlingNewsComponents;
  readonly #settleMs: number;
  readonly #pods = new Map<string, Settling>();

  /** @param settleMs delay from a pod's first event to the read of the pod, if that read is still needed */
  constructor(components: SettlingNewsComponents, settleMs: number) {
    this.#components = components;
    this.#settleMs = settleMs;
  }

  add({ podUid, kind, containerId = '' }: PlegRuntimeEvent): void {
    if (this.#isShown(podUid, containerId, kind)) return;
    const settling = this.#pods.get(podUid) ?? this.#begin(podUid);
    settling.news.set(containerId, kind);
  }

  /**
   * Drops a pod's delayed events. Called when a read of the pod begins, because that read will show the events'
   * changes.
   */
  drop(podUid: string): void {
    this.#pods.get(podUid)?.timer.cancel();
    this.#pods.delete(podUid);
  }

  /** Drops all delayed events. */
  stop(): void {
    for (const { timer } of this.#pods.values()) timer.cancel();
    this.#pods.clear();
  }

  #begin(uid: string): Settling {
    const timer = this.#components.clock.setTimer(this.#settleMs, () => this.#end(uid));
    const settling: Settling = { timer, news: new Map() };
    this.#pods.set(uid, settling);
    return settling;
  }

  #end(uid: string): void {
    const news = [...(this.#pods.get(uid)?.news ?? [])];
    this.#pods.delete(uid);
    if (news.some(([id, kind]) => !this.#isShown(uid, id, kind))) this.#components.look(uid);
  }

  #isShown(uid: string, id: string, kind: PlegRuntimeEventKind | undefined): boolean {
    return id !== '' && showsNews(this.#components.snapshot(uid) ?? noPod, id, kind);
  }
}
