import type { Clock, Random } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import type { PodWorkerExplanation } from './explanation.ts';
import type { PodCacheReader, PodSyncer, PodWorkerSync, UpdatePodOptions } from './types.ts';

/** What {@link PodWorkers} works with. */
export interface PodWorkersComponents {
  readonly syncer: PodSyncer;
  readonly podCache: PodCacheReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
}

/** Settings of {@link PodWorkers}. */
export interface PodWorkersOptions {
  /** How long after a good sync a pod is synced again, made longer by up to half. Default: 60,000 (the field `syncFrequency`). */
  readonly resyncIntervalMs?: number;
  /** How long after a failed sync it is tried again, made longer by up to half. Default: 10,000. */
  readonly backOffMs?: number;
}

/** One state machine per pod UID (`pkg/kubelet/pod_workers.go`). */
export class PodWorkers {
  readonly #components: PodWorkersComponents;

  constructor(components: PodWorkersComponents, _options: PodWorkersOptions = {}) {
    this.#components = components;
  }

  updatePod(_options: UpdatePodOptions): void {
    throw this.#unbuilt();
  }

  wake(_uid: string): void {
    throw this.#unbuilt();
  }

  syncKnownPods(_desiredPods: readonly Pod[]): ReadonlyMap<string, PodWorkerSync> {
    throw this.#unbuilt();
  }

  isPodKnownTerminated(_uid: string): boolean {
    throw this.#unbuilt();
  }

  couldHaveRunningContainers(_uid: string): boolean {
    throw this.#unbuilt();
  }

  shouldPodBeFinished(_uid: string): boolean {
    throw this.#unbuilt();
  }

  isPodTerminationRequested(_uid: string): boolean {
    throw this.#unbuilt();
  }

  shouldPodContainersBeTerminating(_uid: string): boolean {
    throw this.#unbuilt();
  }

  shouldPodRuntimeBeRemoved(_uid: string): boolean {
    throw this.#unbuilt();
  }

  shouldPodContentBeRemoved(_uid: string): boolean {
    throw this.#unbuilt();
  }

  isPodForMirrorPodTerminatingByFullName(_fullName: string): boolean {
    throw this.#unbuilt();
  }

  explain(_uid: string): PodWorkerExplanation | undefined {
    throw this.#unbuilt();
  }

  start(_signal: AbortSignal): Promise<void> {
    return Promise.reject(this.#unbuilt());
  }

  #unbuilt(): Error {
    this.#components.logger.error({}, 'Pod workers are being built');
    return new Error('pod workers are being built');
  }
}
