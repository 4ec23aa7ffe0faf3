import { type Clock, sleep } from '@node-agent/async';
import { CriError, type RuntimeService } from '@node-agent/cri-client';
import type { Logger } from '@node-agent/telemetry';

/** Components of {@link PodCidr}. */
export interface PodCidrComponents {
  readonly cri: Pick<RuntimeService, 'updateRuntimeConfig'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RETRY_MS = 10_000;

/**
 * Passes the address range of this node's pods to the runtime, which may configure its network with it (`updatePodCIDR`
 * in `pkg/kubelet/kubelet_network.go`). The configured range applies until the API server reports a range for the node.
 */
export class PodCidr {
  readonly #components: PodCidrComponents;
  readonly #configured: string;
  /** Range last passed to the runtime. */
  #told = '';

  /** @param configured the configuration's `podCIDR`; empty if none is configured */
  constructor(components: PodCidrComponents, configured: string) {
    this.#components = components;
    this.#configured = configured;
  }

  /**
   * Passes a range to the runtime unless the runtime already has it. For dual stack, the range consists of both ranges
   * separated by a comma.
   * @throws CriError
   */
  async update(cidr: string, signal: AbortSignal): Promise<void> {
    if (cidr === this.#told) return;
    const { cri, logger } = this.#components;
    await cri.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: cidr } } }, signal);
    logger.info({ originalPodCidr: this.#told, newPodCidr: cidr }, 'Updating Pod CIDR');
    this.#told = cidr;
  }

  /**
   * Passes the configured range to the runtime, and retries until the runtime accepts the range. Upstream tries only
   * once.
   */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#components;
    let last: string | undefined;
    while (this.#configured !== '' && this.#told === '' && !signal.aborted) {
      try {
        await this.update(this.#configured, signal);
        return;
      } catch (err) {
        if (signal.aborted) return;
        const { code, message } = CriError.from(err);
        if (message !== last) logger.error({ err }, 'Pod CIDR update failed');
        if (code === 'UNIMPLEMENTED') return;
        last = message;
      }
      await sleep(clock, RETRY_MS, signal).catch(() => undefined);
    }
  }
}
