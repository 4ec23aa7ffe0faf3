import { type Clock, checkComponents, checkOptions, TokenBucket } from '@node-agent/async';
import type { Image, ImageService, Init, PodSandboxConfig } from '@node-agent/cri-client';
import { type Container, containerReference, type Pod, parseImageReference, podReference } from '@node-agent/pod-spec';
import {
  aggregateText,
  type Counter,
  type EventRecorder,
  type EventType,
  errorText,
  eventReasons,
  goDuration,
  type Histogram,
  type Logger,
  type Metrics,
  type WithDefaults,
  withDefaults,
} from '@node-agent/telemetry';
import { ImageError, pullError, pullErrorText } from './errors.ts';
import { FairSemaphore } from './fair-semaphore.ts';
import { ImageDemand } from './image-demand.ts';
import { sizeBucket, withTag } from './image-name.ts';
import { PullBackoff } from './pull-backoff.ts';
import { authOf, type CredentialSource, type PullCredential } from './pull-credential.ts';
import { pullKey } from './pull-key.ts';
import { decidePull } from './pull-policy.ts';
import { PullQueue } from './pull-queue.ts';

/** Finds what a pod may authenticate with at an image's registry. */
export interface PullCredentials {
  /** Tried in this order; none at all is one try without any. */
  lookup(pod: Pod, image: string, signal: AbortSignal): Promise<readonly PullCredential[]>;
}

/** Remembers who pulled what, so that an image that is present is not everybody's (KEP-2535): {@link ImagePullRecords}. */
export interface PullRecords {
  /**
   * Whether a pod has to show, by a pull, that it may use an image that is present.
   * @param image as the container names it
   * @param credentials what the pod can show; asked for where that decides
   * @param names the tags and digests by which the runtime knows the image; none if absent
   */
  mustPull(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
    names?: readonly string[],
  ): Promise<boolean>;
  /** A pull begins. @throws where that cannot be recorded: there is no pull then */
  intent(image: string): Promise<void>;
  /** It has succeeded. @param source whose credential it was; absent for the node's, and for none */
  pulled(image: string, imageRef: string, source: CredentialSource | undefined): Promise<void>;
  /** It has failed. */
  failed(image: string): Promise<void>;
}

/** What an {@link ImageManager} is made from. */
export interface ImageManagerComponents {
  readonly images: Pick<ImageService, 'imageStatus' | 'pullImage'>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** Nobody is told where absent; what it throws is logged. */
  readonly recorder?: EventRecorder;
  readonly credentials?: PullCredentials;
  readonly records?: PullRecords;
  /** Told of each pull for a pod when it is over, however it ended; both instants are of the monotonic clock. What it throws is logged. */
  readonly onPull?: (podUid: string, startedAtMs: number, endedAtMs: number) => void;
}

/** The settings of an {@link ImageManager}; the defaults are upstream's. */
export interface ImageManagerOptions {
  /** One pull at a time (`serializeImagePulls`), those of all pods by turns; false by default, as it delays one pod by another's (C7). */
  readonly serialize?: boolean;
  /** How many pulls run at once (`maxParallelImagePulls`); no limit by default. */
  readonly maxParallel?: number;
  /** How many pulls may begin in a second, the others wait (`registryPullQPS`); 5 by default, 0 is no limit. */
  readonly qps?: number;
  /** `registryBurst`; 10 by default. */
  readonly burst?: number;
  /** The first back-off after a failed pull, in ms; 10 s by default. */
  readonly initialBackOffMs?: number;
  /** The longest back-off, in ms; 5 min by default. */
  readonly maxBackOffMs?: number;
}

/** Who wants an image: a container, or a volume, which has no name here. */
export type PullTarget = Pick<Container, 'image' | 'imagePullPolicy'> & Partial<Pick<Container, 'name'>>;

/** Longer than it takes to make a container of an image, however busy the runtime is. */
const DEMAND_HOLD_MS = 120_000;

interface RequestLabels {
  present_locally: 'true' | 'false' | 'unknown';
  pull_required: 'true' | 'false' | 'unknown';
}

type PresentImage = Pick<Image, 'id' | 'repoTags' | 'repoDigests'>;

