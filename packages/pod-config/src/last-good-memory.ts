import type { Logger } from '@node-agent/telemetry';
import type { ManifestState } from './last-good.ts';
import type { LastGoodStore } from './last-good-store.ts';
import type { ManifestReading } from './manifest.ts';

/**
 * A source's use of a {@link LastGoodStore}: nothing that goes wrong with it may hold a manifest up, so it is logged
 * and passed over. Without a store it remembers nothing.
 */
export class LastGoodMemory {
  readonly #store: LastGoodStore | undefined;
  readonly #logger: Logger;

  constructor(store: LastGoodStore | undefined, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /** What a former process took last of a manifest that is not good now; `undefined` where it knew none. */
  async recall(source: string, read: (content: Uint8Array) => ManifestReading): Promise<ManifestState | undefined> {
    try {
      const content = await this.#store?.load(source);
      if (content === undefined) return undefined;
      const { pods } = read(content);
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
    } catch (err) {
      this.#logger.error({ err, source }, 'Good version of a manifest cannot be kept for a restart');
    }
  }

  async retain(sources: readonly string[]): Promise<void> {
    try {
      await this.#store?.retain(sources);
    } catch (err) {
      this.#logger.error({ err }, 'Versions of manifests that are gone cannot be removed');
    }
  }
}
