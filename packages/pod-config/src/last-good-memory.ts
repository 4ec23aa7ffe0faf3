import type { Logger } from '@node-agent/telemetry';
import { isGood, type ManifestState } from './last-good.ts';
import type { LastGoodStore } from './last-good-store.ts';
import type { ManifestReading } from './manifest.ts';
import { formatProblem } from './problem.ts';

/**
 * A source's use of a {@link LastGoodStore}: nothing that goes wrong with it may hold a manifest up, so it is logged
 * and tried again later. Without a store it remembers nothing.
 */
export class LastGoodMemory {
  readonly #store: LastGoodStore | undefined;
  readonly #logger: Logger;
  /** What could not be kept yet: until it is, a restart would find an older version, or none. */
  readonly #unsaved = new Map<string, Uint8Array>();

  constructor(store: LastGoodStore | undefined, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /** What a former process took last of a manifest that is not good now; `undefined` where it knew none, or none that can be used. */
  async recall(
    source: string,
    read: (content: Uint8Array) => Promise<ManifestReading>,
  ): Promise<ManifestState | undefined> {
    try {
      const content = await this.#store?.load(source);
      if (content === undefined) return undefined;
      const reading = await read(content);
      const { pods, problems } = reading;
      // The disk may have lost it, or this version refuse it: that does not say that there are no pods (F1).
      if (pods.length === 0 && !isGood(reading)) {
        const fields = { source, problems: problems.map(formatProblem) };
        this.#logger.error(fields, 'Last good version of a manifest cannot be used any more');
        return undefined;
      }
      this.#logger.warn({ source, pods: pods.length }, 'Manifest is not good: its last good version is used');
      return { pods, problems: [] };
    } catch (err) {
      this.#logger.error({ err, source }, 'Last good version of a manifest cannot be read');
      return undefined;
    }
  }

  async remember(source: string, content: Uint8Array): Promise<void> {
    try {
      await this.#store?.save(source, content);
      this.#unsaved.delete(source);
    } catch (err) {
      this.#unsaved.set(source, content);
      this.#logger.error({ err, source }, 'Good version of a manifest cannot be kept for a restart');
    }
  }

  /** Tries once more to keep what could not be kept; to be called with each look at the source. */
  async rememberUnsaved(): Promise<void> {
    for (const [source, content] of [...this.#unsaved]) await this.remember(source, content);
  }

  async retain(sources: readonly string[]): Promise<void> {
    for (const source of this.#unsaved.keys()) if (!sources.includes(source)) this.#unsaved.delete(source);
    try {
      await this.#store?.retain(sources);
    } catch (err) {
      this.#logger.error({ err }, 'Versions of manifests that are gone cannot be removed');
    }
  }
}
