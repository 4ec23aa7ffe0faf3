import { allOf, type Clock, Semaphore } from '@node-agent/async';
import type { SyncFailure } from '@node-agent/contracts';
import type { Init, PodSandboxConfig } from '@node-agent/cri-client';
import {
  type AnyContainer,
  type Container,
  type ContainerType,
  containerReference,
  formatPod,
  type Pod,
  type RuntimePodStatus,
} from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, goDuration } from '@node-agent/telemetry';
import type { RestartBackOff } from '../backoff/backoff.ts';
import { containerHash } from './container-hash.ts';
import type { ContainerStarter, StartedRun } from './container-starter.ts';
import { type ImageVolumePulls, type PullOutcome, pullFailure } from './image-volumes.ts';
import type { SyncResults } from './sync-result.ts';

/**
 * Maximum number of containers of a pod that are prepared and started concurrently. A container's configuration is as
 * large as its environment, which may hold a ConfigMap of a mebibyte in each of thousands of containers.
 */
const MAX_CONCURRENT = 8;

export interface PodContainersComponents {
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly backOff: RestartBackOff;
  readonly containers: ContainerStarter;
}

/** A container that this sync should start. `pull` is absent if the container must wait. */
export interface Candidate {
  readonly container: AnyContainer;
  readonly type: ContainerType;
  readonly wait?: SyncFailure;
  readonly pull?: Promise<PullOutcome>;
  /** Run of the container whose start must be completed; absent if the container does not run. */
  readonly unfinished?: StartedRun;
}

/** Outcome of a start. `unknown`: the runtime has not responded, and dependent containers wait. */
type Outcome = 'started' | 'failed' | 'unknown';

/** Common inputs of the starts of one pod. */
export interface Run {
  readonly pod: Pod;
  readonly status: RuntimePodStatus;
  readonly results: SyncResults;
  readonly signal: AbortSignal;
}

/** Sandbox in which the containers of a pod start. */
export interface ReadySandbox {
  readonly sandboxId: string;
  readonly sandboxConfig: Init<PodSandboxConfig>;
  readonly podIps: readonly string[];
  /**
   * Whether the runtime cannot have any container of the pod, because it had no sandbox or container of the pod before
   * this sandbox.
   */
  readonly empty: boolean;
}

/**
 * Starts the containers of a pod. Images are pulled in parallel; containers start in the order that their types
 * require.
 */
export class PodContainers {
  readonly #components: PodContainersComponents;

  constructor(components: PodContainersComponents) {
    this.#components = components;
  }

  /** Completes the start of a running container, see {@link ContainerStarter.finish}. */
  finish(pod: Pod, container: AnyContainer, run: StartedRun, signal: AbortSignal): Promise<SyncFailure | undefined> {
    return this.#components.containers.finish({ pod, container }, run, signal);
  }

  /** Links the logs of containers that an earlier kubelet started, see {@link ContainerStarter.adopt}. */
  adopt({ pod, status }: Pick<Run, 'pod' | 'status'>): Promise<void> {
    return this.#components.containers.adopt(pod, status);
  }

