import type { Clock } from '@node-agent/async';
import { KubeClients, loadKubeconfig, type RestClient } from '@node-agent/kube-client';
import type { Logger, Metrics } from '@node-agent/telemetry';
import { operatorFiles as fs } from '../process/operator-files.ts';

/** Components that the program passes to {@link BootstrapClients}. */
interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Creates clients with the credentials of the bootstrap kubeconfig. The file is read again for each client, because a
 * token in the file may have been replaced.
 */
export class BootstrapClients implements AsyncDisposable {
  readonly #components: Components;
  readonly #kubeconfig: string;
  #last: KubeClients | undefined;

  constructor(kubeconfig: string, components: Components) {
    this.#kubeconfig = kubeconfig;
    this.#components = components;
  }

  /** Creates a client and closes the previous one. @throws KubeError `InvalidConfig` if the kubeconfig is invalid */
  async get(): Promise<RestClient> {
    await this[Symbol.asyncDispose]();
    const connection = await loadKubeconfig({ fs }, this.#kubeconfig);
    const { clock, logger, metrics } = this.#components;
    this.#last = new KubeClients({ fs, clock, logger, metrics, environment: process.env }, { connection });
    return this.#last.requests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last?.[Symbol.asyncDispose]();
    this.#last = undefined;
  }
}
