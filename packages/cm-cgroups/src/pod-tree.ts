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

/** As often the groups that all pods are in are looked over. */
const REPAIR_MS = 60_000;

export interface PodTreeComponents {
  readonly manager: CgroupManager;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

export interface PodTreeOptions {
  /** Has to be there; nothing outside of it is touched. */
  readonly root: CgroupName;
  readonly kubepods: CgroupName;
  /** What all pods together are held to, but for huge pages, of which they may have all (`setHugePagesConfig` upstream). */
  readonly limits: ResourceConfig;
  /** The groups beside it that are held to their shares. */
  readonly reserved: readonly ReservedGroup[];
  readonly nodeRef: ObjectReference;
}

/** The groups that pods' groups are in: the one of all pods, and one for each of the lower QoS classes in it. */
export class PodTree {
  readonly #components: PodTreeComponents;
  readonly #options: PodTreeOptions;
  /** How the last attempt to enforce the node's limits went; told when it changes. */
  #told: string | undefined;
  readonly #reserved: ReservedGroups;
  readonly #limits: LimitKeeper;

  constructor(components: PodTreeComponents, options: PodTreeOptions) {
    this.#components = components;
    this.#options = options;
    this.#limits = new LimitKeeper(components);
    this.#reserved = new ReservedGroups(components, options.reserved, options.nodeRef);
  }

  /** Makes what is missing and sets its limits. @throws CgroupError `MissingRoot`, `Io` */
  async make(): Promise<void> {
    const { manager } = this.#components;
    const { root, kubepods, limits } = this.#options;
    const missing = await manager.missing(root);
    if (missing.length > 0) {
      const message = `invalid configuration: cgroup root ${manager.path(root)} is not there: missing ${missing.join(', ')}`;
      throw new CgroupError('MissingRoot', message);
    }
    // Huge pages that are set aside while the node runs are its pods', too: their own groups are held to what they ask for.
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
   * Makes it again each minute, until `signal` is aborted: a limit that is below what pods use is taken when they use less. Limits that were
   * written are left alone, unless they are missing.
   */
  async keep(signal: AbortSignal): Promise<void> {
    const round = async (): Promise<void> => {
      await this.make().catch((err: unknown) => {
        this.#components.logger.error({ err }, 'Failed to make the cgroups of all pods');
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
      this.#components.logger.warn({ err }, 'A limit of a QoS cgroup could not be set');
    }
  }
}

/** The group is there, and not all of its limits are. */
function isAboutLimits(err: unknown): boolean {
  return CgroupError.is(err) && ['Refused', 'Busy', 'MissingController'].includes(err.code);
}
