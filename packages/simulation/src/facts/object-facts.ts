import type { Observation } from '../observation.ts';
import type { ObjectPlan, PodPlan } from '../scenario/plans.ts';

interface ObjectHistory {
  /** Current version of the object; `undefined` if the object does not exist. */
  current: number | undefined;
  changedAtMs: number;
  readonly ever: Set<string>;
}

/** The current and past secrets and config maps of the API. */
export class ObjectFacts {
  readonly #objects = new Map<string, ObjectHistory>();

  /** Returns the object's content as text, or `undefined` if the object does not exist. */
  current(object: ObjectPlan): string | undefined {
    return this.#objects.get(keyOf(object))?.current?.toString();
  }

  /** Time at which the object was last created, changed or deleted; 0 if it never existed. */
  changedAtMs(object: ObjectPlan): number {
    return this.#objects.get(keyOf(object))?.changedAtMs ?? 0;
  }

  /** Returns all contents that the object ever had. */
  ever(object: ObjectPlan): ReadonlySet<string> {
    return this.#objects.get(keyOf(object))?.ever ?? new Set();
  }

  /** Reports whether an object is missing that the pod requires to start. */
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
