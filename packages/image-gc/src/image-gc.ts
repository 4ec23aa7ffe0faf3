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

/** What an {@link ImageGc} is made from. */
export interface ImageGcComponents {
  readonly cri: ImageGcCri;
  /** How large the file system at a path is, and how much of it is free; it is asked of the place where images are. */
  readonly disks: { statfs(path: string, signal?: AbortSignal): Promise<DiskSize> };
  /** Where the ages of images outlive the process; they count from its start where absent. */
  readonly ages?: AgeStore;
  /** Images, by any name, that are being pulled, or that a container is about to be made of: they stay. */
  readonly demand?: () => Iterable<string>;
  /** Called after images were removed, as what is on record about them is true no longer. */
  readonly onRemoved?: (signal: AbortSignal) => Promise<void>;
  /** Told what users should know of the node. */
  readonly tell?: (type: EventType, reason: string, message: string) => void;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Default: silent. */
  readonly logger?: Logger;
  /** Default: none. */
  readonly metrics?: Metrics;
}

export interface ImageGcOptions {
  /** Default: from 85 % of the disk down to 80 %, nothing that is younger than 2 min; no age is too old. */
  readonly policy?: Partial<ImageGcPolicy>;
  /** How often it is looked which images are used, in ms; 5 min by default. */
  readonly observePeriodMs?: number;
}

/** What a collection would do. */
export interface ImageGcPlan {
  /** The disk of images that needs the most space, and how much of it. */
  readonly disk: DiskUsage;
  /** Those that might go first, in the order in which they would; then those that are used or pinned. */
  readonly images: readonly PlannedImage[];
}

/** What upstream calls all that there is. */
const ALL_BYTES = 2n ** 63n - 1n;

type Reason = 'age' | 'space';
type Choice = (order: readonly ImageRecord[], freedBytes: number) => Promise<ImageRecord | undefined>;

interface Removal {
  readonly freedBytes: number;
  readonly errors: readonly unknown[];
}

/**
 * Removes images that nobody uses, so that the disk does not fill (`pkg/kubelet/images/image_gc_manager.go`). Never one
 * that is used, pinned or being pulled (N4): who uses what is looked at again before each removal. One round at a time.
 * Metric: `kubelet_image_garbage_collected_total{reason}`, `age` or `space`.
 */
export class ImageGc {
  readonly #components: ImageGcComponents;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #policy: ImageGcPolicy;
  readonly #observePeriodMs: number;
  readonly #survey: ImageSurvey;
  readonly #checkpoint: AgeCheckpoint;
  readonly #collected: Counter<'reason'>;
  readonly #turn = new Semaphore(1);
  #times: ReadonlyMap<string, ImageTimes> | undefined;
  /** The images that might go, had they an id. */
  #invalid: readonly ListedImage[] = [];
  readonly #startOnce = new StartOnce('ImageGc');

  /** @throws ImageGcError `InvalidOptions` */
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
    this.#policy = { ...defaultPolicy, ...asked.policy };
    checkOptions('ImageGc', this.#policy, {
      highThresholdPercent: 'number',
      lowThresholdPercent: 'number',
      minAgeMs: 'number',
      maxAgeMs: 'number',
    });
    checkPolicy(this.#policy);
    const { observePeriodMs = 300_000 } = options;
    this.#observePeriodMs = observePeriodMs;
    this.#survey = new ImageSurvey({ ...components, logger });
    this.#checkpoint = new AgeCheckpoint({ ...components, clock, logger });
    this.#collected = metrics.counter({
      name: 'kubelet_image_garbage_collected_total',
      help: 'How many unused images were removed, for their space or for their age.',
      labels: ['reason'],
    });
  }

  /** Looks from time to time which images there are and which are used, until `signal` is aborted. Removes nothing. */
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
   * Applies the policy: removes images that are too old, then, where the disk is fuller than the high threshold, as many as
   * bring it to the low one. For a timer (upstream: every 5 min).
   * @throws ImageGcError of any code but `InvalidOptions`; CriError where it is not sure who uses what
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
   * What {@link garbageCollect} would do now with each image, and why. Removes nothing, and tells nobody of a disk that is too full.
   * @throws ImageGcError `Unavailable`, `InvalidCapacity`; CriError where it is not sure who uses what
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
   * Removes unused images that are old enough, for a disk under pressure: all of them, or as many as together take `bytes`; none for 0.
   * @returns how many bytes the removed images took, as the runtime counts them
   * @throws ImageGcError `RemovalFailed`, `InvalidOptions` for `bytes` below 0 or NaN; CriError where it is not sure who uses what
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
    // Layers may be shared, and sizes those of the packed image: the disk itself may show sooner that it is enough.
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

  /** Removes what is chosen, one by one, until nothing is; each image once, whatever the runtime makes of it. */
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

  /** What is on record about images is not what the collection is for: it has succeeded without. */
  async #toldOf(signal: AbortSignal): Promise<void> {
    try {
      await this.#components.onRemoved?.(signal);
    } catch (err) {
      this.#logger.warn({ err }, 'What is on record about removed images could not be brought up to date');
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

  /** Users hear of what stays on the disk for ever. */
  #tellOfInvalid(): void {
    for (const image of this.#invalid) {
      const message = `ImageID is not valid, skipping, image: ${imageKey(image)}`;
      this.#components.tell?.('Warning', eventReasons.invalidImageId, message);
    }
  }

  /** Whether somebody has asked for it since it was looked at. */
  #isDemanded(image: ImageRecord): boolean {
    return imagesInUse([image], this.#demanded()).size > 0;
  }

  #demanded(): readonly (readonly string[])[] {
    return [...(this.#components.demand?.() ?? [])].map((reference) => [reference]);
  }

  /** As {@link #disk}; users hear of a disk that has no size. */
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

  /** @param high the threshold that counts, in percent; the policy's by default */
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
      const message = `cannot look at the image filesystem ${place}: ${errorText(cause)}`;
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
