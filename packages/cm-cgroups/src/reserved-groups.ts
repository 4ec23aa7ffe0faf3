import { type EventRecorder, errorText, type Logger, type ObjectReference } from '@node-agent/telemetry';
import type { CgroupManager } from './cgroup-manager.ts';
import { CgroupError } from './errors.ts';
import { LimitKeeper } from './limit-keeper.ts';
import type { CgroupName } from './names.ts';
import { ENFORCED, NOT_ENFORCED } from './node-events.ts';
import type { ResourceConfig } from './resource-config.ts';

/** A group beside those of pods that is held to what is reserved for it; it has to be there. */
export interface ReservedGroup {
  /** As in `enforceNodeAllocatable`. */
  readonly level: 'system-reserved' | 'kube-reserved' | 'system-reserved-compressible' | 'kube-reserved-compressible';
  /** Its path, as the driver writes it: `systemReservedCgroup`, `kubeReservedCgroup`. */
  readonly cgroup: string;
  /** Of `systemReserved` or `kubeReserved`: see `listResourceConfig`. Where nothing is reserved, nothing can be enforced. */
  readonly limits: ResourceConfig | undefined;
}

/** Upstream's words in messages. */
const WORDS: Readonly<Record<ReservedGroup['level'], readonly [inUpdates: string, inFailures: string]>> = {
  'system-reserved': ['system reserved', 'System Reserved'],
  'kube-reserved': ['kube reserved', 'Kube Reserved'],
  'system-reserved-compressible': ['system reserved', 'System Reserved Compressible'],
  'kube-reserved-compressible': ['kube reserved', 'Kube Reserved Compressible'],
};

/** Upstream's order. */
const LEVELS = Object.keys(WORDS);

export interface ReservedGroupsComponents {
  readonly manager: CgroupManager;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

/** Holds the groups of the system and of Kubernetes to their shares (`enforceNodeAllocatableCgroups` in `pkg/kubelet/cm`). */
export class ReservedGroups {
  readonly #components: ReservedGroupsComponents;
  readonly #groups: readonly ReservedGroup[];
  readonly #nodeRef: ObjectReference;
  readonly #limits: LimitKeeper;
  /** How the last attempt with each went; told when it changes. */
  readonly #told = new Map<ReservedGroup['level'], string>();

  constructor(components: ReservedGroupsComponents, groups: readonly ReservedGroup[], nodeRef: ObjectReference) {
    this.#components = components;
    this.#groups = groups.toSorted((one, other) => LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level));
    this.#nodeRef = nodeRef;
    this.#limits = new LimitKeeper(components);
  }

  /** A limit that is refused is told of, and to be tried again. @throws CgroupError `MissingRoot` for a group that is not there */
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
    logger.warn({ err: problem, cgroup }, 'The limits of a reserved cgroup could not be set');
  }
}

/** As Go writes a list of texts. */
export function quoted(name: CgroupName): string {
  return `[${name.map((part) => JSON.stringify(part)).join(' ')}]`;
}
