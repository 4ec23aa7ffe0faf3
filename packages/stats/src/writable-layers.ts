import type { Clock } from '@node-agent/async';
import type { ContainerStats, FilesystemUsage } from '@node-agent/cri-client';
import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import type { FileUse } from './file-use.ts';
import type { GroupReader } from './group-reader.ts';
import type { KernelReads } from './kernel-reads.ts';
import { upperDirectoryOfRoot } from './overlay-root.ts';
import type { PodGroups } from './pod-groups.ts';

/** Measured usage of a writable layer, with the wall-clock time of the measurement. */
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

/** Number of layers that are measured in parallel. */
const AT_ONCE = 4;
const DEADLINE_MS = 10_000;

/**
 * Measures writable layers, for callers that need current values. The runtime's values are from its last collection,
 * ten or more seconds ago (`stats_collect_period` of containerd), but a container can fill a disk within a second. Only
 * overlays of running containers whose directories are visible here can be measured; for all other containers, the
 * runtime's values are used.
 */
export class WritableLayers {
  readonly #components: Components;
  /** Usage by container id, with the monotonic time of the measurement. */
  #measured: ReadonlyMap<string, Measured> = new Map();

  constructor(components: Components) {
    this.#components = components;
  }

  /** Returns the last measurements, by container id. */
  get measured(): ReadonlyMap<string, LayerUse> {
    const { clock } = this.#components;
    // The wall clock may have been set since the measurement. Converting the monotonic time with the current clocks
    // keeps the order relative to the runtime's newer values.
    const startMs = clock.now() - clock.monotonic();
    return new Map([...this.#measured].map(([id, { use, sinceMs }]) => [id, { ...use, atMs: startMs + sinceMs }]));
  }

  /**
   * Measures the writable layers of all containers. If aborted, the results so far are kept.
   * @param told the runtime's stats of containers by id, with the locations of their layers
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
      // The measurement may be incomplete, and a container that may mount can redirect it to a smaller directory, so
      // the runtime's value is a lower bound.
      const usedBytes = Math.max(bytes, told.usedBytes?.value ?? 0);
      return { sinceMs, use: { usedBytes, inodesUsed: Math.max(inodes, told.inodesUsed?.value ?? 0) } };
    } catch (err) {
      logger.debug({ err, path }, "Failed to measure a writable layer, using the runtime's value");
      return undefined;
    }
  }
}
