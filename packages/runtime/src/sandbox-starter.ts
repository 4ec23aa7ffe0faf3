import type { Clock } from '@node-agent/async';
import {
  CriError,
  type Init,
  type PodSandboxConfig,
  PodSandboxState,
  type RuntimeService,
} from '@node-agent/cri-client';
import type { Pod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import { criLabels } from './config/labels.ts';
import type { ContainerFiles } from './container-files.ts';
import { PodRuntimeError } from './errors.ts';
import type { RuntimeMetrics } from './metrics.ts';
import type { StartGate } from './start-gate.ts';
import { sandboxIps } from './status.ts';
import { isNameTaken } from './tried-attempts.ts';

export interface SandboxStarterComponents {
  readonly cri: Pick<RuntimeService, 'runPodSandbox' | 'podSandboxStatus' | 'listPodSandbox'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: RuntimeMetrics;
  readonly gate: StartGate;
  readonly files: ContainerFiles;
}

/** Runs sandboxes. */
export class SandboxStarter {
  readonly #components: SandboxStarterComponents;

  constructor(components: SandboxStarterComponents) {
    this.#components = components;
  }

  /**
   * Runs a pod's sandbox, or finds the one that an earlier call made whose answer was lost.
   * @returns its id
   */
  async run(pod: Pod, config: Init<PodSandboxConfig>, runtimeHandler: string, signal: AbortSignal): Promise<string> {
    const { cri, clock, gate, metrics, files } = this.#components;
    await files.makePodLogs(pod);
    const work = async (): Promise<string> => {
      const startMs = clock.monotonic();
      try {
        return (await cri.runPodSandbox({ config, runtimeHandler }, signal)).podSandboxId;
      } catch (err) {
        metrics.runSandboxErrors.inc({ runtime_handler: runtimeHandler });
        const id = signal.aborted ? undefined : await this.#findAfter(err, pod, config, signal);
        if (id === undefined) throw err;
        return id;
      } finally {
        metrics.runSandboxSeconds.observe({ runtime_handler: runtimeHandler }, (clock.monotonic() - startMs) / 1000);
      }
    };
    const id = await gate.run('new', work, signal);
    if (id === '') throw new PodRuntimeError('BadAnswer', 'RunPodSandbox answered without an id');
    return id;
  }

  /** The addresses of a sandbox that was just made. */
  async ips(podSandboxId: string, signal: AbortSignal): Promise<readonly string[]> {
    const { status } = await this.#components.cri.podSandboxStatus({ podSandboxId }, signal);
    if (status === null) throw new PodRuntimeError('BadAnswer', 'pod sandbox status is nil');
    return sandboxIps(status);
  }

  /** The sandbox of this very attempt, where the call that failed, or one before it, made it all the same (C1). */
  async #findAfter(
    err: unknown,
    pod: Pod,
    config: Init<PodSandboxConfig>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const lost = ['DEADLINE_EXCEEDED', 'UNAVAILABLE', 'CANCELLED'].includes(CriError.from(err).code);
    if (!lost && !isNameTaken(err)) return undefined;
    const { cri, logger } = this.#components;
    const filter = { labelSelector: { [criLabels.podUid]: pod.metadata.uid } };
    const { items } = await cri.listPodSandbox({ filter }, signal).catch(() => ({ items: [] }));
    const found = items.find(
      ({ state, metadata }) =>
        state === PodSandboxState.SANDBOX_READY && metadata?.attempt === (config.metadata?.attempt ?? 0),
    );
    if (found === undefined) return undefined;
    logger.info({ podUid: pod.metadata.uid, sandboxId: found.id }, 'Found the sandbox that an earlier call had made');
    return found.id;
  }
}
