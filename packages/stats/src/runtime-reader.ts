import { type Clock, withTimeout } from '@node-agent/async';
import { type ContainerStats, CriError, type FilesystemUsage, type PodSandboxStats } from '@node-agent/cri-client';
import type { MetricFamily } from './exposition.ts';
import { type ListedPod, listPods } from './pod-listing.ts';
import type { StatsCri } from './ports.ts';
import { runtimeMetrics } from './runtime-metrics.ts';

/** How long the runtime may take for one answer: figures are not worth waiting for, and are asked for again. */
const CALL_TIMEOUT_MS = 10_000;
/** How many images are remembered by their ids. */
const MAX_IMAGES = 5000;

/** Asks the container runtime, each question with a deadline. */
export class RuntimeReader {
  readonly #cri: StatsCri;
  readonly #clock: Pick<Clock, 'setTimer'>;
  #sandboxImages: ReadonlyMap<string, string> = new Map();
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

  /** The first file system of images that the runtime tells of; `undefined` where it tells of none. */
  async imageFs(signal: AbortSignal): Promise<FilesystemUsage | undefined> {
    return (await this.#ask((ending) => this.#cri.imageFsInfo({}, ending), signal)).imageFilesystems[0];
  }

  /** The names of images, by the ids of the containers and sandboxes that are made of them. What cannot be told is left out. */
  async images(pods: readonly ListedPod[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const names = new Map<string, string>();
    const sandboxes = new Map<string, string>();
    for (const { sandboxId } of pods) {
      const known = this.#sandboxImages.get(sandboxId) ?? (await this.#sandboxImage(sandboxId, signal));
      if (known === undefined) continue;
      sandboxes.set(sandboxId, known);
      names.set(sandboxId, known);
    }
    this.#sandboxImages = sandboxes;
    const containers = pods.flatMap((pod) => pod.containers);
    if (containers.some(({ imageId }) => !this.#imageNames.has(imageId))) await this.#readImages(signal);
    for (const { id, image, imageId } of containers) names.set(id, this.#imageNames.get(imageId) ?? image);
    return names;
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
