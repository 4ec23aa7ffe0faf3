import type { Clock } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { ImageTimes } from './image-record.ts';

/** Store of image ages that survives restarts: a `CheckpointStore` of `@node-agent/checkpoint` or similar. */
export interface AgeStore {
  /** Returns the stored content; `undefined` if there is none. @throws if the stored content cannot be read */
  get(key: string): Promise<object | undefined>;
  create(key: string, content: object): Promise<void>;
  /** Removes the temporary files of a killed process; called once at startup. */
  removeLeftovers?(): Promise<void>;
}

const KEY = 'image_gc_state';

/**
 * The clocks to convert times: the wall clock for the stored times, because the monotonic clock restarts with each
 * boot.
 */
type Instant = Pick<Clock, 'now' | 'monotonic'>;

/**
 * Stores the times at which images were detected and used, so that they survive restarts (N4; upstream forgets them).
 * If the times cannot be read or written, the failure is logged; times that cannot be read count from now.
 */
export class AgeCheckpoint {
  readonly #components: { readonly ages?: AgeStore; readonly clock: Instant; readonly logger: Logger };
  #written = '';

  constructor(components: { readonly ages?: AgeStore; readonly clock: Instant; readonly logger: Logger }) {
    this.#components = components;
  }

  async load(): Promise<ReadonlyMap<string, ImageTimes>> {
    const { ages, clock, logger } = this.#components;
    await ages?.removeLeftovers?.().catch((err: unknown) => {
      logger.warn({ err }, 'Cannot remove temporary files of image ages from an earlier process');
    });
    try {
      const content = await ages?.get(KEY);
      return content === undefined ? new Map() : decodeTimes(content, clock);
    } catch (err) {
      logger.error({ err }, 'Cannot read the ages of images: they count from now');
      return new Map();
    }
  }

  async save(times: ReadonlyMap<string, ImageTimes>): Promise<void> {
    const { ages, clock, logger } = this.#components;
    if (ages === undefined) return;
    const content = encodeTimes(times, clock);
    const text = JSON.stringify(content);
    if (text === this.#written) return;
    try {
      await ages.create(KEY, content);
      this.#written = text;
    } catch (err) {
      logger.warn({ err }, 'Cannot write the ages of images');
    }
  }
}

/**
 * Encodes the times in whole seconds of the wall clock. Finer times would look changed at each call, because the two
 * clocks drift.
 */
function encodeTimes(times: ReadonlyMap<string, ImageTimes>, clock: Instant): object {
  const wall = (ms: number): number => Math.round((clock.now() - (clock.monotonic() - ms)) / 1000);
  const images: Record<string, object> = {};
  for (const [key, { firstDetectedMs, lastUsedMs }] of times) {
    images[key] = {
      firstDetectedSeconds: wall(firstDetectedMs),
      ...(lastUsedMs !== undefined && { lastUsedSeconds: wall(lastUsedMs) }),
    };
  }
  return { version: 1, images };
}

/**
 * Decodes stored times. Times in the future, which occur after the wall clock was set back, count as now. @throws
 * TypeError if the content has another form
 */
function decodeTimes(content: object, clock: Instant): ReadonlyMap<string, ImageTimes> {
  const { version, images } = content as { readonly version?: unknown; readonly images?: unknown };
  if (version !== 1) throw new TypeError(`${KEY}: version must be 1, not ${JSON.stringify(version)}`);
  if (typeof images !== 'object' || images === null) throw new TypeError(`${KEY}: images must be an object`);
  const monotonic = (field: string, value: unknown): number => {
    if (typeof value !== 'number') throw new TypeError(`${KEY}: ${field} must be a number`);
    return clock.monotonic() - Math.max(0, clock.now() - value * 1000);
  };
  const times = new Map<string, ImageTimes>();
  for (const [key, value] of Object.entries(images)) {
    const at = `images[${JSON.stringify(key)}]`;
    if (typeof value !== 'object' || value === null) throw new TypeError(`${KEY}: ${at} must be an object`);
    const { firstDetectedSeconds, lastUsedSeconds } = value as Record<string, unknown>;
    times.set(key, {
      firstDetectedMs: monotonic(`${at}.firstDetectedSeconds`, firstDetectedSeconds),
      lastUsedMs: lastUsedSeconds === undefined ? undefined : monotonic(`${at}.lastUsedSeconds`, lastUsedSeconds),
    });
  }
  return times;
}
