import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import type { RuntimeReadiness } from '@node-agent/kubelet-core';
import type { NodeFactSources, RuntimeFeatures, RuntimeHandler } from '@node-agent/node-status';
import { type RuntimeStatus, readRuntimeStatus } from '@node-agent/runtime';

/** What the runtime has said of itself: the kubelet asks for its status, and others want to know what it said. */
export class RuntimeFacts {
  readonly #cri: Pick<RuntimeService, 'status' | 'version'> & Pick<ImageService, 'listImages'>;
  #state: RuntimeStatus | undefined;
  #name: string | undefined;

  constructor(cri: Pick<RuntimeService, 'status' | 'version'> & Pick<ImageService, 'listImages'>) {
    this.#cri = cri;
  }

  /** The name that the runtime gives itself stands before each container id; known once it has said its status. */
  get name(): string | undefined {
    return this.#name;
  }

  async status(signal?: AbortSignal): Promise<RuntimeReadiness> {
    const state = await readRuntimeStatus(this.#cri, signal);
    this.#name ??= (await this.#cri.version({}, signal)).runtimeName;
    this.#state = state;
    return state;
  }

  async version(signal: AbortSignal): ReturnType<NodeFactSources['runtimeVersion']> {
    const { runtimeName: name, runtimeVersion: version } = await this.#cri.version({}, signal);
    return { name, version };
  }

  async images(signal: AbortSignal): ReturnType<NodeFactSources['images']> {
    const { images } = await this.#cri.listImages({}, signal);
    return images.map(({ repoDigests, repoTags, size }) => ({ repoDigests, repoTags, sizeBytes: size }));
  }

  /** One way in which the runtime can run pods, '' being the default one; `undefined` where it is not known, or has not got it. */
  handler(name: string): RuntimeHandler | undefined {
    return this.#state?.handlers.find((handler) => handler.name === name);
  }

  handlers(): readonly RuntimeHandler[] | undefined {
    return this.#state?.handlers;
  }

  features(): RuntimeFeatures | undefined {
    return this.#state;
  }
}