interface PullResult {
  readonly imageRef: string;
  /** Which of the credentials was taken; -1 where there was none. */
  readonly credential: number;
  readonly sizeBytes: number;
  readonly durationMs: number;
}

/**
 * Sees to it that a container's image is on the machine, by its pull policy (`pkg/kubelet/images/image_manager.go`).
 * Metrics: `kubelet_image_pull_duration_seconds{image_size_in_bytes}`,
 * `kubelet_image_manager_ensure_image_requests_total{pull_policy,present_locally,pull_required}`.
 */
export class ImageManager {
  readonly #deps: WithDefaults<ImageManagerComponents>;
  readonly #backoff: PullBackoff;
  readonly #queue: PullQueue<PullResult>;
  /**
   * Whoever finds it empty waits, the pods by turns. Upstream refuses instead (`throttledImageService` in
   * `pkg/kubelet/images/helpers.go`), and starts a pod's containers one after another; here the images of a pod come side by side,
   * and a pod of many containers must not fail, and back off, for that alone. Absent: no limit.
   */
  readonly #rate: TokenBucket | undefined;
  readonly #rateTurns = new FairSemaphore(1);
  readonly #demand: ImageDemand;
  readonly #duration: Histogram<'image_size_in_bytes'>;
  readonly #requests: Counter<'pull_policy' | 'present_locally' | 'pull_required'>;

