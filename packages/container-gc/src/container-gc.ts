import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import type { Container, RuntimeService } from '@node-agent/cri-client';
import type { RuntimePodStatus } from '@node-agent/pod-spec';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { ContainerGcError } from './errors.ts';
import { type ListedContainer, listedContainer, listedSandbox } from './from-cri.ts';
import { LogCleaner, type LogFiles } from './log-cleaner.ts';
import { contestedAttempts, planContainerGc } from './plan-containers.ts';
import { planDeletion } from './plan-deletion.ts';
import { planSandboxGc } from './plan-sandboxes.ts';
import {
  type ContainerGcPolicy,
  defaultPolicy,
  type GarbageCollectOptions,
  isRemovable,
  type PodStateProvider,
} from './policy.ts';

export interface ContainerGcComponents {
  readonly cri: Pick<
    RuntimeService,
    'listContainers' | 'listPodSandbox' | 'stopContainer' | 'stopPodSandbox' | 'removePodSandbox'
  >;
  /** Removes a container with its logs. Succeeds if the container no longer exists. */
  readonly runtime: {
    removeContainer(containerId: string, signal: AbortSignal): Promise<void>;
    /**
     * Returns whether a container that is listed as dead has never run because its start was interrupted. A container
     * that has never run does not count as an earlier exit. If absent, every container listed as dead counts as having
     * run.
     */
    hasNeverRun?(containerId: string, signal: AbortSignal): Promise<boolean>;
  };
  readonly pods: PodStateProvider;
  readonly fs: LogFiles;
  /**
   * Called after a sandbox of the pod was removed, so that caches of the runtime's state can be refreshed; the runtime
   * sends no event for it.
   */
  readonly sandboxRemoved?: (podUid: string) => void;
  /** Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'>;
  /** Default: no logging. */
  readonly logger?: Logger;
}

export interface ContainerGcOptions {
  /**
   * Rules for keeping dead containers. Default: one dead container per container of a pod is kept, regardless of age
   * and of the node's total.
   */
  readonly policy?: Partial<ContainerGcPolicy>;
  /** Default: `/var/log/pods`. */
  readonly podLogsDirectory?: string;
  /** Directory of the links to container logs. Default: `/var/log/containers`. */
  readonly containerLogsDirectory?: string;
}

/** Containers listed by the runtime. */
type Listed = readonly Container[];

/** Result of a collection of containers. */
interface Collected {
  /** Number of removed containers. */
  readonly removed: number;
  /** All containers, including those of other creators; absent if the list is outdated. */
  readonly listed?: Listed;
}

/** Removes what pods leave behind in the runtime and in the log directories. Running containers are never removed. */
export class ContainerGc {
  readonly #components: WithDefaults<ContainerGcComponents>;
  readonly #directories: Required<Omit<ContainerGcOptions, 'policy'>>;
  readonly #policy: ContainerGcPolicy;
  readonly #logs: LogCleaner;
  readonly #toDelete = new Set<string>();
  readonly #disposed = new AbortController();
  #deleting: Promise<void> | undefined;

  /** @throws OptionsError naming the component or option that is not valid */
  constructor(given: ContainerGcComponents, options: ContainerGcOptions = {}) {
    checkOptions('ContainerGc', options, {
      policy: 'object?',
      podLogsDirectory: 'string?',
      containerLogsDirectory: 'string?',
    });
    const askedPolicy = checkOptions('ContainerGc', options.policy ?? {}, {
      minAgeMs: 'notNegative?',
      maxPerPodContainer: 'whole?',
      maxContainers: 'whole?',
    });
    checkComponents('ContainerGc', given, {
      cri: ['listContainers', 'listPodSandbox', 'stopContainer', 'stopPodSandbox', 'removePodSandbox'],
      runtime: ['removeContainer'],
      pods: ['shouldPodContentBeRemoved', 'shouldPodRuntimeBeRemoved'],
      fs: ['readdir', 'remove', 'exists', 'readlink', 'removeAll'],
    });
    const components = withDefaults(given);
    this.#components = components;
    const { podLogsDirectory = '/var/log/pods', containerLogsDirectory = '/var/log/containers' } = options;
    this.#directories = { podLogsDirectory, containerLogsDirectory };
    this.#policy = { ...defaultPolicy, ...askedPolicy };
    this.#logs = new LogCleaner(components);
  }

