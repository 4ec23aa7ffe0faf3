import { type Clock, sleep } from '@node-agent/async';
import { CriError, type RuntimeService } from '@node-agent/cri-client';
import type { Logger } from '@node-agent/telemetry';

/** What {@link PodCidr} works with. */
export interface PodCidrComponents {
  readonly cri: Pick<RuntimeService, 'updateRuntimeConfig'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RETRY_MS = 10_000;

/**
 * The range that pods of this node get their addresses from: the runtime is told, which may make its network's configuration of it
 * (`updatePodCIDR` in `pkg/kubelet/kubelet_network.go`). It is the configured one, until the API server has one for the node.
 */
export class PodCidr {
  readonly #components: PodCidrComponents;
  readonly #configured: string;
  /** What the runtime was told last. */
  #told = '';

  /** @param configured `podCIDR`; empty for none */
  constructor(components: PodCidrComponents, configured: string) {
    this.#components = components;
    this.#configured = configured;
  }

  /** The node has this range, of both families with a comma between. @throws CriError */
  async update(cidr: string, signal: AbortSignal): Promise<void> {
    if (cidr === this.#told) return;
    const { cri, logger } = this.#components;
    await cri.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: cidr } } }, signal);
    logger.info({ originalPodCidr: this.#told, newPodCidr: cidr }, 'Updating Pod CIDR');
    this.#told = cidr;
  }

  /** Tells the runtime the configured range; where it cannot take it now, it is told again. Upstream tells it once. */
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
