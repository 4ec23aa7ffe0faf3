import type { Logger } from '@node-agent/telemetry';
import { type HeapSize, heapFlags, heapSizeFor } from './heap-size.ts';

/** Components of {@link HeapKeeper}. */
interface Components {
  /** Sets one V8 flag (`setFlagsFromString` of `node:v8`). */
  readonly setFlags: (flag: string) => void;
  readonly logger: Pick<Logger, 'debug'>;
}

/** Adapts V8's heap settings to the number of pods. The program starts with the small heap (`main.ts`). */
export class HeapKeeper {
  readonly #components: Components;
  #size: HeapSize = 'small';

  constructor(components: Components) {
    this.#components = components;
  }

  /** Adapts the heap settings to a new number of pods. */
  podCountChanged(pods: number): void {
    const size = heapSizeFor(pods, this.#size);
    if (size === this.#size) return;
    this.#size = size;
    const { setFlags, logger } = this.#components;
    for (const flag of heapFlags(size)) setFlags(flag);
    logger.debug({ pods, size }, 'Changed the heap settings');
  }
}
