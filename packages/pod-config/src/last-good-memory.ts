import type { Logger } from '@node-agent/telemetry';
import { isGood, type ManifestState } from './last-good.ts';
import type { LastGoodStore } from './last-good-store.ts';
import type { ManifestReading } from './manifest.ts';
import { formatProblem } from './problem.ts';

/**
 * A source's access to its {@link LastGoodStore}. Errors of the store must not delay a manifest: they are logged and
 * the operation is retried later. Without a store nothing is remembered.
 */
export class LastGoodMemory {
  readonly #store: LastGoodStore | undefined;
  readonly #logger: Logger;
  /** Contents that could not be saved yet. Until they are saved, a restart would find an older version or none. */
  readonly #unsaved = new Map<string, Uint8Array>();

  constructor(store: LastGoodStore | undefined, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /**
   * Returns the state of a manifest's last valid version from before the restart, for a manifest that is invalid now;
   * `undefined` if there is none or it cannot be used.
   */
  async recall(
    source: string,
    read: (content: Uint8Array) => Promise<ManifestReading>,
  ): Promise<ManifestState | undefined> {
    try {
      const content = await this.#store?.load(source);
      if (content === undefined) return undefined;
      const reading = await read(content);
      const { pods, problems } = reading;
      // The disk may have lost the version, or this kubelet version may reject it. A missing or unusable version does
      // not mean that there are no pods (F1).
      if (pods.length === 0 && !isGood(reading)) {
        const fields = { source, problems: problems.map(formatProblem) };
        this.#logger.error(fields, 'Last good version of a manifest cannot be used');
        return undefined;
      }
      this.#logger.warn({ source, pods: pods.length }, 'Manifest is invalid: its last good version is used');
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
      this.#logger.error({ err, source }, 'Cannot save the good version of a manifest for a restart');
    }
  }

  /** Retries to save contents that could not be saved. Must be called in each pass of the source. */
  async rememberUnsaved(): Promise<void> {
    for (const [source, content] of [...this.#unsaved]) await this.remember(source, content);
  }

  async retain(sources: readonly string[]): Promise<void> {
    for (const source of this.#unsaved.keys()) if (!sources.includes(source)) this.#unsaved.delete(source);
    try {
      await this.#store?.retain(sources);
    } catch (err) {
      this.#logger.error({ err }, 'Cannot remove saved versions of deleted manifests');
    }
  }
}
