import type { ImageService } from '@node-agent/cri-client';
import type { RuntimeReadiness } from '@node-agent/kubelet-core';
import type { NodeFactSources, RuntimeFeatures, RuntimeHandler } from '@node-agent/node-status';
import type { PodRuntime } from '@node-agent/runtime';

type Runtime = Pick<PodRuntime, 'status' | 'version'>;

/** What the runtime has said of itself: the kubelet asks for its status, and others want to know what it said. */
export class RuntimeFacts {
  readonly #runtime: Runtime;
  readonly #images: Pick<ImageService, 'listImages'>;
  #state: Awaited<ReturnType<Runtime['status']>> | undefined;
  #name: string | undefined;

  constructor(runtime: Runtime, images: Pick<ImageService, 'listImages'>) {
    this.#runtime = runtime;
    this.#images = images;
  }

  /** The name that the runtime gives itself stands before each container id; known once it has said its status. */
  get name(): string | undefined {
    return this.#name;
  }

  async status(signal?: AbortSignal): Promise<RuntimeReadiness> {
    const state = await this.#runtime.status(signal);
    this.#name ??= (await this.#runtime.version(signal)).name;
    this.#state = state;
    return state;
  }

  version(signal: AbortSignal): ReturnType<NodeFactSources['runtimeVersion']> {
    return this.#runtime.version(signal);
  }

  async images(signal: AbortSignal): ReturnType<NodeFactSources['images']> {
    const { images } = await this.#images.listImages({}, signal);
    return images.map(({ repoDigests, repoTags, size }) => ({ repoDigests, repoTags, sizeBytes: size }));
  }

  handlers(): readonly RuntimeHandler[] | undefined {
    return this.#state?.handlers;
  }

  features(): RuntimeFeatures | undefined {
    return this.#state;
  }
}
