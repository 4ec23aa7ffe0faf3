import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import type { RuntimeReadiness } from '@node-agent/kubelet-core';
import type { NodeFactSources, RuntimeFeatures, RuntimeHandler } from '@node-agent/node-status';
import { type RuntimeStatus, readRuntimeStatus } from '@node-agent/runtime';

/** Last reported status of the runtime. The kubelet's sync loop requests the status; other components read it here. */
export class RuntimeFacts {
  readonly #cri: Pick<RuntimeService, 'status' | 'version'> & Pick<ImageService, 'listImages'>;
  #state: RuntimeStatus | undefined;
  #name: string | undefined;

  constructor(cri: Pick<RuntimeService, 'status' | 'version'> & Pick<ImageService, 'listImages'>) {
    this.#cri = cri;
  }

  /** Name of the runtime, which is the prefix of container IDs. `undefined` until the first status response. */
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

  /**
   * Returns the runtime handler with the given name. An empty name stands for the default handler. Returns `undefined`
   * if the handler does not exist or no status is known.
   */
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
