import { type Clock, withTimeout } from '@node-agent/async';
import { type ContainerStats, CriError, type FilesystemUsage, type PodSandboxStats } from '@node-agent/cri-client';
import type { MetricFamily } from './exposition.ts';
import { type ListedPod, listPods } from './pod-listing.ts';
import type { StatsCri } from './ports.ts';
import { runtimeMetrics } from './runtime-metrics.ts';

/** Timeout of one runtime call: stats are requested again soon, so a longer wait is not useful. */
const CALL_TIMEOUT_MS = 10_000;
/**
 * Maximum time for reading the images of sandboxes, which takes one call per sandbox. Sandboxes that are not read in
 * this time have no image name until the next collection.
 */
const SANDBOXES_MS = 3000;
const SANDBOXES_AT_ONCE = 4;
/** Maximum number of cached image names. */
const MAX_IMAGES = 5000;

/** Queries the container runtime, with a timeout for each call. */
export class RuntimeReader {
  readonly #cri: StatsCri;
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #sandboxImages = new Map<string, string>();
  #nextUnknown = 0;
  #imageNames: ReadonlyMap<string, string> = new Map();

  constructor({ cri, clock }: { readonly cri: StatsCri; readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> }) {
    this.#cri = cri;
    this.#clock = clock;
  }

  async pods(signal: AbortSignal): Promise<readonly ListedPod[]> {
    const [{ items }, { containers }] = await Promise.all([
      this.#ask((ending) => this.#cri.listPodSandbox({}, ending), signal),
      this.#ask((ending) => this.#cri.listContainers({}, ending), signal),
    ]);
    return listPods(items, containers);
  }

  /** Returns the stats of containers, by id. */
  async containerStats(signal: AbortSignal): Promise<ReadonlyMap<string, ContainerStats>> {
    const { stats } = await this.#ask((ending) => this.#cri.listContainerStats({}, ending), signal);
    return new Map(stats.map((one) => [one.attributes?.id ?? '', one]));
  }

  /** Returns the stats of sandboxes, by id; `undefined` if the runtime does not implement them. */
  async sandboxStats(signal: AbortSignal): Promise<ReadonlyMap<string, PodSandboxStats> | undefined> {
    try {
      const { stats } = await this.#ask((ending) => this.#cri.listPodSandboxStats({}, ending), signal);
      return new Map(stats.map((one) => [one.attributes?.id ?? '', one]));
    } catch (err) {
      if (CriError.is(err) && err.code === 'UNIMPLEMENTED') return undefined;
      throw err;
    }
  }

  /** Returns the runtime's own metrics; none if it does not implement them. */
  async metrics(signal: AbortSignal): Promise<readonly MetricFamily[]> {
    try {
      const [{ descriptors }, { podMetrics }] = await Promise.all([
        this.#ask((ending) => this.#cri.listMetricDescriptors({}, ending), signal),
        this.#ask((ending) => this.#cri.listPodSandboxMetrics({}, ending), signal),
      ]);
      return await runtimeMetrics(descriptors, podMetrics, { clock: this.#clock }, signal);
    } catch (err) {
      if (CriError.is(err) && err.code === 'UNIMPLEMENTED') return [];
      throw err;
    }
  }

  /**
   * Returns the first file system of images and of writable layers that the runtime reports; `undefined` if it reports
   * none.
   */
  async fileSystems(
    signal: AbortSignal,
  ): Promise<{ readonly images: FilesystemUsage | undefined; readonly layers: FilesystemUsage | undefined }> {
    const { imageFilesystems, containerFilesystems } = await this.#ask(
      (ending) => this.#cri.imageFsInfo({}, ending),
      signal,
    );
    return { images: imageFilesystems[0], layers: containerFilesystems[0] };
  }

  /** Returns image names by id of containers and sandboxes; unknown names are omitted. */
  async images(pods: readonly ListedPod[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const names = new Map<string, string>();
    await this.#readSandboxImages(pods, signal);
    for (const [sandboxId, image] of this.#sandboxImages) names.set(sandboxId, image);
    const containers = pods.flatMap((pod) => pod.containers);
    if (containers.some(({ imageId }) => !this.#imageNames.has(imageId))) await this.#readImages(signal);
    for (const { id, image, imageId } of containers) names.set(id, this.#imageNames.get(imageId) ?? image);
    return names;
  }

  /**
   * Reads the images of new sandboxes. A sandbox that hangs delays neither the others nor the collection; results are
   * cached, so later calls have fewer to read.
   */
  async #readSandboxImages(pods: readonly ListedPod[], signal: AbortSignal): Promise<void> {
    const listed = new Set(pods.map(({ sandboxId }) => sandboxId));
    for (const id of this.#sandboxImages.keys()) if (!listed.has(id)) this.#sandboxImages.delete(id);
    const unknown = [...listed].filter((id) => !this.#sandboxImages.has(id));
    if (unknown.length === 0) return;
    const inTurn = unknown
      .slice(this.#nextUnknown % unknown.length)
      .concat(unknown.slice(0, this.#nextUnknown % unknown.length));
    let asked = 0;
    const work = async (ending: AbortSignal): Promise<void> => {
      for (let id = inTurn.shift(); id !== undefined; id = inTurn.shift()) {
        ending.throwIfAborted();
        asked += 1;
        const image = await this.#sandboxImage(id, ending);
        if (image !== undefined) this.#sandboxImages.set(id, image);
      }
    };
    const all = async (ending: AbortSignal): Promise<void> => {
      await Promise.all(Array.from({ length: SANDBOXES_AT_ONCE }, () => work(ending)));
    };
    try {
      await withTimeout(this.#clock, SANDBOXES_MS, all, signal);
    } catch {
      signal.throwIfAborted();
      // Next time, the read starts with other sandboxes than those that hung.
      this.#nextUnknown += asked;
    }
  }

  async #readImages(signal: AbortSignal): Promise<void> {
    const { images } = await this.#ask((ending) => this.#cri.listImages({}, ending), signal);
    const named = images
      .slice(0, MAX_IMAGES)
      .map(({ id, repoTags, repoDigests }) => [id, repoTags[0] ?? repoDigests[0] ?? id] as const);
    this.#imageNames = new Map(named);
  }

  /**
   * Returns the image of a sandbox from its verbose status; '' if the runtime does not report the image there, and
   * `undefined` if the status cannot be read.
   */
  async #sandboxImage(podSandboxId: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { info } = await this.#ask(
        (ending) => this.#cri.podSandboxStatus({ podSandboxId, verbose: true }, ending),
        signal,
      );
      const { image } = JSON.parse(info.info ?? '{}') as { readonly image?: unknown };
      return typeof image === 'string' ? image : '';
    } catch {
      signal.throwIfAborted();
      // If the status of a sandbox cannot be read, its stats are shown without an image.
      return undefined;
    }
  }

  #ask<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return withTimeout(this.#clock, CALL_TIMEOUT_MS, call, signal);
  }
}
