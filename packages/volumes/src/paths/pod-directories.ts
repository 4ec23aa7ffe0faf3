import { type Clock, Semaphore } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import type { Gauge, Metrics } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { type OrphanComponents, removeOrphanedPod } from './orphaned-pod.ts';
import type { PodPaths } from './pod-paths.ts';
import { podsOnDisk } from './volumes-on-disk.ts';

/** What {@link PodDirectories} works with. */
export interface PodDirectoriesComponents extends OrphanComponents {
  readonly fs: OrphanComponents['fs'] & Pick<FileSystem, 'mkdir'>;
  readonly paths: PodPaths;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: Metrics;
  /** Takes all volumes of a pod away. @throws VolumeError `StillMounted` */
  readonly tearDown: (uid: string, signal: AbortSignal) => Promise<void>;
}

/** The directories of how many orphaned pods are taken away at once. */
const ORPHANS_AT_ONCE = 32;
/** How long the directories of a pod are taken to be there that no sweep has missed, in milliseconds. */
const MADE_MS = 600_000;

/** Makes the directories of pods, and takes away those of pods that nobody knows. */
export class PodDirectories {
  readonly #components: PodDirectoriesComponents;
  /** When the directories of pods were asked for: a sweep that began before may not know of them. */
  readonly #wanted = new Map<string, number>();
  /** How many sweeps have begun. */
  #sweeps = 0;
  readonly #underWay = new Set<number>();
  readonly #orphanPlaces = new Semaphore(ORPHANS_AT_ONCE);
  /** When the directories of pods were made last, by the monotonic clock, where each sweep since has seen the pod's own. */
  readonly #made = new Map<string, number>();
  /** Pods whose directories are being removed. */
  readonly #removals = new Map<string, Promise<unknown>>();
  readonly #orphans: Gauge;
  readonly #orphanErrors: Gauge;

  constructor(components: PodDirectoriesComponents) {
    this.#components = components;
    this.#orphans = components.metrics.gauge({
      name: 'kubelet_orphan_pod_cleaned_volumes',
      help: 'The total number of orphaned Pods whose volumes were cleaned in the last periodic sweep.',
    });
    this.#orphanErrors = components.metrics.gauge({
      name: 'kubelet_orphan_pod_cleaned_volumes_errors',
      help: 'The number of orphaned Pods whose volumes failed to be cleaned in the last periodic sweep.',
    });
  }

  /** As `VolumeManager.makePodDataDirs` has it. */
  async make(uid: string): Promise<void> {
    const { fs, paths, clock } = this.#components;
    this.#wanted.set(uid, this.#sweeps);
    await this.#removals.get(uid);
    const nowMs = clock.monotonic();
    if (nowMs - (this.#made.get(uid) ?? Number.NEGATIVE_INFINITY) < MADE_MS) return;
    this.#made.delete(uid);
    for (const directory of [paths.volumesDir(uid), paths.pluginsDir(uid)]) await fs.mkdir(directory, { mode: 0o750 });
    this.#made.set(uid, nowMs);
  }

  /** As `VolumeManager.cleanupOrphanedPodDirs` has it. */
  async removeOrphans(isKnown: (uid: string) => boolean, signal?: AbortSignal): Promise<void> {
    const { fs, paths } = this.#components;
    const sweep = ++this.#sweeps;
    this.#underWay.add(sweep);
    try {
      this.#forgetOld();
      const madeBefore = [...this.#made.keys()];
      const onDisk = await podsOnDisk(fs, paths);
      const seen = new Set(onDisk);
      // Somebody else has removed it: the pod's next sync makes it anew.
      for (const uid of madeBefore) if (!seen.has(uid)) this.#made.delete(uid);
      const isOrphan = (uid: string): boolean =>
        !signal?.aborted && !isKnown(uid) && (this.#wanted.get(uid) ?? -1) < sweep && !this.#removals.has(uid);
      const failures: string[] = [];
      let orphans = 0;
      const ending = signal ?? new AbortController().signal;
      await Promise.all(
        onDisk.map(async (uid) => {
          using _place = await this.#orphanPlaces.acquire();
          if (!isOrphan(uid)) return;
          orphans++;
          await this.#removeAlone(uid, ending).catch((error: unknown) => {
            failures.push(VolumeError.from(error).message);
          });
        }),
      );
      this.#orphans.set({}, orphans);
      this.#orphanErrors.set({}, failures.length);
      if (failures.length > 0) throw new VolumeError('StillMounted', failures.join('; '));
    } finally {
      this.#underWay.delete(sweep);
    }
  }

  /** What no sweep can be mistaken about any more, and what has not been looked at for long. */
  #forgetOld(): void {
    const oldest = Math.min(...this.#underWay);
    for (const [uid, since] of this.#wanted) if (since < oldest) this.#wanted.delete(uid);
    const nowMs = this.#components.clock.monotonic();
    for (const [uid, atMs] of this.#made) if (nowMs - atMs >= MADE_MS) this.#made.delete(uid);
  }

  async #removeAlone(uid: string, signal: AbortSignal): Promise<void> {
    this.#made.delete(uid);
    const removal = this.#remove(uid, signal);
    // Who waits for it wants it to be over.
    const over = removal.catch(() => undefined);
    this.#removals.set(uid, over);
    try {
      await removal;
    } finally {
      this.#removals.delete(uid);
    }
  }

  async #remove(uid: string, signal: AbortSignal): Promise<void> {
    await this.#components.tearDown(uid, signal);
    await removeOrphanedPod(this.#components, uid);
  }
}
