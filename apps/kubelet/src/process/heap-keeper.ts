import type { Logger } from '@node-agent/telemetry';
import { type HeapSize, heapFlags, heapSizeFor } from './heap-size.ts';

/** Components of {@link HeapKeeper}. */
interface Components {
  /** Sets one V8 flag (`setFlagsFromString` of `node:v8`). */
  readonly setFlags: (flag: string) => void;
  readonly logger: Pick<Logger, 'debug'>;
}

/**
 * Adapts V8's heap settings to the number of pods. The program starts with the large heap (`main.ts`), because the list
 * of its pods may be long, and keeps it until all pod sources are ready.
 */
export class HeapKeeper {
  readonly #components: Components;
  #size: HeapSize = 'large';
  #pods = 0;
  #sourcesReady = false;

  constructor(components: Components) {
    this.#components = components;
  }

  /** Adapts the heap settings to the number of pods now, and to later changes, because all pod sources are ready. */
  sourcesReady(): void {
    this.#sourcesReady = true;
    this.#adapt();
  }

  /** Adapts the heap settings to a new number of pods, unless a pod source is not ready. */
  podCountChanged(pods: number): void {
    this.#pods = pods;
    if (this.#sourcesReady) this.#adapt();
  }

  #adapt(): void {
    const pods = this.#pods;
    const size = heapSizeFor(pods, this.#size);
    if (size === this.#size) return;
    this.#size = size;
    const { setFlags, logger } = this.#components;
    for (const flag of heapFlags(size)) setFlags(flag);
    logger.debug({ pods, size }, 'Changed the heap settings');
  }
}
