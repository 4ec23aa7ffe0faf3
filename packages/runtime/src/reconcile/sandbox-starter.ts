import type { Clock, LendingGate } from '@node-agent/async';
import {
  type Init,
  type PodSandboxConfig,
  PodSandboxState,
  type RunPodSandboxResponse,
  type RuntimeService,
} from '@node-agent/cri-client';
import type { Pod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import { criLabels } from '../config/labels.ts';
import { PodRuntimeError } from '../errors.ts';
import type { PodStatusReader } from '../status/pod-status-reader.ts';
import type { ContainerFiles } from './container-files.ts';
import { withDelayedAbort } from './delayed-abort.ts';
import type { StartLimit } from './start-limit.ts';
import { isNameTaken, type TriedAttempts } from './tried-attempts.ts';
import { isUnanswered } from './unanswered.ts';

export interface SandboxStarterComponents {
  readonly cri: Pick<RuntimeService, 'runPodSandbox' | 'listPodSandbox'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly gate: LendingGate;
  readonly limit: Pick<StartLimit, 'observe'>;
  readonly files: ContainerFiles;
  readonly tried: TriedAttempts;
  readonly reader: PodStatusReader;
}

/** Runs sandboxes. */
export class SandboxStarter {
  readonly #components: SandboxStarterComponents;

  constructor(components: SandboxStarterComponents) {
    this.#components = components;
  }

  /** Makes the directory of the pod's logs, which {@link run} waits for. */
  makeLogs(pod: Pod): Promise<void> {
    const made = this.#components.files.makePodLogs(pod);
    // The sandbox may not be run, for another reason.
    made.catch(() => undefined);
    return made;
  }

  /**
   * Runs a pod's sandbox, or finds the one that an earlier call with a lost response created.
   * @param logsMade from {@link makeLogs}
   * @returns the sandbox's ID, and whether this call created the sandbox, so that the sandbox must be empty
   */
  async run(
    pod: Pod,
    config: Init<PodSandboxConfig>,
    runtimeHandler: string,
    logsMade: Promise<void>,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly fresh: boolean }> {
    const { cri, clock, gate, limit, tried } = this.#components;
    await logsMade;
    const work = async (): Promise<{ readonly id: string; readonly fresh: boolean }> => {
      const startMs = clock.monotonic();
      try {
        const call = (late: AbortSignal): Promise<RunPodSandboxResponse> =>
          cri.runPodSandbox({ config, runtimeHandler }, late);
        const { podSandboxId } = await withDelayedAbort(clock, signal, call);
        limit.observe(runtimeHandler, clock.monotonic() - startMs);
        tried.succeeded(pod.metadata.uid, '');
        return { id: podSandboxId, fresh: true };
      } catch (err) {
        tried.failed(pod.metadata.uid, '', config.metadata?.attempt ?? 0, err);
        const id = signal.aborted ? undefined : await this.#findAfter(err, pod, config, signal);
        if (id === undefined) throw err;
        tried.succeeded(pod.metadata.uid, '');
        return { id, fresh: false };
      }
    };
    const sandbox = await gate.run('normal', work, signal);
    if (sandbox.id === '') throw new PodRuntimeError('BadAnswer', 'RunPodSandbox response has no sandbox ID');
    return sandbox;
  }

  /** Returns the addresses of a sandbox that was just created. */
  async ips({ metadata: { uid } }: Pod, sandboxId: string, signal: AbortSignal): Promise<readonly string[]> {
    return (await this.#components.reader.readSandbox(uid, sandboxId, signal)).ips;
  }

  /** Returns the sandbox of this attempt if the failed call, or an earlier one, created it nevertheless (C1). */
  async #findAfter(
    err: unknown,
    pod: Pod,
    config: Init<PodSandboxConfig>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (!isUnanswered(err) && !isNameTaken(err)) return undefined;
    const { cri, logger } = this.#components;
    const filter = { labelSelector: { [criLabels.podUid]: pod.metadata.uid } };
    const { items } = await cri.listPodSandbox({ filter }, signal).catch((cause: unknown) => {
      logger.warn(
        { err: cause, podUid: pod.metadata.uid },
        'Failed to check whether a failed RunPodSandbox created a sandbox',
      );
      return { items: [] };
    });
    const found = items.find(
      ({ state, metadata }) =>
        state === PodSandboxState.SANDBOX_READY && metadata?.attempt === (config.metadata?.attempt ?? 0),
    );
    if (found === undefined) return undefined;
    logger.info({ podUid: pod.metadata.uid, sandboxId: found.id }, 'Found the sandbox created by an earlier call');
    return found.id;
  }
}