  /**
   * Returns the container as a candidate for this sync's starts. If the container may start now, its image pull starts
   * immediately; a crashing container waits for its back-off.
   */
  candidate(
    { pod, status, signal }: Run,
    container: AnyContainer,
    type: ContainerType,
    sandboxConfig: Init<PodSandboxConfig>,
    volumes: ImageVolumePulls,
  ): Candidate {
    const { backOff, clock, recorder } = this.#components;
    const held = backOff.check(pod, container, containerHash(container), status.containers);
    if (held === undefined)
      return { container, type, pull: this.#pull(pod, container, sandboxConfig, volumes, signal) };
    const text = formatPod(pod);
    const event = `Back-off restarting failed container ${container.name} in pod ${text}`;
    recorder.event(containerReference(pod, container.name), 'Warning', eventReasons.backOffStartContainer, event);
    const message = `back-off ${goDuration(held.delayMs)} restarting failed container=${container.name} pod=${text}`;
    const retryAtMs = clock.monotonic() + held.remainingMs;
    return { container, type, wait: { reason: 'CrashLoopBackOff', message, retryAtMs } };
  }

  /**
   * Starts to record the resources of the containers that start first in a new pod. This hides the write to disk behind
   * the start of the sandbox.
   */
  recordEarly(pod: Pod, candidates: readonly Candidate[]): void {
    for (const { container, type, pull } of candidates.slice(0, MAX_CONCURRENT)) {
      if (pull !== undefined) this.#components.containers.recordEarly({ pod, container, type });
    }
  }

  /**
   * Pulls the images of a container. Never rejects, because nothing handles the rejection if the sandbox fails first.
   */
  async #pull(
    pod: Pod,
    container: Container,
    sandboxConfig: Init<PodSandboxConfig>,
    volumes: ImageVolumePulls,
    signal: AbortSignal,
  ): Promise<PullOutcome> {
    const volumeImages = volumes.of(container);
    try {
      // Images are separate per runtime handler only with the alpha gate RuntimeClassInImageCriApi.
      const { imageRef } = await volumes.images.ensureImageExists(pod, container, sandboxConfig, '', signal);
      const { images: imageVolumes, failures } = await volumeImages;
      return failures.length > 0 ? { failures } : { imageRef, imageVolumes };
    } catch (err) {
      const { failures } = await volumeImages;
      return { failures: failures.length > 0 ? failures : [pullFailure(err)] };
    }
  }

  /**
   * Starts the candidates one after another.
   * @param mayFail whether the next candidate starts even if a candidate has failed
   * @returns whether all candidates were reached
   */
  async inOrder(
    run: Run,
    sandbox: ReadySandbox,
    candidates: readonly Candidate[],
    mayFail: (container: Container) => boolean,
  ): Promise<boolean> {
    for (const candidate of candidates) {
      const outcome = await this.#start(run, sandbox, candidate);
      if (outcome === 'unknown' || (outcome === 'failed' && !mayFail(candidate.container))) return false;
    }
    return true;
  }

  /**
   * Starts the containers in parallel, a few at a time. Exception: the containers after one with a `postStart` hook
   * wait for the hook, because users rely on this order. Without hooks, the start order of containers cannot be
   * observed.
   */
  async sideBySide(run: Run, sandbox: ReadySandbox, candidates: readonly Candidate[]): Promise<void> {
    const turns = new Semaphore(MAX_CONCURRENT);
    let hook: Promise<Outcome> = Promise.resolve('started');
    const starts: Promise<unknown>[] = [];
    for (const candidate of candidates) {
      // If it is unknown whether a container runs, its hook may not have run. The next sync starts the containers after
      // it.
      const start = hook.then((before) =>
        before === 'unknown' ? before : this.#start(run, sandbox, candidate, turns),
      );
      starts.push(start);
      if (candidate.container.lifecycle?.postStart != null) hook = start;
    }
    await allOf(starts);
  }

  async #start(
    { pod, status, results, signal }: Run,
    sandbox: ReadySandbox,
    { container, type, pull, wait, unfinished }: Candidate,
    turns?: Semaphore,
  ): Promise<Outcome> {
    const { containers } = this.#components;
    const limit = turns && { turns };
    const start = async (): Promise<SyncFailure | undefined> => {
      if (unfinished !== undefined) return containers.finish({ pod, container }, unfinished, signal);
      if (pull === undefined) return wait;
      return containers.start({ pod, container, type, status, pull, ...limit, ...sandbox }, signal);
    };
    const failure = await start();
    results.add('StartContainer', container.name, failure);
    if (failure === undefined) return 'started';
    return pull !== undefined && containers.isStarting(pod, container, status) ? 'unknown' : 'failed';
  }
}
