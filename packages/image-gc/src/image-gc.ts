import {
  type Clock,
  checkComponents,
  checkOptions,
  every,
  numberProblem,
  Semaphore,
  StartOnce,
  systemClock,
} from '@node-agent/async';
import {
  aggregateText,
  type Counter,
  type EventType,
  errorText,
  eventReasons,
  goDuration,
  type Logger,
  type Metrics,
  noMetrics,
  silentLogger,
} from '@node-agent/telemetry';
import { AgeCheckpoint, type AgeStore } from './age-checkpoint.ts';
import { type DiskSize, type DiskUsage, diskUsage, neediest } from './disk-usage.ts';
import { ImageGcError, together } from './errors.ts';
import { formatSize } from './format-size.ts';
import { imagesInUse } from './image-names.ts';
import { type ImageRecord, type ImageTimes, imageKey, observeImages } from './image-record.ts';
import { type ImageGcCri, ImageSurvey } from './image-survey.ts';
import type { ListedImage } from './listed-image.ts';
import { expiredImages, imagesToFree, type PlannedImage, planRemoval, removalOrder } from './plan-removal.ts';
import { checkPolicy, defaultPolicy, type ImageGcPolicy } from './policy.ts';

/** Components of an {@link ImageGc}. */
export interface ImageGcComponents {
  readonly cri: ImageGcCri;
  /** Returns the size and free space of the file system at a path; called with the image file systems' mount points. */
  readonly disks: { statfs(path: string, signal?: AbortSignal): Promise<DiskSize> };
  /** Store for the ages of images across restarts. Without a store, ages count from the start of the process. */
  readonly ages?: AgeStore;
  /**
   * Returns the images, under any name, that are being pulled or from which a container is about to be created. Such
   * images are not removed.
   */
  readonly demand?: () => Iterable<string>;
  /** Called after images were removed, because records about them are outdated. */
  readonly onRemoved?: (signal: AbortSignal) => Promise<void>;
  /** Receives the events about the node. */
  readonly tell?: (type: EventType, reason: string, message: string) => void;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
}

export interface ImageGcOptions {
  /** Default: remove from 85 % of the disk down to 80 %, only images older than 2 min, without a maximum age. */
  readonly policy?: Partial<ImageGcPolicy>;
  /** Interval of checking which images are in use, in ms. Default: 5 min. */
  readonly observePeriodMs?: number;
}

/** Decisions that a collection would make now. */
export interface ImageGcPlan {
  /** The image file system with the most bytes to free. */
  readonly disk: DiskUsage;
  /** Removable images in the order of removal, then used and pinned images. */
  readonly images: readonly PlannedImage[];
}

/** Number of bytes that stands for "all bytes" in upstream's messages. */
const ALL_BYTES = 2n ** 63n - 1n;

type Reason = 'age' | 'space';
type Choice = (order: readonly ImageRecord[], freedBytes: number) => Promise<ImageRecord | undefined>;

interface Removal {
  readonly freedBytes: number;
  readonly errors: readonly unknown[];
}

/**
 * Removes unused images before the disk fills up (`pkg/kubelet/images/image_gc_manager.go`). Images that are in use,
 * pinned or being pulled are never removed (N4): the use is checked again before each removal. Only one collection runs
 * at a time.
 * Metric: `kubelet_image_garbage_collected_total{reason}`, with the reason `age` or `space`.
 */
export class ImageGc {
  readonly #components: ImageGcComponents;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #policy: ImageGcPolicy;
  readonly #observePeriodMs: number;
  readonly #survey: ImageSurvey;
  readonly #checkpoint: AgeCheckpoint;
  readonly #collected: Counter<'reason'>;
  readonly #turn = new Semaphore(1);
  #times: ReadonlyMap<string, ImageTimes> | undefined;
  /** Images that are not pinned but cannot be removed, because they have no ID. */
  #invalid: readonly ListedImage[] = [];
  readonly #startOnce = new StartOnce('ImageGc');