  /** @throws OptionsError naming the component or option that is wrong */
  constructor(given: ImageManagerComponents, options: ImageManagerOptions = {}) {
    checkOptions('ImageManager', options, {
      serialize: 'boolean?',
      maxParallel: 'limit?',
      qps: 'notNegative?',
      burst: 'notNegative?',
      initialBackOffMs: 'notNegative?',
      maxBackOffMs: 'notNegative?',
    });
    checkComponents('ImageManager', given, { images: ['imageStatus', 'pullImage'] });
    const { serialize = false, maxParallel, qps = 5, burst = 10 } = options;
    const { initialBackOffMs = 10_000, maxBackOffMs = 300_000 } = options;
    const components = withDefaults(given);
    this.#deps = components;
    this.#demand = new ImageDemand(components, { holdMs: DEMAND_HOLD_MS });
    this.#backoff = new PullBackoff(components.clock, { initialMs: initialBackOffMs, maxMs: maxBackOffMs });
    this.#queue = new PullQueue({ maxParallel: serialize ? 1 : maxParallel });
    this.#rate = qps > 0 ? new TokenBucket(components, { qps, burst: Math.max(1, burst) }) : undefined;
    this.#requests = components.metrics.counter({
      name: 'kubelet_image_manager_ensure_image_requests_total',
      help: 'How often an image was asked for, by the pull policy, whether it was there, and whether it had to be pulled.',
      labels: ['pull_policy', 'present_locally', 'pull_required'],
    });
    this.#duration = components.metrics.histogram({
      name: 'kubelet_image_pull_duration_seconds',
      help: 'How long pulls took, waiting included, by the size of the image.',
      labels: ['image_size_in_bytes'],
      buckets: [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
    });
  }

  /**
   * Makes sure of the image of a container, or of a volume: what is told of that is told of its pod.
   * @returns what the runtime knows the image by
   * @throws ImageError whose code is the container's waiting reason
   */
  async ensureImageExists(
    pod: Pod,
    container: PullTarget,
    podSandboxConfig: Init<PodSandboxConfig>,
    runtimeHandler: string,
    signal: AbortSignal,
  ): Promise<{ readonly imageRef: string }> {
    const policy = container.imagePullPolicy ?? 'IfNotPresent';
    const counted: RequestLabels = { present_locally: 'unknown', pull_required: 'unknown' };
    try {
      const imageRef = await this.#demand.during(container.image ?? '', () =>
        this.#ensure(pod, container, policy, podSandboxConfig, runtimeHandler, signal, counted),
      );
      return { imageRef };
    } finally {
      this.#requests.inc({ pull_policy: policy.toLowerCase(), ...counted });
    }
  }

  /** The images that are looked for, pulled, or were found in the last 2 min, by the names that containers have them by. */
  demanded(): readonly string[] {
    return this.#demand.images();
  }

  async #ensure(
    pod: Pod,
    { image: requested = '', name }: PullTarget,
    policy: string,
    podSandboxConfig: Init<PodSandboxConfig>,
    runtimeHandler: string,
    signal: AbortSignal,
    counted: RequestLabels,
  ): Promise<string> {
    const about = name === undefined ? podReference(pod) : containerReference(pod, name);
    const tell = (type: EventType, reason: string, message: string): void =>
      this.#bear('recorder', () => this.#deps.recorder.event(about, type, reason, message));

    const image = this.#imageName(requested, tell);
    const found = policy === 'Always' ? undefined : await this.#inspect(image, runtimeHandler, signal, tell);
    const present = found?.id ?? '';
    if (policy !== 'Always') counted.present_locally = present === '' ? 'false' : 'true';
    let lookup: Promise<readonly PullCredential[]> | undefined;
    const credentials = (): Promise<readonly PullCredential[]> => {
      lookup ??= this.#deps.credentials?.lookup(pod, image, signal) ?? Promise.resolve([]);
      return lookup;
    };
    const mustVerify =
      found !== undefined && present !== '' && (await this.#mustVerify(requested, found, credentials, signal, tell));
    const decision = decidePull(policy, present !== '', mustVerify);
    if (decision === 'use') counted.pull_required = 'false';
    else if (decision === 'pull' || mustVerify) counted.pull_required = 'true';
    if (decision === 'refuse') {
      const message = `Container image "${requested}" is not present with pull policy of Never`;
      tell('Warning', eventReasons.errImageNeverPullPolicy, message);
      throw new ImageError('ErrImageNeverPull', message);
    }
    if (decision === 'use') {
      const whose = this.#deps.records === undefined ? '' : ' and can be accessed by the pod';
      const message = `Container image "${requested}" already present on machine${whose}`;
      tell('Normal', eventReasons.pulledImage, message);
      return present;
    }
    return await this.#pull(pod, image, requested, credentials, podSandboxConfig, runtimeHandler, signal, tell);
  }

  #imageName(requested: string, tell: Tell): string {
    try {
      return withTag(requested, parseImageReference(requested));
    } catch (cause) {
      const message = `Failed to apply default image tag ${JSON.stringify(requested)}: ${errorText(cause)}`;
      tell('Warning', eventReasons.failedToInspectImage, message);
      throw new ImageError('InvalidImageName', message, { cause });
    }
  }

  /** Returns what the runtime knows of the image; `undefined` if the runtime does not have the image. */
  async #inspect(
    image: string,
    runtimeHandler: string,
    signal: AbortSignal,
    tell: Tell,
  ): Promise<PresentImage | undefined> {
    try {
      const { image: found } = await this.#deps.images.imageStatus({ image: { image, runtimeHandler } }, signal);
      return found ?? undefined;
    } catch (cause) {
      signal.throwIfAborted();
      // In the quotation marks upstream has what the image was found by.
      const message = `Failed to inspect image "": ${errorText(cause)}`;
      tell('Warning', eventReasons.failedToInspectImage, message);
      throw new ImageError('ImageInspectError', message, { cause });
    }
  }

  async #mustVerify(
    requested: string,
    { id, repoTags, repoDigests }: PresentImage,
    credentials: () => Promise<readonly PullCredential[]>,
    signal: AbortSignal,
    tell: Tell,
  ): Promise<boolean> {
    try {
      const names = [...repoTags, ...repoDigests];
      return (await this.#deps.records?.mustPull(requested, id, credentials, names)) ?? false;
    } catch (cause) {
      signal.throwIfAborted();
      const error = pullError(requested, cause);
      tell('Warning', eventReasons.failedToPullImage, `Failed to pull image "${requested}": ${error.message}`);
      throw error;
    }
  }

  async #pull(
    pod: Pod,
    image: string,
    requested: string,
    credentials: () => Promise<readonly PullCredential[]>,
    podSandboxConfig: Init<PodSandboxConfig>,
    runtimeHandler: string,
    signal: AbortSignal,
    tell: Tell,
  ): Promise<string> {
    const { clock, records } = this.#deps;
    const key = `${pod.metadata.uid}_${requested}`;
    const before = this.#backoff.inBackOff(key);
    if (before !== undefined) {
      const message = `Back-off pulling image "${requested}"`;
      tell('Normal', eventReasons.backOffPullImage, message);
      const why = `${message}: ${before.error.code}: ${before.error.message}`;
      throw new ImageError('ImagePullBackOff', why, { retryAtMs: before.retryAtMs });
    }
    tell('Normal', eventReasons.pullingImage, `Pulling image "${requested}"`);
    const startedAtMs = clock.monotonic();
    let recorded = false;
    try {
      await records?.intent(requested);
      recorded = true;
      const found = await credentials();
      const result = await this.#pullShared(pod, image, found.map(authOf), podSandboxConfig, runtimeHandler, signal);
      this.#report(requested, result, clock.monotonic() - startedAtMs, tell);
      recorded = false;
      await records?.pulled(requested, result.imageRef, found[result.credential]?.source);
      return result.imageRef;
    } catch (cause) {
      if (recorded) await records?.failed(requested);
      // That a pod was taken away in the middle of its pull says nothing of the image.
      signal.throwIfAborted();
      const error = pullError(requested, cause);
      tell('Warning', eventReasons.failedToPullImage, `Failed to pull image "${requested}": ${pullErrorText(cause)}`);
      this.#backoff.failed(key, error, startedAtMs);
      throw error;
    } finally {
      this.#bear('onPull', () => this.#deps.onPull?.(pod.metadata.uid, startedAtMs, clock.monotonic()));
    }
  }

  /** Whoever is told of images does not decide whether they are there. */
  #bear(what: string, tell: () => void): void {
    try {
      tell();
    } catch (err) {
      this.#deps.logger.error({ err, what }, 'Who is told of images has thrown');
    }
  }

  /** Pulls with each credential in turn until one is taken; shares the pull with whoever asks for the same ({@link pullKey}). */
  #pullShared(
    pod: Pod,
    image: string,
    auths: readonly ReturnType<typeof authOf>[],
    podSandboxConfig: Init<PodSandboxConfig>,
    runtimeHandler: string,
    signal: AbortSignal,
  ): Promise<PullResult> {
    const { clock, images } = this.#deps;
    const annotations = { ...pod.metadata.annotations };
    const spec = { image, runtimeHandler, annotations };
    const wanted = { image: spec, sandboxConfig: podSandboxConfig };
    const tries = auths.length > 0 ? auths : [undefined];
    const pullAll = async (sharedSignal: AbortSignal, whose: ReadonlySet<string>): Promise<PullResult> => {
      await this.#begin(whose, sharedSignal);
      const startedAtMs = clock.monotonic();
      const errors: unknown[] = [];
      for (const [index, auth] of tries.entries()) {
        try {
          const request = { ...wanted, ...(auth && { auth }) };
          const { imageRef } = await images.pullImage(request, sharedSignal);
          const durationMs = clock.monotonic() - startedAtMs;
          // It has come, whether or not its size is told.
          const { image: pulled } = await images
            .imageStatus({ image: spec }, sharedSignal)
            .catch(() => ({ image: null }));
          return { imageRef, credential: auth ? index : -1, sizeBytes: pulled?.size ?? 0, durationMs };
        } catch (err) {
          errors.push(err);
        }
      }
      if (errors.length === 1) throw errors[0];
      throw new AggregateError(errors, aggregateText(errors.map(pullErrorText)));
    };
    return this.#queue.run(pullKey(wanted, auths), pod.metadata.uid, pullAll, signal);
  }

  /** Waits for the time when a pull may begin. */
  async #begin(whose: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const rate = this.#rate;
    if (rate !== undefined) await this.#rateTurns.run(whose, () => rate.acquire(signal), signal);
  }

  #report(requested: string, { sizeBytes, durationMs }: PullResult, waitedMs: number, tell: Tell): void {
    const text = (ms: number): string => goDuration(Math.trunc(ms));
    const took = `${text(durationMs)} (${text(waitedMs)} including waiting)`;
    const message = `Successfully pulled image "${requested}" in ${took}. Image size: ${sizeBytes} bytes.`;
    tell('Normal', eventReasons.pulledImage, message);
    this.#duration.observe({ image_size_in_bytes: sizeBucket(sizeBytes) }, waitedMs / 1000);
  }
}

type Tell = (type: EventType, reason: string, message: string) => void;
