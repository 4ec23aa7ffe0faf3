import { type Clock, checkComponents, checkNumbers, checkOptions, TokenBucket } from '@node-agent/async';
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

/** Finds the credentials that a pod may use at an image's registry. */
export interface PullCredentials {
  /**
   * Returns credentials in the order in which they are tried. If the list is empty, the pull is tried once without
   * credentials.
   */
  lookup(pod: Pod, image: string, signal: AbortSignal): Promise<readonly PullCredential[]>;
}

/**
 * Records which credentials pulled which image, so that an image on the node is not available to every pod (KEP-2535):
 * {@link ImagePullRecords}.
 */
export interface PullRecords {
  /**
   * Returns whether a pod must prove by a pull that it may use an image that is already on the node.
   * @param image name as in the container
   * @param credentials returns the pod's credentials; called only if they matter
   * @param names tags and digests by which the runtime knows the image. Default: none.
   */
  mustPull(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
    names?: readonly string[],
  ): Promise<boolean>;
  /** Records the start of a pull. @throws if the record cannot be written; the image is then not pulled */
  intent(image: string): Promise<void>;
  /**
   * Records a successful pull. @param source owner of the credential; absent for a credential of the node, and for none
   */
  pulled(image: string, imageRef: string, source: CredentialSource | undefined): Promise<void>;
  /** Records a failed pull. */
  failed(image: string): Promise<void>;
}

/** Components of an {@link ImageManager}. */
export interface ImageManagerComponents {
  readonly images: Pick<ImageService, 'imageStatus' | 'pullImage'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** Default: no events. Errors of the recorder are logged. */
  readonly recorder?: EventRecorder;
  readonly credentials?: PullCredentials;
  readonly records?: PullRecords;
  /**
   * Called after each pull for a pod, successful or not, with times of the monotonic clock. Errors of the callback are
   * logged.
   */
  readonly onPull?: (podUid: string, startedAtMs: number, endedAtMs: number) => void;
}

/** Settings of an {@link ImageManager}; the defaults are upstream's. */
export interface ImageManagerOptions {
  /**
   * Whether only one pull runs at a time (`serializeImagePulls`), with the pods taking turns. Default: false, because a
   * pod's pull otherwise delays other pods (C7).
   */
  readonly serialize?: boolean;
  /** Largest number of concurrent pulls (`maxParallelImagePulls`). Default: no limit. */
  readonly maxParallel?: number;
  /**
   * Largest number of pulls started per second; further pulls wait (`registryPullQPS`). 0 means no limit. Default: 5.
   */
  readonly qps?: number;
  /** Number of pulls that may start at once (`registryBurst`). Default: 10. */
  readonly burst?: number;
  /** First back-off after a failed pull, in ms. Default: 10 s. */
  readonly initialBackOffMs?: number;
  /** Longest back-off, in ms. Default: 5 min. */
  readonly maxBackOffMs?: number;
}

/** The user of an image: a container, or a volume, which has no name here. */
export type PullTarget = Pick<Container, 'image' | 'imagePullPolicy'> & Partial<Pick<Container, 'name'>>;

/**
 * Time for which an image stays in demand after its last request, in ms. The creation of a container from the image
 * takes less, even on a busy runtime.
 */
const DEMAND_HOLD_MS = 120_000;

interface RequestLabels {
  present_locally: 'true' | 'false' | 'unknown';
  pull_required: 'true' | 'false' | 'unknown';
}

type PresentImage = Pick<Image, 'id' | 'repoTags' | 'repoDigests'>;

interface PullResult {
  readonly imageRef: string;
  /** Index of the credential that succeeded; -1 if none was used. */
  readonly credential: number;
  readonly sizeBytes: number;
  readonly durationMs: number;
}

/**
 * Makes sure that a container's image is on the node, according to its pull policy
 * (`pkg/kubelet/images/image_manager.go`).
 * Metrics: `kubelet_image_pull_duration_seconds{image_size_in_bytes}`,
 * `kubelet_image_manager_ensure_image_requests_total{pull_policy,present_locally,pull_required}`.
 */
export class ImageManager {
  readonly #deps: WithDefaults<ImageManagerComponents>;
  readonly #backoff: PullBackoff;
  readonly #queue: PullQueue<PullResult>;
  /**
   * Rate limit of pulls; absent if there is no limit. Pulls wait for the limit, with the pods taking turns. Upstream
   * rejects them instead (`throttledImageService` in `pkg/kubelet/images/helpers.go`), but starts a pod's containers
   * one after another. Here the images of a pod are pulled in parallel, and a pod with many containers must not fail
   * and back off because of the limit.
   */
  #rate: TokenBucket | undefined;
  readonly #rateTurns = new FairSemaphore(1);
  readonly #demand: ImageDemand;
  readonly #duration: Histogram<'image_size_in_bytes'>;
  readonly #requests: Counter<'pull_policy' | 'present_locally' | 'pull_required'>;

  /** @throws OptionsError naming the component or option that is not valid */
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
    this.setPullRate({ qps, burst });
    this.#requests = components.metrics.counter({
      name: 'kubelet_image_manager_ensure_image_requests_total',
      help: 'Number of requests for an image, by pull policy, whether the image was on the node, and whether a pull was required.',
      labels: ['pull_policy', 'present_locally', 'pull_required'],
    });
    this.#duration = components.metrics.histogram({
      name: 'kubelet_image_pull_duration_seconds',
      help: 'Duration of image pulls in seconds, including the wait for other pulls, by image size.',
      labels: ['image_size_in_bytes'],
      buckets: [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
    });
  }

  /**
   * Changes the rate of pulls. A pull that already waits keeps its turn of the old rate.
   * @param rate `qps` 0: no limit
   * @throws OptionsError naming the invalid value
   */
  setPullRate({ qps, burst }: { readonly qps: number; readonly burst: number }): void {
    checkNumbers({ qps, burst }, { qps: 'notNegative', burst: 'notNegative' });
    this.#rate = qps > 0 ? new TokenBucket(this.#deps, { qps, burst: Math.max(1, burst) }) : undefined;
  }

  /**
   * Makes sure that the image of a container or volume is on the node. Events are reported for the pod or container.
   * @returns the runtime's reference of the image
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

  /**
   * Returns the images that are being looked up or pulled, or were found in the last 2 min, under the names that
   * containers use.
   */
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

  /** Returns the runtime's data of the image; `undefined` if the runtime does not have the image. */
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
      // Upstream prints the image reference in these quotation marks, which is empty after a failed lookup.
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
      // An abort, for example because the pod was deleted, says nothing about the image.
      signal.throwIfAborted();
      const error = pullError(requested, cause);
      tell('Warning', eventReasons.failedToPullImage, `Failed to pull image "${requested}": ${pullErrorText(cause)}`);
      this.#backoff.failed(key, error, startedAtMs);
      throw error;
    } finally {
      this.#bear('onPull', () => this.#deps.onPull?.(pod.metadata.uid, startedAtMs, clock.monotonic()));
    }
  }

  /** Calls an observer of pulls. Errors of the observer are logged and do not affect the pull. */
  #bear(what: string, tell: () => void): void {
    try {
      tell();
    } catch (err) {
      this.#deps.logger.error({ err, what }, 'Observer of image pulls failed');
    }
  }

  /** Tries the credentials in turn until a pull succeeds. Callers with the same {@link pullKey} share a pull. */
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
          // The pull has succeeded even if the size is not available.
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

  /** Waits until the rate limit allows the pull to start. */
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
