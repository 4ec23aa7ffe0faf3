import { type EventRecorder, errorText, type Logger, type ObjectReference } from '@node-agent/telemetry';
import type { CgroupManager } from './cgroup-manager.ts';
import { CgroupError } from './errors.ts';
import { LimitKeeper } from './limit-keeper.ts';
import type { CgroupName } from './names.ts';
import { ENFORCED, NOT_ENFORCED } from './node-events.ts';
import type { ResourceConfig } from './resource-config.ts';

/** A cgroup outside of the pods' that is limited to its reservation; it must exist. */
export interface ReservedGroup {
  /** Enforcement level, as in `enforceNodeAllocatable`. */
  readonly level: 'system-reserved' | 'kube-reserved' | 'system-reserved-compressible' | 'kube-reserved-compressible';
  /** Path of the cgroup in the driver's notation: `systemReservedCgroup`, `kubeReservedCgroup`. */
  readonly cgroup: string;
  /**
   * Limits from `systemReserved` or `kubeReserved`; see `listResourceConfig`. If `undefined`, nothing is reserved and
   * enforcement fails.
   */
  readonly limits: ResourceConfig | undefined;
}

/** Names of the enforcement levels in messages, in upstream's wording. */
const WORDS: Readonly<Record<ReservedGroup['level'], readonly [inUpdates: string, inFailures: string]>> = {
  'system-reserved': ['system reserved', 'System Reserved'],
  'kube-reserved': ['kube reserved', 'Kube Reserved'],
  'system-reserved-compressible': ['system reserved', 'System Reserved Compressible'],
  'kube-reserved-compressible': ['kube reserved', 'Kube Reserved Compressible'],
};

/** Enforcement levels, in the order in which upstream enforces them. */
const LEVELS = Object.keys(WORDS);

export interface ReservedGroupsComponents {
  readonly manager: CgroupManager;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

/**
 * Limits the cgroups of the system and of Kubernetes to their reservations (`enforceNodeAllocatableCgroups` in
 * `pkg/kubelet/cm`).
 */
export class ReservedGroups {
  readonly #components: ReservedGroupsComponents;
  readonly #groups: readonly ReservedGroup[];
  readonly #nodeRef: ObjectReference;
  readonly #limits: LimitKeeper;
  /** Message of the last event per enforcement level. An event is recorded only if its message is a new one. */
  readonly #told = new Map<ReservedGroup['level'], string>();

  constructor(components: ReservedGroupsComponents, groups: readonly ReservedGroup[], nodeRef: ObjectReference) {
    this.#components = components;
    this.#groups = groups.toSorted((one, other) => LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level));
    this.#nodeRef = nodeRef;
    this.#limits = new LimitKeeper(components);
  }

  /**
   * Enforces all limits. A rejected limit is reported and retried with the next call. @throws CgroupError `MissingRoot`
   * if a cgroup does not exist
   */
  async enforce(): Promise<void> {
    for (const group of this.#groups) await this.#enforceOne(group);
  }

  async #enforceOne({ level, cgroup, limits }: ReservedGroup): Promise<void> {
    const { manager, recorder, logger } = this.#components;
    const [inUpdates, inFailures] = WORDS[level];
    let problem: unknown;
    try {
      const name = manager.parse(cgroup);
      if (limits === undefined)
        throw new CgroupError('MissingRoot', `${quoted(name)} cgroup is not configured properly`);
      const missing = await manager.missing(name);
      if (missing.length > 0) {
        throw new CgroupError('MissingRoot', `cgroup ${quoted(name)} has some missing paths: ${missing.join(', ')}`);
      }
      await this.#limits.keep(name, limits, () => manager.update(name, limits));
    } catch (err) {
      problem = err;
    }
    const message =
      problem === undefined
        ? `Updated limits on ${inUpdates} cgroup ${cgroup}`
        : `Failed to enforce ${inFailures} Cgroup Limits on ${JSON.stringify(cgroup)}: ${errorText(problem)}`;
    if (message !== this.#told.get(level)) {
      this.#told.set(level, message);
      if (problem === undefined) recorder.event(this.#nodeRef, 'Normal', ENFORCED, message);
      else recorder.event(this.#nodeRef, 'Warning', NOT_ENFORCED, message);
    }
    if (problem === undefined) return;
    const { code } = CgroupError.from(problem);
    if (code === 'MissingRoot' || code === 'InvalidName') throw new CgroupError(code, message, problem);
    logger.warn({ err: problem, cgroup }, 'Failed to set the limits of a reserved cgroup');
  }
}

/** Formats the parts as Go formats a list of strings. */
export function quoted(name: CgroupName): string {
  return `[${name.map((part) => JSON.stringify(part)).join(' ')}]`;
}
