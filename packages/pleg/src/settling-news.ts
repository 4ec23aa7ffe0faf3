import type { Clock, Timer } from '@node-agent/async';
import { noPod, type PodSnapshot } from './snapshot.ts';
import type { PlegRuntimeEvent, PlegRuntimeEventKind } from './types.ts';

/** What {@link SettlingNews} works with. */
export interface SettlingNewsComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** What is known of a pod; `undefined` where nothing is. */
  readonly snapshot: (uid: string) => PodSnapshot | undefined;
  /** Asks for a look at a pod. */
  readonly look: (uid: string) => void;
}

interface Settling {
  readonly timer: Timer;
  /** What was last told of each container and sandbox; by '' what names none. */
  readonly news: Map<string, PlegRuntimeEventKind | undefined>;
}

/**
 * Whether what is known shows what the news tells, or what came after it. A container or sandbox never goes back: not to an
 * earlier state, nor into being.
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
 * News of the runtime that nobody has to hurry for. The start of a pod makes several of them, of which the look that follows it
 * shows all: only where none begins after them, nor one that was under way has shown them, do they lead to one.
 */
export class SettlingNews {
  readonly #components: SettlingNewsComponents;
  readonly #settleMs: number;
  readonly #pods = new Map<string, Settling>();

  /** @param settleMs how long after a pod's first news the pod is looked at, where that is still of use */
  constructor(components: SettlingNewsComponents, settleMs: number) {
    this.#components = components;
    this.#settleMs = settleMs;
  }

  add({ podUid, kind, containerId = '' }: PlegRuntimeEvent): void {
    if (this.#isShown(podUid, containerId, kind)) return;
    const settling = this.#pods.get(podUid) ?? this.#begin(podUid);
    settling.news.set(containerId, kind);
  }

  /** A look at the pod begins: it will show what was told so far. */
  drop(podUid: string): void {
    this.#pods.get(podUid)?.timer.cancel();
    this.#pods.delete(podUid);
  }

  /** Drops what waits. */
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
