import type { Clock } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { presenceAfterFailure } from './failed-presence.ts';
import type { NodeVolumes } from './node-volumes.ts';
import type { ResolvedVolume } from './resolved-volume.ts';
import { nameOf } from './volume-entries.ts';
import type { VolumeEntry } from './volume-entry.ts';
import type { VolumeMetrics, VolumeOperation } from './volume-metrics.ts';
import type { VolumeStep } from './volume-state.ts';

/** Steps that call the plugin of a volume. */
export type RunningStep = Extract<VolumeStep, 'setUp' | 'expand' | 'tearDown'>;

/** Dependencies of {@link VolumeRunner}. */
export interface VolumeRunnerComponents {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly metrics: Pick<VolumeMetrics, 'operation' | 'attached'>;
  readonly nodes: Pick<NodeVolumes, 'isInAnotherPod'>;
  /** Called before anything of the volume is mounted for the pod. */
  readonly onUse: (entry: VolumeEntry) => void;
  /** Called when a volume could not be set up or expanded. */
  readonly onFailure: (pod: Pod, volume: ResolvedVolume, error: VolumeError, step: 'setUp' | 'expand') => void;
  /** Called when a volume became ready and no caller waits for it any more. */
  readonly onReady: (podUid: string) => void;
}

/** Runs one operation of a volume and records the result in the volume's state. */
export class VolumeRunner {
  readonly #components: VolumeRunnerComponents;

  constructor(components: VolumeRunnerComponents) {
    this.#components = components;
  }

  /** Runs one step of a volume. Never rejects. If the signal is aborted during the step, its result is not recorded. */
  async run(entry: VolumeEntry, step: RunningStep, signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#components;
    const startedAtMs = clock.monotonic();
    entry.busy = true;
    // The marks are reset before the step, so that a change during the step causes another step.
    if (step === 'expand') entry.expands = false;
    else entry.stale = false;
    let failure: VolumeError | undefined;
    try {
      if (step === 'setUp') await this.#setUp(entry, signal);
      else if (step === 'expand') await expand(entry, signal);
      else await tearDown(entry, signal);
    } catch (error) {
      failure = VolumeError.from(error);
    }
    entry.busy = false;
    if (signal.aborted) return;
    const { pluginName, isBlock } = entry.actions;
    metrics.operation(pluginName, operationOf(step, isBlock), {
      ...{ succeeded: failure === undefined, durationMs: clock.monotonic() - startedAtMs },
      isMigrated: entry.request?.volume.isMigrated,
    });
    if (failure === undefined) entry.backOff.forgive();
    else this.#failed(entry, step, failure);
  }

  async #setUp(entry: VolumeEntry, signal: AbortSignal): Promise<void> {
    const { clock, nodes, metrics, onUse, onReady } = this.#components;
    const { request, actions, presence } = entry;
    if (request === undefined) return;
    const { pod, volume } = request;
    if (volume.node?.exclusive && nodes.isInAnotherPod(volume.node.uniqueName, nameOf(entry))) {
      const message = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod';
      throw new VolumeError('InUse', message);
    }
    const { isReconstructed, mounted } = entry;
    if (presence === 'absent') entry.presence = 'uncertain';
    if (!entry.isTried && !entry.isReconstructed && actions.node === undefined) {
      metrics.attached(actions.pluginName, volume.isMigrated);
    }
    entry.isTried = true;
    onUse(entry);
    entry.filling = { pod, atMs: clock.monotonic() };
    const state = { isReconstructed, ...(presence === 'ready' && mounted && { ready: mounted }) };
    try {
      const mountedNow = await actions.setUp(pod, volume, state, signal);
      // The volume is now mounted, but it becomes ready only after an expansion that is due.
      if (presence !== 'ready' && actions.expand) await actions.expand(pod, volume, mountedNow, signal);
      entry.mounted = { ...mountedNow, resolved: volume };
    } catch (error) {
      const { effect } = VolumeError.from(error);
      if (presence !== 'ready') entry.presence = presenceAfterFailure(presence, effect, isReconstructed);
      throw error;
    }
    entry.presence = 'ready';
    entry.isReconstructed = false;
    if (presence !== 'ready' && entry.waiters.size === 0 && entry.wanted) onReady(entry.podUid);
  }

  #failed(entry: VolumeEntry, step: RunningStep, failure: VolumeError): void {
    const { logger, onFailure } = this.#components;
    const { request, podUid, directoryName, wanted, backOff } = entry;
    if (step !== 'tearDown' && request !== undefined) onFailure(request.pod, request.volume, failure, step);
    // The operation is no longer needed, so its failure causes no back-off.
    if ((step !== 'tearDown') !== (wanted === true)) {
      backOff.forgive();
      return;
    }
    entry.stale ||= step === 'setUp' && entry.presence === 'ready';
    entry.expands ||= step === 'expand';
    entry.filling = undefined;
    const backOffMs = backOff.failed(failure);
    logger.warn({ err: failure, podUid, volume: directoryName, backOffMs, step }, 'Volume operation failed');
  }
}

async function expand({ request, mounted, actions }: VolumeEntry, signal: AbortSignal): Promise<void> {
  if (request === undefined || mounted === undefined) return;
  await actions.expand?.(request.pod, mounted.resolved, mounted, signal);
}

async function tearDown(entry: VolumeEntry, signal: AbortSignal): Promise<void> {
  entry.presence = 'uncertain';
  entry.mounted = undefined;
  await entry.actions.tearDown(signal, entry.request?.pod ?? entry.removedPod);
  entry.presence = 'absent';
}

/** Returns the name of an operation in upstream's metrics. */
function operationOf(step: RunningStep, isBlock = false): VolumeOperation {
  if (step === 'expand') return 'volume_fs_resize';
  if (step === 'setUp') return isBlock ? 'map_volume' : 'volume_mount';
  return isBlock ? 'unmap_volume' : 'volume_unmount';
}
