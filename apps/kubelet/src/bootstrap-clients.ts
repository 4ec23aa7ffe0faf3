import type { Clock } from '@node-agent/async';
import { nodeFileSystem } from '@node-agent/host';
import { KubeClients, loadKubeconfig, type RestClient } from '@node-agent/kube-client';
import type { Logger, Metrics } from '@node-agent/telemetry';

/** What the program gives. */
interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A client with the credentials of a kubeconfig, which is read anew each time: a token in it may have been replaced. */
export class BootstrapClients implements AsyncDisposable {
  readonly #components: Components;
  readonly #kubeconfig: string;
  #last: KubeClients | undefined;

  constructor(kubeconfig: string, components: Components) {
    this.#kubeconfig = kubeconfig;
    this.#components = components;
  }

  /** A client, in place of the one that was given before. @throws KubeError `InvalidConfig` */
  async get(): Promise<RestClient> {
    await this[Symbol.asyncDispose]();
    const connection = await loadKubeconfig({ fs: nodeFileSystem }, this.#kubeconfig);
    const { clock, logger, metrics } = this.#components;
    this.#last = new KubeClients({ clock, logger, metrics, environment: process.env }, { connection });
    return this.#last.requests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last?.[Symbol.asyncDispose]();
    this.#last = undefined;
  }
}
