import { type Clock, Semaphore } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import type { Gauge, Metrics } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { type OrphanComponents, removeOrphanedPod } from './orphaned-pod.ts';
import type { PodPaths } from './pod-paths.ts';
import { podsOnDisk } from './volumes-on-disk.ts';

/** Dependencies of {@link PodDirectories}. */
export interface PodDirectoriesComponents extends OrphanComponents {
  readonly fs: OrphanComponents['fs'] & Pick<FileSystem, 'mkdir'>;
  readonly paths: PodPaths;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: Metrics;
  /** Tears down all volumes of a pod. @throws VolumeError `StillMounted` */
  readonly tearDown: (uid: string, signal: AbortSignal) => Promise<void>;
}

/** Maximum number of orphaned pods whose directories are removed concurrently. */
const ORPHANS_AT_ONCE = 32;
/** Time in milliseconds for which created directories are assumed to exist, unless a clean-up finds them missing. */
const MADE_MS = 600_000;

/** Creates the directories of pods and removes those of orphaned pods. */
export class PodDirectories {
  readonly #components: PodDirectoriesComponents;
  /**
   * Value of `#sweeps` when each pod's directories were last requested: a clean-up that began earlier may not know the
   * pod.
   */
  readonly #wanted = new Map<string, number>();
  /** Number of clean-ups that have begun. */
  #sweeps = 0;
  readonly #underWay = new Set<number>();
  readonly #orphanPlaces = new Semaphore(ORPHANS_AT_ONCE);
  /**
   * Monotonic time at which each pod's directories were created. An entry is removed if a clean-up does not find the
   * pod's directory.
   */
  readonly #made = new Map<string, number>();
  /** Removals of pods' directories in progress, by pod UID. */
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

  /** Implements `VolumeManager.makePodDataDirs`. */
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

  /** Implements `VolumeManager.cleanupOrphanedPodDirs`. */
  async removeOrphans(isKnown: (uid: string) => boolean, signal?: AbortSignal): Promise<void> {
    const { fs, paths } = this.#components;
    const sweep = ++this.#sweeps;
    this.#underWay.add(sweep);
    try {
      this.#forgetOld();
      const madeBefore = [...this.#made.keys()];
      const onDisk = await podsOnDisk(fs, paths);
      const seen = new Set(onDisk);
      // The directory was removed by another program, so the pod's next sync must create it again.
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

  /** Drops requests that are older than all running clean-ups, and creation times that are too old. */
  #forgetOld(): void {
    const oldest = Math.min(...this.#underWay);
    for (const [uid, since] of this.#wanted) if (since < oldest) this.#wanted.delete(uid);
    const nowMs = this.#components.clock.monotonic();
    for (const [uid, atMs] of this.#made) if (nowMs - atMs >= MADE_MS) this.#made.delete(uid);
  }

  async #removeAlone(uid: string, signal: AbortSignal): Promise<void> {
    this.#made.delete(uid);
    const removal = this.#remove(uid, signal);
    // Callers wait until the removal ends, whether it succeeds or fails.
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
