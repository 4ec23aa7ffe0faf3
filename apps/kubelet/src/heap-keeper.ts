import type { Logger } from '@node-agent/telemetry';
import { type HeapSize, heapFlags, heapSizeFor } from './heap-size.ts';

/** What {@link HeapKeeper} works with. */
interface Components {
  /** `setFlagsFromString` of `node:v8`: one flag at a time. */
  readonly setFlags: (flag: string) => void;
  readonly logger: Pick<Logger, 'debug'>;
}

/** Lets V8's heap follow the number of pods; it was small when the program began (`main.ts`). */
export class HeapKeeper {
  readonly #components: Components;
  #size: HeapSize = 'small';

  constructor(components: Components) {
    this.#components = components;
  }

  /** The node has another number of pods. */
  podCountChanged(pods: number): void {
    const size = heapSizeFor(pods, this.#size);
    if (size === this.#size) return;
    this.#size = size;
    const { setFlags, logger } = this.#components;
    for (const flag of heapFlags(size)) setFlags(flag);
    logger.debug({ pods, size }, 'The heap is kept otherwise');
  }
}
