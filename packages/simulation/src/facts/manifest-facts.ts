import type { Observation } from '../observation.ts';
import type { Action } from '../scenario/actions.ts';
import type { PodPlan } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { MANIFEST_DIRECTORY, ROOT_DIRECTORY } from '../world/world.ts';

/** Longer than any source needs to see a change: the file source looks every 20 s at the latest. */
export const SEEN_MS = 35_000;

interface FileFacts {
  /** What the file says now; `undefined` where it is broken. */
  readonly content: PodPlan | undefined;
  /** What a kubelet holds on to that has seen all of it. */
  readonly lastGood: PodPlan | undefined;
  readonly writtenAtMs: number;
  /** Whether containers have run as `lastGood` says: then a kubelet has seen it, and the next one has to know it (F2). */
  readonly proven: boolean;
}

/** The manifests in the directory, and what a kubelet can know of them. */
export class ManifestFacts {
  readonly #files = new Map<string, FileFacts>();
  /** The names of all pods that a file ever had. */
  readonly #names = new Map<string, Set<string>>();
  /** Until when a kubelet may hold on to any of the versions of a file, or to none. */
  readonly #unsureUntilMs = new Map<string, number>();
  readonly #uids = new Set<string>();
  /** Until when a file cannot be read, by its path. */
  readonly #unreadableUntilMs = new Map<string, number>();
  /** The files that could never be read so far. */
  readonly #unread = new Set<string>();
  #nowMs = 0;
  #startedAtMs = 0;
  #sourcesReady = false;
  #hiddenUntilMs = -1;
  #storeFaultUntilMs = -1;

  /** Until when manifests, or changes of them, could not be read; -1 where they always could. */
  get hiddenUntilMs(): number {
    return this.#hiddenUntilMs;
  }

  /** Until when the kubelet's own directory was last out of order: what it had to remember may be lost. */
  get storeFaultUntilMs(): number {
    return this.#storeFaultUntilMs;
  }

