import { type Clock, Semaphore } from '@node-agent/async';
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
 * So many containers of a pod are made ready and started at once: what a container is made of is as large as its environment, which a
 * configMap of a mebibyte may be in each of thousands of them.
 */
const AT_ONCE = 8;

export interface PodContainersComponents {
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly backOff: RestartBackOff;
  readonly containers: ContainerStarter;
}

/** One container that this sync means to start; `pull` is absent where it has to wait. */
export interface Candidate {
  readonly container: AnyContainer;
  readonly type: ContainerType;
  readonly wait?: SyncFailure;
  readonly pull?: Promise<PullOutcome>;
  /** The container runs, and its start is to be finished. */
  readonly unfinished?: StartedRun;
}

/** How the start of one container went; `unknown`: the runtime has not said, and what comes after it waits. */
type Outcome = 'started' | 'failed' | 'unknown';

/** What starting the containers of one pod has in common. */
export interface Run {
  readonly pod: Pod;
  readonly status: RuntimePodStatus;
  readonly results: SyncResults;
  readonly signal: AbortSignal;
}

/** Where the containers of one pod start. */
export interface Place {
  readonly sandboxId: string;
  readonly sandboxConfig: Init<PodSandboxConfig>;
  readonly podIps: readonly string[];
  /** Whether the runtime can have no container of the pod: it had nothing of it before this sandbox. */
  readonly empty: boolean;
}

/** Starts the containers of a pod: their images side by side, they themselves in the order that their kinds ask for. */
export class PodContainers {
  readonly #components: PodContainersComponents;

  constructor(components: PodContainersComponents) {
    this.#components = components;
  }

  /** See {@link ContainerStarter.finish}. */
  finish(pod: Pod, container: AnyContainer, run: StartedRun, signal: AbortSignal): Promise<SyncFailure | undefined> {
    return this.#components.containers.finish({ pod, container }, run, signal);
  }

  /** See {@link ContainerStarter.adopt}. */
  adopt({ pod, status }: Pick<Run, 'pod' | 'status'>): Promise<void> {
    return this.#components.containers.adopt(pod, status);
  }

  /** A container that may start now has its image pulled already; one that crashes too often waits. */
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

  /** Never rejects: nobody may be there to catch it when the sandbox fails first. */
  async #pull(
    pod: Pod,
    container: Container,
    sandboxConfig: Init<PodSandboxConfig>,
    volumes: ImageVolumePulls,
    signal: AbortSignal,
  ): Promise<PullOutcome> {
    const volumeImages = volumes.of(container);
    try {
      // Images are kept apart by runtime handler only with gate RuntimeClassInImageCriApi, an alpha one.
      const { imageRef } = await volumes.images.ensureImageExists(pod, container, sandboxConfig, '', signal);
      const { images: imageVolumes, failures } = await volumeImages;
      return failures.length > 0 ? { failures } : { imageRef, imageVolumes };
    } catch (err) {
      const { failures } = await volumeImages;
      return { failures: failures.length > 0 ? failures : [pullFailure(err)] };
    }
  }

  /**
   * One after another.
   * @param mayFail whether the next one starts even where this one could not
   * @returns whether it got to the end
   */
  async inOrder(
    run: Run,
    place: Place,
    candidates: readonly Candidate[],
    mayFail: (container: Container) => boolean,
  ): Promise<boolean> {
    for (const candidate of candidates) {
      const outcome = await this.#start(run, place, candidate);
      if (outcome === 'unknown' || (outcome === 'failed' && !mayFail(candidate.container))) return false;
    }
    return true;
  }

  /**
   * All at once, a few at a time, but for those behind a `postStart` hook: people rely on it that the next container starts only
   * when the hook is done. Without a hook nothing tells an order from its absence.
   */
  async sideBySide(run: Run, place: Place, candidates: readonly Candidate[]): Promise<void> {
    const turns = new Semaphore(AT_ONCE);
    let hook: Promise<Outcome> = Promise.resolve('started');
    const starts: Promise<unknown>[] = [];
    for (const candidate of candidates) {
      // Those behind a container that may run without its hook are left to the next sync.
      const start = hook.then((before) => (before === 'unknown' ? before : this.#start(run, place, candidate, turns)));
      starts.push(start);
      if (candidate.container.lifecycle?.postStart != null) hook = start;
    }
    await allOf(starts);
  }

  async #start(
    { pod, status, results, signal }: Run,
    place: Place,
    { container, type, pull, wait, unfinished }: Candidate,
    turns?: Semaphore,
  ): Promise<Outcome> {
    const { containers } = this.#components;
    const limit = turns && { turns };
    const start = async (): Promise<SyncFailure | undefined> => {
      if (unfinished !== undefined) return containers.finish({ pod, container }, unfinished, signal);
      if (pull === undefined) return wait;
      return containers.start({ pod, container, type, status, pull, ...limit, ...place }, signal);
    };
    const failure = await start();
    results.add('StartContainer', container.name, failure);
    if (failure === undefined) return 'started';
    return pull !== undefined && containers.isStarting(pod, container, status) ? 'unknown' : 'failed';
  }
}

/** Waits for all, then throws the first error: nothing goes on behind the caller's back. */
export async function allOf(work: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work)) if (outcome.status === 'rejected') throw outcome.reason;
}
