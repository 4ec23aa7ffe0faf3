import { type Clock, TaskGroup, withTimeout } from '@node-agent/async';
import { type EventRecorder, errorText, eventReasons, type Logger, type ObjectReference } from '@node-agent/telemetry';
import type { ContainerGcPort, ImageGcPort, PodConfigPort } from '../ports.ts';
import { waited } from './sync-loop.ts';

/** Components of {@link collectGarbage}. */
export interface GarbageCollectionComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly podConfig: Pick<PodConfigPort, 'seenAllSources' | 'allSourcesSeen'>;
  readonly containerGc: Pick<ContainerGcPort, 'garbageCollect'>;
  readonly imageGc?: ImageGcPort;
}

export interface GarbageCollectionOptions {
  readonly nodeRef: ObjectReference;
  readonly containerGcPeriodMs: number;
  readonly imageGcPeriodMs: number;
}

/**
 * Runs the garbage collection of containers and images, each at its own interval, until `signal` is aborted
 * (`StartGarbageCollection` in `pkg/kubelet/kubelet.go`). The first runs wait until all pod sources have reported, but
 * at most one interval. Without the wait, containers of pods that are not known yet could be removed (P5). If image
 * ages are kept over restarts, the images of these pods would also be removed after a reboot, as old and unused.
 */
export async function collectGarbage(
  components: GarbageCollectionComponents,
  options: GarbageCollectionOptions,
  signal: AbortSignal,
): Promise<void> {
  const group = new TaskGroup(signal);
  group.add((ending) => collectContainers(components, options, ending));
  const { imageGc } = components;
  if (imageGc !== undefined) group.add((ending) => collectImages({ ...components, imageGc }, options, ending));
  await group.ended();
}

async function collectContainers(
  { clock, logger, recorder, podConfig, containerGc }: GarbageCollectionComponents,
  { nodeRef, containerGcPeriodMs }: GarbageCollectionOptions,
  signal: AbortSignal,
): Promise<void> {
  let failed = false;
  await sourcesSeen({ clock, podConfig }, containerGcPeriodMs, signal);
  if (signal.aborted) return;
  do {
    try {
      const allSourcesReady = podConfig.seenAllSources();
      await containerGc.garbageCollect({ allSourcesReady, evictNonDeletedPods: false }, signal);
      logger[failed ? 'info' : 'debug']({}, 'Container garbage collection succeeded');
      failed = false;
    } catch (err) {
      if (signal.aborted) return;
      failed = true;
      logger.error({ err }, 'Container garbage collection failed');
      recorder.event(nodeRef, 'Warning', eventReasons.containerGcFailed, errorText(err));
    }
  } while (await waited(clock, containerGcPeriodMs, signal));
}

async function collectImages(
  { clock, logger, recorder, podConfig, imageGc }: GarbageCollectionComponents & { readonly imageGc: ImageGcPort },
  { nodeRef, imageGcPeriodMs }: GarbageCollectionOptions,
  signal: AbortSignal,
): Promise<void> {
  let failed = false;
  await sourcesSeen({ clock, podConfig }, imageGcPeriodMs, signal);
  if (signal.aborted) return;
  do {
    try {
      await imageGc.garbageCollect(signal);
      logger[failed ? 'info' : 'debug']({}, 'Image garbage collection succeeded');
      failed = false;
    } catch (err) {
      if (signal.aborted) return;
      // A single failure may be transient, so the event is recorded only for repeated failures.
      const again = 'Image garbage collection failed multiple times in a row';
      logger.error({ err }, failed ? again : 'Image garbage collection failed once');
      if (failed) recorder.event(nodeRef, 'Warning', eventReasons.imageGcFailed, errorText(err));
      failed = true;
    }
  } while (await waited(clock, imageGcPeriodMs, signal));
}

/** Resolves when all pod sources have reported, after `mostMs`, or when the signal is aborted. */
async function sourcesSeen(
  { clock, podConfig }: Pick<GarbageCollectionComponents, 'clock' | 'podConfig'>,
  mostMs: number,
  signal: AbortSignal,
): Promise<void> {
  await withTimeout(clock, mostMs, (ending) => podConfig.allSourcesSeen(ending), signal).catch(() => {});
}
