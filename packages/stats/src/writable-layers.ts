import type { Clock } from '@node-agent/async';
import type { ContainerStats } from '@node-agent/cri-client';
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
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
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
  #measured: ReadonlyMap<string, LayerUse> = new Map();

  constructor(components: Components) {
    this.#components = components;
  }

  /** What was measured last, by the ids of containers. */
  get measured(): ReadonlyMap<string, LayerUse> {
    return this.#measured;
  }

  /**
   * Measures all anew.
   * @param told what the runtime says of containers, by their ids: where their layers are
   * @throws the signal's reason
   */
  async measure(
    reader: Pick<GroupReader, 'firstProcess'>,
    { pods }: PodGroups,
    told: ReadonlyMap<string, ContainerStats>,
    signal: AbortSignal,
  ): Promise<void> {
    const measured = new Map<string, LayerUse>();
    const queue = [...pods.values()].flatMap(({ containers }) => [...containers]);
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        signal.throwIfAborted();
        const [id, group] = next;
        const place = told.get(id)?.writableLayer?.fsId?.mountpoint;
        const use = place ? await this.#measureOne(await reader.firstProcess(group), place) : undefined;
        if (use !== undefined) measured.set(id, use);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    this.#measured = measured;
  }

  async #measureOne(pid: string | undefined, place: string): Promise<LayerUse | undefined> {
    const { reads, trees, clock, logger } = this.#components;
    if (pid === undefined) return undefined;
    const mountinfo = await reads.textOrNone(`/proc/${pid}/mountinfo`);
    const path = upperDirectoryOfRoot(mountinfo ?? '', place);
    if (path === undefined) return undefined;
    const atMs = clock.now();
    try {
      const { bytes, inodes } = await trees.usage(path, { deadlineMs: DEADLINE_MS });
      return { atMs, usedBytes: bytes, inodesUsed: inodes };
    } catch (err) {
      logger.debug({ err, path }, 'A writable layer could not be measured: what the runtime tells of it counts');
      return undefined;
    }
  }
}
