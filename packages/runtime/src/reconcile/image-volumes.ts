import { Semaphore } from '@node-agent/async';
import type { SyncFailure } from '@node-agent/contracts';
import type { ImageSpec, Init, PodSandboxConfig } from '@node-agent/cri-client';
import type { Container, Pod, Volume } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import type { ImagePuller } from '../ports.ts';

/**
 * Maximum number of images of a pod that are requested concurrently, so that a pod with thousands of images does not
 * delay others (C7).
 */
const MAX_CONCURRENT_PULLS = 8;

/** Images pulled for a container. */
export interface PulledImages {
  /** Reference by which the runtime knows the container's own image. */
  readonly imageRef: string;
  /** Images of the volumes that the container mounts, by volume name. */
  readonly imageVolumes: ReadonlyMap<string, Init<ImageSpec>>;
}

/**
 * Outcome of the pulls for a container. All failures (at least one) are reported; the container waits with the reason
 * of the last failure.
 */
export type PullOutcome = PulledImages | { readonly failures: readonly SyncFailure[] };

interface VolumeImages {
  readonly images: ReadonlyMap<string, Init<ImageSpec>>;
  readonly failures: readonly SyncFailure[];
}

type VolumePull = { readonly image: Init<ImageSpec> } | { readonly failure: SyncFailure };

/**
 * Pulls the images of a pod's image volumes in one sync (KEP-4639; `getImageVolumes` in `pkg/kubelet/kuberuntime`):
 * those mounted by containers that start now, each once.
 */
export class ImageVolumePulls {
  /** Puller for all images of this sync, including those of containers. */
  readonly images: ImagePuller;
  readonly #pod: Pod;
  readonly #sandboxConfig: Init<PodSandboxConfig>;
  readonly #signal: AbortSignal;
  readonly #volumes: ReadonlyMap<string, Volume>;
  readonly #pulls = new Map<string, Promise<VolumePull>>();

  constructor(
    { images }: { readonly images: ImagePuller },
    pod: Pod,
    sandboxConfig: Init<PodSandboxConfig>,
    signal: AbortSignal,
  ) {
    this.images = withLimitedConcurrency(images);
    this.#pod = pod;
    const ofImages = pod.spec.volumes?.filter(({ image }) => image !== undefined);
    this.#volumes = new Map(ofImages?.map((volume) => [volume.name, volume]));
    this.#sandboxConfig = sandboxConfig;
    this.#signal = signal;
  }

  /** Returns the images that a container mounts, and the failures, in the order of its mounts. Never rejects. */
  async of({ volumeMounts = [] }: Container): Promise<VolumeImages> {
    const names = new Set(volumeMounts.map(({ name }) => name));
    const wanted = [...names].flatMap((name) => this.#volumes.get(name) ?? []);
    const images = new Map<string, Init<ImageSpec>>();
    const failures: SyncFailure[] = [];
    const pulls = wanted.map(async (volume) => ({ volume, pull: await this.#pull(volume) }));
    for (const { volume, pull } of await Promise.all(pulls)) {
      if ('image' in pull) images.set(volume.name, pull.image);
      else failures.push(pull.failure);
    }
    return { images, failures };
  }

  #pull(volume: Volume): Promise<VolumePull> {
    const known = this.#pulls.get(volume.name);
    if (known !== undefined) return known;
    const pull = this.#pulled(volume);
    this.#pulls.set(volume.name, pull);
    return pull;
  }

  async #pulled({ image: { reference = '', pullPolicy } = {} }: Volume): Promise<VolumePull> {
    const wanted = { image: reference, ...(pullPolicy !== undefined && { imagePullPolicy: pullPolicy }) };
    try {
      const found = await this.images.ensureImageExists(this.#pod, wanted, this.#sandboxConfig, '', this.#signal);
      const annotations = { ...this.#pod.metadata.annotations };
      return { image: { image: found.imageRef, userSpecifiedImage: reference, runtimeHandler: '', annotations } };
    } catch (err) {
      return { failure: pullFailure(err) };
    }
  }
}

function withLimitedConcurrency(images: ImagePuller): ImagePuller {
  const turns = new Semaphore(MAX_CONCURRENT_PULLS);
  return {
    ensureImageExists: (pod, container, config, handler, signal) =>
      turns.run(() => images.ensureImageExists(pod, container, config, handler, signal), signal),
  };
}

/** Converts a failed pull to the waiting reason of the container. */
export function pullFailure(err: unknown): SyncFailure {
  const { code, retryAtMs } = err instanceof Error ? (err as { code?: unknown; retryAtMs?: unknown }) : {};
  const reason = typeof code === 'string' ? code : 'ErrImagePull';
  return { reason, message: errorText(err), ...(typeof retryAtMs === 'number' && { retryAtMs }) };
}
