import type { Clock } from '@node-agent/async';
import type { ContainerStats, FilesystemUsage } from '@node-agent/cri-client';
import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import type { FileUse } from './file-use.ts';
import type { GroupReader } from './group-reader.ts';
import type { KernelReads } from './kernel-reads.ts';
import { upperDirectoryOfRoot } from './overlay-root.ts';
import type { PodGroups } from './pod-groups.ts';

/** What a writable layer takes, and when that was found out, by the wall clock. */
export interface LayerUse extends FileUse {
  readonly atMs: number;
}

interface Components {
  readonly reads: KernelReads;
  readonly trees: Pick<FileSystem, 'usage'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Logger;
}

interface Measured {
  readonly sinceMs: number;
  readonly use: FileUse;
}

/** How many are measured at once, and how long one may take. */
const AT_ONCE = 4;
const DEADLINE_MS = 10_000;

/**
 * Measures writable layers here, for those who have to choose by what they take now: what a runtime tells of them it found out on
 * its last round, ten seconds ago or more (`stats_collect_period` of containerd), and in a second one can fill a disk. It can be done for overlays whose
 * directories are seen from here, of containers that run; what the runtime tells stands for all others.
 */
export class WritableLayers {
  readonly #components: Components;
  /** What was found, and when by the monotonic clock. */
  #measured: ReadonlyMap<string, Measured> = new Map();

  constructor(components: Components) {
    this.#components = components;
  }

  /** What was measured last, by the ids of containers. */
  get measured(): ReadonlyMap<string, LayerUse> {
    const { clock } = this.#components;
    // The wall clock may have been set since: what the runtime tells from then on is newer all the same.
    const startMs = clock.now() - clock.monotonic();
    return new Map([...this.#measured].map(([id, { use, sinceMs }]) => [id, { ...use, atMs: startMs + sinceMs }]));
  }

  /**
   * Measures all anew. What is known when this is given up counts.
   * @param told what the runtime says of containers, by their ids: where their layers are
   * @throws the signal's reason
   */
  async measure(
    reader: Pick<GroupReader, 'firstProcess'>,
    { pods }: PodGroups,
    told: ReadonlyMap<string, ContainerStats>,
    signal: AbortSignal,
  ): Promise<void> {
    const measured = new Map<string, Measured>();
    this.#measured = measured;
    const queue = [...pods.values()].flatMap(({ containers }) => [...containers]);
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        signal.throwIfAborted();
        const [id, group] = next;
        const layer = told.get(id)?.writableLayer;
        const pid = layer ? await reader.firstProcess(group) : undefined;
        const use = layer && pid ? await this.#measureOne(pid, layer) : undefined;
        if (use !== undefined) measured.set(id, use);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    signal.throwIfAborted();
  }

  async #measureOne(pid: string, told: FilesystemUsage): Promise<Measured | undefined> {
    const { reads, trees, clock, logger } = this.#components;
    const mountinfo = await reads.textOrNone(`/proc/${pid}/mountinfo`);
    const path = told.fsId?.mountpoint && upperDirectoryOfRoot(mountinfo ?? '', told.fsId.mountpoint);
    if (!path) return undefined;
    const sinceMs = clock.monotonic();
    try {
      const { bytes, inodes } = await trees.usage(path, { deadlineMs: DEADLINE_MS });
      // Not all may have been counted, and who may mount in a container can have a smaller one measured: it takes no less than what is known.
      const usedBytes = Math.max(bytes, told.usedBytes?.value ?? 0);
      return { sinceMs, use: { usedBytes, inodesUsed: Math.max(inodes, told.inodesUsed?.value ?? 0) } };
    } catch (err) {
      logger.debug({ err, path }, 'A writable layer could not be measured: what the runtime tells of it counts');
      return undefined;
    }
  }
}