  /** What the files stand for that could be read, in their order. */
  pods(): readonly PodPlan[] {
    const files = [...this.#files].filter(([file]) => !this.#unread.has(file)).sort(([a], [b]) => (a < b ? -1 : 1));
    return files.flatMap(([, { lastGood }]) => lastGood ?? []);
  }

  /** How many files could never be read so far. */
  get unread(): number {
    return this.#unread.size;
  }

  /** Whether any file ever had a pod of this UID. */
  hasEverHad(uid: string): boolean {
    return this.#uids.has(uid);
  }

  /** Whether the pod's manifest is broken now. */
  isBroken(uid: string): boolean {
    return [...this.#files.values()].some(({ content, lastGood }) => content === undefined && lastGood?.uid === uid);
  }

  /**
   * Whether nobody can say which version of the pod with this name a kubelet holds on to, if any: its manifest could not be read
   * when it started, and it is not certain which one the kubelet before it has seen last.
   */
  isUnsure(name: string): boolean {
    return [...this.#unsureUntilMs].some(([file, untilMs]) => {
      // What goes is ended only when all sources have spoken (F1).
      const held = this.#nowMs < untilMs || (!this.#sourcesReady && untilMs > this.#startedAtMs);
      return held && this.#names.get(file)?.has(name);
    });
  }

  observe(observation: Observation): void {
    this.#nowMs = observation.atMs;
    for (const file of this.#unread) if (!this.#isUnreadable(file)) this.#unread.delete(file);
    if (observation.kind === 'action') this.#onAction(observation.action);
    else if (observation.kind === 'kubeletStarted') this.#onStart();
    else if (observation.kind === 'containerStarted') this.#onContainer(observation.life);
    else if (observation.kind === 'sourcesReady') this.#onSourcesReady();
  }

  #onAction(action: Action): void {
    const nowMs = this.#nowMs;
    switch (action.do) {
      case 'writeManifest': {
        const { file, pod } = action;
        const names = this.#names.get(file) ?? new Set();
        this.#names.set(file, names.add(pod.name));
        this.#uids.add(pod.uid);
        this.#settle(file);
        if (!this.#files.has(file) && this.#isUnreadable(file)) this.#unread.add(file);
        // When it is read after that is not certain.
        if (this.#unread.has(file)) this.#unsureUntilMs.set(file, this.#hiddenUntilMs + SEEN_MS);
        this.#files.set(file, { content: pod, lastGood: pod, writtenAtMs: nowMs, proven: false });
        return;
      }
      case 'breakManifest': {
        const before = this.#files.get(action.file);
        if (before === undefined || this.#unread.has(action.file)) this.#files.set(action.file, NEVER_GOOD);
        else this.#files.set(action.file, { ...before, content: undefined });
        if (!before?.proven) this.#unsureUntilMs.set(action.file, Number.POSITIVE_INFINITY);
        return;
      }
      case 'removeManifest':
        this.#settle(action.file);
        this.#files.delete(action.file);
        this.#unread.delete(action.file);
        return;
      case 'fileFault': {
        const untilMs = nowMs + action.forMs;
        if ((action.operation ?? 'read') === 'read') {
          this.#unreadableUntilMs.set(action.path, Math.max(untilMs, this.#unreadableUntilMs.get(action.path) ?? 0));
        }
        if (action.path.startsWith(MANIFEST_DIRECTORY)) this.#hiddenUntilMs = Math.max(this.#hiddenUntilMs, untilMs);
        if (action.path === ROOT_DIRECTORY) this.#storeFaultUntilMs = Math.max(this.#storeFaultUntilMs, untilMs);
        return;
      }
      default:
    }
  }

  /** A kubelet that starts knows of a manifest that it cannot read what the one before it has remembered. */
  #onStart(): void {
    this.#startedAtMs = this.#nowMs;
    this.#sourcesReady = false;
    for (const [file, facts] of this.#files) {
      if (facts.content !== undefined && this.#nowMs > this.#hiddenUntilMs) continue;
      const remembered = facts.proven && this.#storeFaultUntilMs < facts.writtenAtMs;
      if (remembered) continue;
      if (facts.content === undefined) this.#files.set(file, { ...facts, lastGood: undefined });
      const untilMs = facts.content === undefined ? Number.POSITIVE_INFINITY : this.#hiddenUntilMs + SEEN_MS;
      this.#unsureUntilMs.set(file, untilMs);
    }
    // A file that is gone, too, may be held on to until it is seen to be.
    for (const file of this.#names.keys()) {
      if (!this.#files.has(file) && this.#nowMs <= this.#hiddenUntilMs) {
        this.#unsureUntilMs.set(file, this.#hiddenUntilMs + SEEN_MS);
      }
    }
  }

  #onSourcesReady(): void {
    this.#sourcesReady = true;
    for (const [file, untilMs] of this.#unsureUntilMs) {
      if (untilMs > this.#startedAtMs) this.#unsureUntilMs.set(file, Math.max(untilMs, this.#nowMs + SEEN_MS));
    }
  }

  #onContainer(life: Life): void {
    for (const [file, facts] of this.#files) {
      const { lastGood, proven } = facts;
      if (proven || lastGood?.uid !== life.podUid) continue;
      const plan = lastGood.containers.find(({ name }) => name === life.name);
      if (JSON.stringify(plan) === JSON.stringify(life.plan)) this.#files.set(file, { ...facts, proven: true });
    }
  }

  #isUnreadable(file: string): boolean {
    return this.#nowMs < (this.#unreadableUntilMs.get(`${MANIFEST_DIRECTORY}/${file}`) ?? 0);
  }

  /** What was not certain of a file is so soon after it has changed. */
  #settle(file: string): void {
    if (!this.#unsureUntilMs.has(file)) return;
    this.#unsureUntilMs.set(file, Math.max(this.#nowMs, this.#hiddenUntilMs) + SEEN_MS);
  }
}

const NEVER_GOOD: FileFacts = { content: undefined, lastGood: undefined, writtenAtMs: 0, proven: false };
