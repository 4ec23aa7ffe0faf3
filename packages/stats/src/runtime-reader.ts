import { type Clock, withTimeout } from '@node-agent/async';
import { type ContainerStats, CriError, type FilesystemUsage, type PodSandboxStats } from '@node-agent/cri-client';
import type { MetricFamily } from './exposition.ts';
import { type ListedPod, listPods } from './pod-listing.ts';
import type { StatsCri } from './ports.ts';
import { runtimeMetrics } from './runtime-metrics.ts';

/** How long the runtime may take for one answer: figures are not worth waiting for, and are asked for again. */
const CALL_TIMEOUT_MS = 10_000;
/** What sandboxes are made of is asked of each; those that cannot be told in this time have no name until the next collection. */
const SANDBOXES_MS = 3000;
const SANDBOXES_AT_ONCE = 4;
/** How many images are remembered by their ids. */
const MAX_IMAGES = 5000;

/** Asks the container runtime, each question with a deadline. */
export class RuntimeReader {
  readonly #cri: StatsCri;
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #sandboxImages = new Map<string, string>();
  #nextUnknown = 0;
  #imageNames: ReadonlyMap<string, string> = new Map();

  constructor({ cri, clock }: { readonly cri: StatsCri; readonly clock: Pick<Clock, 'setTimer'> }) {
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

  /** By the containers' ids. */
  async containerStats(signal: AbortSignal): Promise<ReadonlyMap<string, ContainerStats>> {
    const { stats } = await this.#ask((ending) => this.#cri.listContainerStats({}, ending), signal);
    return new Map(stats.map((one) => [one.attributes?.id ?? '', one]));
  }

  /** By the sandboxes' ids; `undefined` where the runtime has none. */
  async sandboxStats(signal: AbortSignal): Promise<ReadonlyMap<string, PodSandboxStats> | undefined> {
    try {
      const { stats } = await this.#ask((ending) => this.#cri.listPodSandboxStats({}, ending), signal);
      return new Map(stats.map((one) => [one.attributes?.id ?? '', one]));
    } catch (err) {
      if (CriError.is(err) && err.code === 'UNIMPLEMENTED') return undefined;
      throw err;
    }
  }

  /** The metrics that the runtime makes itself; none where it makes none. */
  async metrics(signal: AbortSignal): Promise<readonly MetricFamily[]> {
    try {
      const [{ descriptors }, { podMetrics }] = await Promise.all([
        this.#ask((ending) => this.#cri.listMetricDescriptors({}, ending), signal),
        this.#ask((ending) => this.#cri.listPodSandboxMetrics({}, ending), signal),
      ]);
      return runtimeMetrics(descriptors, podMetrics);
    } catch (err) {
      if (CriError.is(err) && err.code === 'UNIMPLEMENTED') return [];
      throw err;
    }
  }

  /** The first file systems of images and of writable layers that the runtime tells of; `undefined` where it tells of none. */
  async fileSystems(
    signal: AbortSignal,
  ): Promise<{ readonly images: FilesystemUsage | undefined; readonly layers: FilesystemUsage | undefined }> {
    const { imageFilesystems, containerFilesystems } = await this.#ask(
      (ending) => this.#cri.imageFsInfo({}, ending),
      signal,
    );
    return { images: imageFilesystems[0], layers: containerFilesystems[0] };
  }

  /** The names of images, by the ids of the containers and sandboxes that are made of them. What cannot be told is left out. */
  async images(pods: readonly ListedPod[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const names = new Map<string, string>();
    await this.#readSandboxImages(pods, signal);
    for (const [sandboxId, image] of this.#sandboxImages) names.set(sandboxId, image);
    const containers = pods.flatMap((pod) => pod.containers);
    if (containers.some(({ imageId }) => !this.#imageNames.has(imageId))) await this.#readImages(signal);
    for (const { id, image, imageId } of containers) names.set(id, this.#imageNames.get(imageId) ?? image);
    return names;
  }

  /** Those that hang keep neither the others nor the collection waiting; what was told is kept, so that each time fewer are asked. */
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
      // Those that hung are not the first again.
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

  /** Runtimes tell it in words of their own, if at all. */
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
      // It is ill or gone: its figures are shown without.
      return undefined;
    }
  }

  #ask<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return withTimeout(this.#clock, CALL_TIMEOUT_MS, call, signal);
  }
}
