import type { Random } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { Pod } from '@node-agent/pod-spec';
import { isMirrorPod, podFullName } from '@node-agent/pod-spec';
import { type Metrics, noMetrics } from '@node-agent/telemetry';
import { captureLogger, type LogLine } from '@node-agent/telemetry/testing';
import { StatusManager } from '../src/status-manager.ts';
import { StatusWriter, type StatusWriterOptions } from '../src/status-writer.ts';
import { FakeApi } from './fake-api.ts';

/**
 * A status writer with a real status manager, a fake API server, a watch that is up to date, and the set of pods that
 * still have containers or volumes.
 */
export interface WriterSetUp {
  readonly clock: FakeClock;
  readonly api: FakeApi;
  readonly manager: StatusManager;
  readonly writer: StatusWriter;
  readonly running: Set<string>;
  readonly held: Set<string>;
  /** UIDs of pods that the watch does not show. */
  readonly unseen: Set<string>;
  /** Old states of pods: the watch shows these instead of the current states. */
  readonly stale: Map<string, Pod>;
  readonly observed: number[];
  /** The UIDs of mirror pods that were to be replaced. */
  readonly replaced: string[];
  readonly lines: LogLine[];
  readonly stop: () => Promise<void>;
}

export function setUpWriter(options: StatusWriterOptions = {}, random: Random = { next: () => 1 }): WriterSetUp {
  const clock = new FakeClock();
  const api = new FakeApi(clock);
  const running = new Set<string>();
  const held = new Set<string>();
  const unseen = new Set<string>();
  const stale = new Map<string, Pod>();
  const observed: number[] = [];
  const replaced: string[] = [];
  const { logger, lines } = captureLogger();
  const metrics: Metrics = {
    ...noMetrics,
    histogram: ({ name }) => ({
      observe: (_labels, value) => {
        if (name === 'kubelet_pod_status_sync_duration_seconds') observed.push(value);
      },
    }),
  };
  const known = (): readonly Pod[] =>
    [...api.pods.values()]
      .map((pod) => stale.get(pod.metadata.uid) ?? pod)
      .filter(({ metadata }) => !unseen.has(metadata.uid));
  const pods = {
    getPodByUid: (uid: string): Pod | undefined => known().find(({ metadata }) => metadata.uid === uid),
    getMirrorPodByPod: (pod: Pod): Pod | undefined =>
      known().find((candidate) => isMirrorPod(candidate) && podFullName(candidate) === podFullName(pod)),
  };
  const manager: StatusManager = new StatusManager({
    clock,
    logger,
    metrics,
    onChange: (change) => writer.statusChanged(change),
    getMirrorPodByPod: pods.getMirrorPodByPod,
  });
  const safety = {
    couldHaveRunningContainers: (uid: string): boolean => running.has(uid),
    podResourcesAreReclaimed: (uid: string): boolean => !held.has(uid),
  };
  const replaceMirrorPod = (_pod: Pod, mirrorUid: string): void => void replaced.push(mirrorUid);
  const writer = new StatusWriter(
    { statuses: manager, api, pods, safety, replaceMirrorPod, clock, random, logger, metrics },
    options,
  );
  const controller = new AbortController();
  const started = writer.start(controller.signal);
  const stop = async (): Promise<void> => {
    controller.abort();
    await started;
  };
  return { clock, api, manager, writer, running, held, unseen, stale, observed, replaced, lines, stop };
}
