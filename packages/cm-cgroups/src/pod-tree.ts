import { type Clock, every } from '@node-agent/async';
import { MIN_CPU_SHARES } from '@node-agent/pod-spec';
import { type EventRecorder, errorText, type Logger, type ObjectReference } from '@node-agent/telemetry';
import type { CgroupManager } from './cgroup-manager.ts';
import { CgroupError } from './errors.ts';
import { LimitKeeper } from './limit-keeper.ts';
import type { CgroupName } from './names.ts';
import { ENFORCED, NOT_ENFORCED } from './node-events.ts';
import { qosNames } from './pod-names.ts';
import { quoted, type ReservedGroup, ReservedGroups } from './reserved-groups.ts';
import type { ResourceConfig } from './resource-config.ts';

/** Period of checking the cgroups that contain all pods. */
const REPAIR_MS = 60_000;

export interface PodTreeComponents {
  readonly manager: CgroupManager;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

export interface PodTreeOptions {
  /** Cgroup root; it must exist, and nothing outside of it is changed. */
  readonly root: CgroupName;
  readonly kubepods: CgroupName;
  /** Limits of all pods together, without huge pages, which are unlimited here (upstream: `setHugePagesConfig`). */
  readonly limits: ResourceConfig;
  /** Cgroups outside of the pods' that are limited to their reservations. */
  readonly reserved: readonly ReservedGroup[];
  readonly nodeRef: ObjectReference;
}

/** Maintains the parent cgroups of pods' cgroups: the cgroup of all pods, and in it one for each lower QoS class. */
export class PodTree {
  readonly #components: PodTreeComponents;
  readonly #options: PodTreeOptions;
  /** Problem of the last attempt to enforce the node's limits; '' if it succeeded. A change causes an event. */
  #told: string | undefined;
  readonly #reserved: ReservedGroups;
  readonly #limits: LimitKeeper;

  constructor(components: PodTreeComponents, options: PodTreeOptions) {
    this.#components = components;
    this.#options = options;
    this.#limits = new LimitKeeper(components);
    this.#reserved = new ReservedGroups(components, options.reserved, options.nodeRef);
  }

  /** Creates missing cgroups and sets their limits. @throws CgroupError `MissingRoot`, `Io` */
  async make(): Promise<void> {
    const { manager } = this.#components;
    const { root, kubepods, limits } = this.#options;
    const missing = await manager.missing(root);
    if (missing.length > 0) {
      const message = `invalid configuration: cgroup root ${manager.path(root)} does not exist: missing ${missing.join(', ')}`;
      throw new CgroupError('MissingRoot', message);
    }
    // Huge pages can be reserved on the node later, and pods may use these too. The pods' own cgroups limit huge pages
    // to the requests.
    await this.#enforce(() => this.#make(kubepods, { ...limits, hugePageLimits: 'unlimited' }));
    const { Burstable, BestEffort } = qosNames(kubepods);
    await this.#asFarAsPossible(() => this.#make(Burstable, { hugePageLimits: 'unlimited' }));
    await this.#asFarAsPossible(() =>
      this.#make(BestEffort, { cpuShares: MIN_CPU_SHARES, hugePageLimits: 'unlimited' }),
    );
    await this.#reserved.enforce();
  }

  async #make(name: CgroupName, config: ResourceConfig): Promise<void> {
    await this.#limits.keep(name, config, () => this.#components.manager.create(name, config));
  }

  /**
   * Repeats `make` each minute until `signal` is aborted: a limit below the pods' usage can be set when the usage has
   * dropped. Limits are not written again unless they were reset.
   */
  async keep(signal: AbortSignal): Promise<void> {
    const round = async (): Promise<void> => {
      await this.make().catch((err: unknown) => {
        this.#components.logger.error({ err }, 'Failed to create the cgroups of all pods');
      });
    };
    await every(this.#components.clock, REPAIR_MS, round, signal, { immediate: false });
  }

  async #enforce(work: () => Promise<void>): Promise<void> {
    let problem = '';
    try {
      await work();
    } catch (err) {
      if (!isAboutLimits(err)) throw err;
      problem = errorText(err);
    }
    if (problem === this.#told) return;
    this.#told = problem;
    const { recorder } = this.#components;
    const { nodeRef, kubepods } = this.#options;
    if (problem === '') recorder.event(nodeRef, 'Normal', ENFORCED, 'Updated Node Allocatable limit across pods');
    else {
      const message = `Failed to update Node Allocatable Limits ${quoted(kubepods)}: ${problem}`;
      recorder.event(nodeRef, 'Warning', NOT_ENFORCED, message);
    }
  }

  async #asFarAsPossible(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      if (!isAboutLimits(err)) throw err;
      this.#components.logger.warn({ err }, 'Failed to set a limit of a QoS cgroup');
    }
  }
}

/** Returns whether the error means that the cgroup exists but not all of its limits are set. */
function isAboutLimits(err: unknown): boolean {
  return CgroupError.is(err) && ['Refused', 'Busy', 'MissingController'].includes(err.code);
}