  /** Creates a collector with the policy of the options. @throws ImageGcError `InvalidOptions` */
  constructor(components: ImageGcComponents, options: ImageGcOptions = {}) {
    const asked = checkOptions('ImageGc', options, { policy: 'object?', observePeriodMs: 'positive?' });
    checkComponents('ImageGc', components, {
      cri: [
        'listImages',
        'removeImage',
        'imageFsInfo',
        'listContainers',
        'listPodSandbox',
        'containerStatus',
        'podSandboxStatus',
      ],
      disks: ['statfs'],
    });
    const { clock = systemClock, logger = silentLogger, metrics = noMetrics } = components;
    this.#components = components;
    this.#clock = clock;
    this.#logger = logger;
    this.#policy = checkedPolicy(asked.policy);
    const { observePeriodMs = 300_000 } = options;
    this.#observePeriodMs = observePeriodMs;
    this.#survey = new ImageSurvey({ ...components, logger });
    this.#checkpoint = new AgeCheckpoint({ ...components, clock, logger });
    this.#collected = metrics.counter({
      name: 'kubelet_image_garbage_collected_total',
      help: 'Number of unused images that were removed, by reason (space or age).',
      labels: ['reason'],
    });
  }

  /** Periodically records which images exist and which are in use, until `signal` is aborted. Removes nothing. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const observe = async (): Promise<void> => {
      try {
        await this.#turn.run(async () => await this.#checkpoint.save(await this.#observe(signal)), signal);
      } catch (err) {
        if (!signal.aborted) this.#logger.info({ err }, 'Failed to monitor images');
      }
    };
    await every(this.#clock, this.#observePeriodMs, observe, signal);
  }

  /**
   * Changes the policy, from the next collection on.
   * @param policy an absent value gets its default
   * @throws ImageGcError, OptionsError `InvalidOptions`; in that case, the policy is not changed
   */
  update(policy: Partial<ImageGcPolicy>): void {
    this.#policy = checkedPolicy(policy);
  }

  /**
   * Applies the policy: removes images that are too old, and then, if the usage is above the high threshold, enough
   * images to reach the low threshold. Must be called periodically (upstream: every 5 min).
   * @throws ImageGcError with any code except `InvalidOptions`
   * @throws CriError if the use of images cannot be determined
   */
  async garbageCollect(signal: AbortSignal): Promise<void> {
    await this.#turn.run(async () => {
      const errors: unknown[] = [];
      for (const step of [() => this.#removeExpired(signal), () => this.#keepThresholds(signal)]) {
        try {
          await step();
        } catch (err) {
          signal.throwIfAborted();
          errors.push(err);
        }
      }
      if (errors.length > 0) throw together(errors);
    }, signal);
  }

  /**
   * Returns the decision that {@link garbageCollect} would make now about each image. Removes nothing and reports no
   * events.
   * @throws ImageGcError `Unavailable`, `InvalidCapacity`
   * @throws CriError if the use of images cannot be determined
   */
  async plan(signal: AbortSignal): Promise<ImageGcPlan> {
    return await this.#turn.run(async () => {
      const records = await this.#observe(signal);
      const disk = await this.#disk(signal);
      const images = planRemoval(records.values(), disk.bytesToFree, this.#clock.monotonic(), this.#policy);
      return { disk, images };
    }, signal);
  }

  /**
   * Removes unused images that are old enough, for a node under disk pressure: all such images, or as many as are
   * needed to free `bytes` (none for 0).
   * @returns total size of the removed images according to the runtime
   * @throws ImageGcError `RemovalFailed`, or `InvalidOptions` if `bytes` is negative or NaN
   * @throws CriError if the use of images cannot be determined
   */
  async deleteUnusedImages(signal: AbortSignal, bytes: number = Number.POSITIVE_INFINITY): Promise<number> {
    expectNotNegative({ bytes });
    return await this.#turn.run(async () => {
      this.#logger.info({ bytes }, 'Attempting to delete unused images');
      return await this.#freeSpace(bytes, signal);
    }, signal);
  }

  async #removeExpired(signal: AbortSignal): Promise<void> {
    const { maxAgeMs } = this.#policy;
    if (maxAgeMs === 0) return;
    const choose: Choice = async (order) => expiredImages(order, this.#clock.monotonic(), maxAgeMs)[0];
    const { errors } = await this.#remove('age', choose, signal);
    if (errors.length === 0) return;
    const message = `wanted to free images older than ${goDuration(maxAgeMs)}, encountered errors in image deletion`;
    throw removalFailed(message, errors);
  }

  async #keepThresholds(signal: AbortSignal): Promise<void> {
    const { bytesToFree, capacityBytes, usagePercent } = await this.#diskOrEvent(signal);
    if (bytesToFree === 0) return;
    const { highThresholdPercent, lowThresholdPercent } = this.#policy;
    this.#logger.info(
      { usagePercent, highThresholdPercent, bytesToFree, lowThresholdPercent },
      'Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold',
    );
    // The disk's real usage is checked after each removal, because images may share layers, and the runtime may report
    // the sizes of compressed images.
    let enough = false;
    const isEnough = async (): Promise<boolean> => {
      enough = (await this.#disk(signal, 0)).bytesToFree === 0;
      return enough;
    };
    const freed = await this.#freeSpace(bytesToFree, signal, isEnough);
    if (enough || freed >= bytesToFree) return;
    const message =
      `Insufficient free disk space on the node's image filesystem (${usagePercent}% of ${formatSize(capacityBytes)} used). ` +
      `Failed to free sufficient space by deleting unused images (freed ${freed} bytes). ` +
      'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.';
    this.#components.tell?.('Warning', eventReasons.freeDiskSpaceFailed, message);
    throw new ImageGcError('InsufficientSpace', message);
  }

  async #freeSpace(bytes: number, signal: AbortSignal, isEnough?: () => Promise<boolean>): Promise<number> {
    const { minAgeMs } = this.#policy;
    const choose: Choice = async (order, freedBytes) => {
      const [next] = imagesToFree(order, bytes - freedBytes, this.#clock.monotonic(), minAgeMs);
      return (await isEnough?.()) === true ? undefined : next;
    };
    const { freedBytes, errors } = await this.#remove('space', choose, signal);
    if (errors.length === 0) return freedBytes;
    const wanted = Number.isFinite(bytes) ? bytes : ALL_BYTES;
    const message = `wanted to free ${wanted} bytes, but freed ${freedBytes} bytes space with errors in image deletion`;
    throw removalFailed(message, errors);
  }

  /**
   * Removes the chosen images one by one until `choose` returns none. Each image is tried only once, even if the
   * runtime still lists it.
   */
  async #remove(reason: Reason, choose: Choice, signal: AbortSignal): Promise<Removal> {
    const { cri } = this.#components;
    const tried = new Set<string>();
    const errors: unknown[] = [];
    let freedBytes = 0;
    let removed = 0;
    for (;;) {
      const records = await this.#observe(signal);
      if (tried.size === 0) this.#tellOfInvalid();
      const order = removalOrder(records.values()).filter(({ key }) => !tried.has(key));
      const next = await choose(order, freedBytes);
      if (next === undefined) break;
      const { key, id, sizeBytes, runtimeHandler } = next;
      tried.add(key);
      if (this.#isDemanded(next)) continue;
      this.#logger.info({ imageId: id, sizeBytes, runtimeHandler, reason }, 'Removing image to free bytes');
      try {
        await cri.removeImage({ image: { image: id, runtimeHandler } }, signal);
      } catch (err) {
        signal.throwIfAborted();
        errors.push(err);
        continue;
      }
      removed += 1;
      freedBytes += sizeBytes;
      this.#collected.inc({ reason });
    }
    await this.#checkpoint.save(this.#times ?? new Map());
    if (removed > 0) await this.#toldOf(signal);
    return { freedBytes, errors };
  }

  /** Calls `onRemoved`. Its errors are only logged, because the collection itself has succeeded. */
  async #toldOf(signal: AbortSignal): Promise<void> {
    try {
      await this.#components.onRemoved?.(signal);
    } catch (err) {
      this.#logger.warn({ err }, 'Cannot update the records about removed images');
    }
  }

  async #observe(signal: AbortSignal): Promise<ReadonlyMap<string, ImageRecord>> {
    const { images, invalid, users } = await this.#survey.take(signal);
    this.#invalid = invalid.filter(({ pinned }) => !pinned);
    this.#times ??= await this.#checkpoint.load();
    const inUse = imagesInUse(images, [...users, ...this.#demanded()]);
    const records = observeImages(this.#times, images, inUse, this.#clock.monotonic());
    this.#times = records;
    return records;
  }

  /** Records an event for each image that can never be removed. */
  #tellOfInvalid(): void {
    for (const image of this.#invalid) {
      const message = `ImageID is not valid, skipping, image: ${imageKey(image)}`;
      this.#components.tell?.('Warning', eventReasons.invalidImageId, message);
    }
  }

  /**
   * Reports whether the image is being pulled or a container is about to be created from it now, possibly since the
   * survey.
   */
  #isDemanded(image: ImageRecord): boolean {
    return imagesInUse([image], this.#demanded()).size > 0;
  }

  #demanded(): readonly (readonly string[])[] {
    return [...(this.#components.demand?.() ?? [])].map((reference) => [reference]);
  }

  /** Returns the result of {@link #disk}. If a disk has no size, an event is recorded. */
  async #diskOrEvent(signal: AbortSignal): Promise<DiskUsage> {
    try {
      return await this.#disk(signal);
    } catch (err) {
      if (ImageGcError.is(err) && err.code === 'InvalidCapacity') {
        this.#components.tell?.('Warning', eventReasons.invalidDiskCapacity, err.message);
      }
      throw err;
    }
  }

  /**
   * Returns the usage of the image file system with the most bytes to free. @param high high threshold in percent.
   * Default: the policy's.
   */
  async #disk(signal: AbortSignal, high: number = this.#policy.highThresholdPercent): Promise<DiskUsage> {
    const { cri } = this.#components;
    const { imageFilesystems } = await cri.imageFsInfo({}, signal);
    const places = new Set(imageFilesystems.flatMap(({ fsId }) => fsId?.mountpoint ?? []));
    const sizes: DiskUsage[] = [];
    for (const place of places) {
      const thresholds = { ...this.#policy, highThresholdPercent: high };
      const usage = diskUsage(await this.#size(place, signal), thresholds);
      if (usage.capacityBytes === 0) {
        throw new ImageGcError('InvalidCapacity', 'invalid capacity 0 on image filesystem');
      }
      sizes.push(usage);
    }
    const worst = neediest(sizes);
    if (worst === undefined) throw new ImageGcError('Unavailable', 'imageFs information is unavailable');
    return worst;
  }

  async #size(place: string, signal: AbortSignal): Promise<DiskSize> {
    try {
      return await this.#components.disks.statfs(place, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const message = `cannot read the size of the image filesystem ${place}: ${errorText(cause)}`;
      throw new ImageGcError('Unavailable', message, { cause });
    }
  }
}

function expectNotNegative(asked: { readonly bytes: number }): void {
  const problem = numberProblem(asked, { bytes: 'notNegative' });
  if (problem !== undefined) throw new ImageGcError('InvalidOptions', problem);
}

function removalFailed(message: string, errors: readonly unknown[]): ImageGcError {
  const causes = aggregateText(errors.map(errorText));
  return new ImageGcError('RemovalFailed', `${message}: ${causes}`, { cause: errors[0] });
}

/** Returns the policy with defaults for absent values. @throws ImageGcError, OptionsError `InvalidOptions` */
function checkedPolicy(given: Partial<ImageGcPolicy> | undefined): ImageGcPolicy {
  const policy = { ...defaultPolicy, ...given };
  checkOptions('ImageGc', policy, {
    highThresholdPercent: 'number',
    lowThresholdPercent: 'number',
    minAgeMs: 'number',
    maxAgeMs: 'number',
  });
  checkPolicy(policy);
  return policy;
}
