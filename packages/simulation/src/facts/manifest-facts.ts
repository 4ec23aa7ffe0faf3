import type { Observation } from '../observation.ts';
import type { Action } from '../scenario/actions.ts';
import type { PodPlan } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { MANIFEST_DIRECTORY, ROOT_DIRECTORY } from '../world/world.ts';

/** Time after which every pod source has detected a change. The file source lists its directory at least every 20 s. */
export const SEEN_MS = 35_000;
/** File operations of which each must succeed for a kubelet to read a manifest. */
const READ_STEPS: ReadonlySet<string> = new Set(['stat', 'read']);

interface FileFacts {
  /** Current content of the file; `undefined` if the content is malformed. */
  readonly content: PodPlan | undefined;
  /** The last well-formed version of the file, which a kubelet keeps if it has seen all versions. */
  readonly lastGood: PodPlan | undefined;
  readonly writtenAtMs: number;
  /**
   * Whether containers have run according to `lastGood`. If containers have run according to this version, a kubelet
   * has seen it, and the next kubelet must know it (F2).
   */
  readonly proven: boolean;
}

/** The manifest files, and the versions of these files that a kubelet can know. */
export class ManifestFacts {
  readonly #files = new Map<string, FileFacts>();
  /** Names of all pods that each file has ever contained. */
  readonly #names = new Map<string, Set<string>>();
  /** Times until which it is uncertain which version of a file a kubelet keeps, if any. */
  readonly #unsureUntilMs = new Map<string, number>();
  readonly #uids = new Set<string>();
  /** Times until which files cannot be read, by path. */
  readonly #unreadableUntilMs = new Map<string, number>();
  /** Files that could not be read at some time. */
  readonly #unread = new Set<string>();
  #nowMs = 0;
  #startedAtMs = 0;
  #sourcesReady = false;
  #hiddenUntilMs = -1;
  #storeFaultUntilMs = -1;

  /** Time until which manifests or their changes could not be read; -1 if there never was a read fault. */
  get hiddenUntilMs(): number {
    return this.#hiddenUntilMs;
  }

  /**
   * Time until which the kubelet's own directory last had a fault. A kubelet may have lost manifests that it stored
   * before this time.
   */
  get storeFaultUntilMs(): number {
    return this.#storeFaultUntilMs;
  }

  /** Returns the pods of all files that could be read, in the order of the files. */
  pods(): readonly PodPlan[] {
    const files = [...this.#files].filter(([file]) => !this.#unread.has(file)).sort(([a], [b]) => (a < b ? -1 : 1));
    return files.flatMap(([, { lastGood }]) => lastGood ?? []);
  }

  /** Number of files that could not be read at some time. */
  get unread(): number {
    return this.#unread.size;
  }

  /** Reports whether any file has ever contained a pod with this UID. */
  hasEverHad(uid: string): boolean {
    return this.#uids.has(uid);
  }

  /** Reports whether the pod's manifest is currently malformed. */
  isBroken(uid: string): boolean {
    return [...this.#files.values()].some(({ content, lastGood }) => content === undefined && lastGood?.uid === uid);
  }

  /**
   * Reports whether it is uncertain which version of the pod with this name a kubelet keeps, if any. A manifest that
   * could not be read when the kubelet started makes this uncertain, unless the version that the previous kubelet saw
   * last is known.
   */
  isUnsure(name: string): boolean {
    return [...this.#unsureUntilMs].some(([file, untilMs]) => {
      // Before all sources have reported, no removed pod is terminated, so the uncertainty lasts (F1).
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
        // When the file becomes readable again, the kubelet reads it at an unknown time.
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
        if (READ_STEPS.has(action.operation ?? 'read')) {
          this.#unreadableUntilMs.set(action.path, Math.max(untilMs, this.#unreadableUntilMs.get(action.path) ?? 0));
        }
        if (action.path.startsWith(MANIFEST_DIRECTORY)) this.#hiddenUntilMs = Math.max(this.#hiddenUntilMs, untilMs);
        if (action.path === ROOT_DIRECTORY) this.#storeFaultUntilMs = Math.max(this.#storeFaultUntilMs, untilMs);
        return;
      }
      default:
    }
  }

  /**
   * Marks the manifests whose version is uncertain after a kubelet start: a kubelet that cannot read a manifest at its
   * start uses the version that the previous kubelet stored.
   */
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
    // A kubelet may also keep the pod of a deleted file until the kubelet detects the deletion.
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

  /** Reports whether a fault of the file, or of its directory, lets reads of the file fail now. */
  #isUnreadable(file: string): boolean {
    const paths = [MANIFEST_DIRECTORY, `${MANIFEST_DIRECTORY}/${file}`];
    return paths.some((path) => this.#nowMs < (this.#unreadableUntilMs.get(path) ?? 0));
  }

  /**
   * Limits the uncertainty about a file after a change of the file: the kubelet reads the new version within
   * {@link SEEN_MS}.
   */
  #settle(file: string): void {
    if (!this.#unsureUntilMs.has(file)) return;
    this.#unsureUntilMs.set(file, Math.max(this.#nowMs, this.#hiddenUntilMs) + SEEN_MS);
  }
}

const NEVER_GOOD: FileFacts = { content: undefined, lastGood: undefined, writtenAtMs: 0, proven: false };
