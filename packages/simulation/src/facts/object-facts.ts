import type { Observation } from '../observation.ts';
import type { ObjectPlan, PodPlan } from '../scenario/plans.ts';

interface ObjectHistory {
  /** `undefined`: it is not there. */
  current: number | undefined;
  changedAtMs: number;
  readonly ever: Set<string>;
}

/** The secrets and config maps that the API has, and had. */
export class ObjectFacts {
  readonly #objects = new Map<string, ObjectHistory>();

  /** What the object says, as text; `undefined` where it is not there. */
  current(object: ObjectPlan): string | undefined {
    return this.#objects.get(keyOf(object))?.current?.toString();
  }

  /** When it last came, changed or went; 0 where it never was. */
  changedAtMs(object: ObjectPlan): number {
    return this.#objects.get(keyOf(object))?.changedAtMs ?? 0;
  }

  /** All that it ever said. */
  ever(object: ObjectPlan): ReadonlySet<string> {
    return this.#objects.get(keyOf(object))?.ever ?? new Set();
  }

  /** Whether an object is not there without which the pod is not to start. */
  isHeldBack({ objects = [] }: PodPlan): boolean {
    return objects.some((object) => !object.optional && this.current(object) === undefined);
  }

  observe(observation: Observation): void {
    const { atMs } = observation;
    if (observation.kind === 'action' && observation.action.do === 'apiWipe') {
      for (const history of this.#objects.values()) Object.assign(history, { current: undefined, changedAtMs: atMs });
    }
    if (observation.kind !== 'objectChanged') return;
    const { object, version } = observation;
    const history = this.#objects.get(keyOf(object)) ?? { current: undefined, changedAtMs: 0, ever: new Set() };
    if (version !== undefined) history.ever.add(String(version));
    history.current = version;
    history.changedAtMs = atMs;
    this.#objects.set(keyOf(object), history);
  }
}

function keyOf({ kind, name }: ObjectPlan): string {
  return `${kind}/${name}`;
}