  /**
   * Removes dead containers, then sandboxes without containers, then logs of removed pods and dangling links. Failed
   * removals are logged and left for the next collection.
   * @returns number of removed containers
   * @throws ContainerGcError if a list is not available, after all other steps are done
   */
  async garbageCollect(options: GarbageCollectOptions, signal: AbortSignal): Promise<number> {
    const errors: unknown[] = [];
    const step = async (run: () => Promise<void>): Promise<void> => {
      signal.throwIfAborted();
      try {
        await run();
      } catch (error) {
        errors.push(error);
      }
    };
    const { podLogsDirectory, containerLogsDirectory } = this.#directories;
    const { pods } = this.#components;
    let collected: Collected = { removed: 0 };
    await step(async () => {
      collected = await this.#collectContainers(options, signal);
    });
    await step(() => this.#collectSandboxes(options, collected.listed, signal));
    if (options.allSourcesReady) {
      await step(() => this.#logs.removePodDirectories(podLogsDirectory, (uid) => isRemovable(uid, pods, false)));
    }
    await step(() => this.#logs.removeDeadLinks(containerLogsDirectory, () => this.#containers(signal)));
    signal.throwIfAborted();
    if (errors.length > 0) throw new ContainerGcError(errors);
    return collected.removed;
  }

  /**
   * Removes the pod's dead containers that have the same name as `exitedContainerId`, or any name if it is empty. The
   * newest containers are kept, as many as the policy says and at least one. If `removeAll` is true, all dead
   * containers are removed. Returns immediately. Failures are logged and left for the next collection.
   */
  deleteContainersInPod(status: RuntimePodStatus, exitedContainerId: string, removeAll: boolean): void {
    const planned = removeAll
      ? planDeletion(status, '', 0)
      : planDeletion(status, exitedContainerId, Math.max(this.#policy.maxPerPodContainer, 1));
    for (const { id } of planned) this.#toDelete.add(id);
    this.#startDeleting();
  }

  /** Drops requested deletions and waits for the one in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed.abort();
    await this.#deleting;
  }

  #startDeleting(): void {
    if (this.#deleting !== undefined || this.#toDelete.size === 0 || this.#disposed.signal.aborted) return;
    this.#deleting = this.#deleteQueued().finally(() => {
      this.#deleting = undefined;
      this.#startDeleting();
    });
  }

  async #deleteQueued(): Promise<void> {
    for (const id of this.#toDelete) {
      if (this.#disposed.signal.aborted) return;
      await this.#remove(id, this.#disposed.signal);
      this.#toDelete.delete(id);
    }
  }

  async #collectContainers(options: GarbageCollectOptions, signal: AbortSignal): Promise<Collected> {
    const { clock, cri, pods } = this.#components;
    const listed = (await cri.listContainers({}, signal)).containers;
    const containers = await this.#withoutUnrun(kubeletContainers(listed), options, signal);
    const planned = planContainerGc(containers, this.#policy, clock.now(), pods, options);
    let removed = 0;
    for (const container of planned) {
      signal.throwIfAborted();
      if (container.state !== 'unknown' || (await this.#stop(container, signal))) {
        removed += Number(await this.#remove(container.id, signal));
      }
    }
    return { removed, ...(planned.length === 0 && { listed }) };
  }

  /**
   * Returns the containers, and marks a container as `created` if it is listed as dead but never ran. A container that
   * never ran must not displace the record of the last exit (C2, C3). If the runtime does not report whether a
   * container ran, the container counts as never run, so that no needed record is removed.
   */
  async #withoutUnrun(
    containers: readonly ListedContainer[],
    { evictNonDeletedPods }: GarbageCollectOptions,
    signal: AbortSignal,
  ): Promise<readonly ListedContainer[]> {
    const { runtime, pods, logger } = this.#components;
    if (runtime.hasNeverRun === undefined) return containers;
    const unrun = new Set<string>();
    for (const attempts of contestedAttempts(containers)) {
      for (const { id, podUid, state } of attempts) {
        if (state !== 'exited' || isRemovable(podUid, pods, evictNonDeletedPods)) break;
        const isUnrun = await runtime.hasNeverRun(id, signal).catch((err: unknown) => {
          signal.throwIfAborted();
          logger.error({ podUid, containerId: id, err }, 'Cannot tell whether a dead container has ever run');
          return true;
        });
        if (!isUnrun) break;
        unrun.add(id);
      }
    }
    return containers.map((container) => (unrun.has(container.id) ? { ...container, state: 'created' } : container));
  }

  async #collectSandboxes(
    { evictNonDeletedPods }: GarbageCollectOptions,
    listed: Listed | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { cri, pods, logger, sandboxRemoved } = this.#components;
    // A sandbox is kept as long as it has a container of any creator. Containers are listed before sandboxes.
    const containers = listed ?? (await cri.listContainers({}, signal)).containers;
    const { items } = await cri.listPodSandbox({}, signal);
    const sandboxes = items.flatMap((sandbox) => listedSandbox(sandbox) ?? []);
    const occupied = new Set(containers.map((container) => container.podSandboxId));
    for (const { id, podUid, ready } of planSandboxGc(sandboxes, occupied, pods, evictNonDeletedPods)) {
      signal.throwIfAborted();
      // During earlier removals the pod may have come back and may be using the sandbox (P3).
      if (ready && !isRemovable(podUid, pods, evictNonDeletedPods)) continue;
      try {
        // Normally the sandbox was stopped long ago; if not, its network still exists.
        await cri.stopPodSandbox({ podSandboxId: id }, signal);
        await cri.removePodSandbox({ podSandboxId: id }, signal);
        logger.debug({ podUid, sandboxId: id }, 'Removed sandbox');
        sandboxRemoved?.(podUid);
      } catch (err) {
        logger.error({ podUid, sandboxId: id, err }, 'Failed to remove sandbox');
      }
    }
  }

  async #containers(signal: AbortSignal): Promise<readonly ListedContainer[]> {
    return kubeletContainers((await this.#components.cri.listContainers({}, signal)).containers);
  }

  /** Stops a container in an unknown state before its removal, because it may be running. */
  async #stop({ id, gracePeriodSeconds }: ListedContainer, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#components.cri.stopContainer({ containerId: id, timeout: gracePeriodSeconds }, signal);
      return true;
    } catch (err) {
      this.#components.logger.error({ containerId: id, err }, 'Failed to stop container');
      return false;
    }
  }

  /** Removes a container and logs a failure. @returns whether the container was removed */
  async #remove(containerId: string, signal: AbortSignal): Promise<boolean> {
    const { runtime, logger } = this.#components;
    try {
      await runtime.removeContainer(containerId, signal);
      logger.debug({ containerId }, 'Removed container');
      return true;
    } catch (err) {
      logger.error({ containerId, err }, 'Failed to remove container');
      return false;
    }
  }
}

function kubeletContainers(listed: Listed): readonly ListedContainer[] {
  return listed.flatMap((container) => listedContainer(container) ?? []);
}
