import type { Draft } from './draft.ts';
import { killKubelet } from './faults.ts';
import { generatePod } from './generate-pod.ts';
import { NODE_NAME } from './manifest.ts';
import type { ObjectPlan, PodPlan } from './plans.ts';

const OBJECTS: readonly [ObjectPlan, ...ObjectPlan[]] = [
  { kind: 'secret', name: 's1' },
  { kind: 'secret', name: 's2' },
  { kind: 'configMap', name: 'c1' },
];

/** Draws random actions of API users and of the API server. Tracks which pods exist. */
export class ApiUser {
  readonly #draft: Draft;
  readonly #pods: PodPlan[] = [];
  readonly #versions = new Map<string, number>();

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  /**
   * Draws one action.
   * @param anyStatic returns one of the existing static pods
   */
  one(atMs: number, anyStatic: () => PodPlan | undefined): void {
    const { dice } = this.#draft;
    const act = dice.weighted<() => void>([
      [3, () => this.create(atMs)],
      [3, () => this.#delete(atMs, this.#pods.splice(dice.between(0, 9), 1)[0])],
      [1, () => this.#deleteMirror(atMs, anyStatic())],
      [2, () => this.#draft.do({ atMs, do: 'apiAway', forMs: this.#long() })],
      [
        3,
        () =>
          this.#draft.do({
            ...{ atMs, do: 'apiFaults', forMs: dice.between(1000, 60_000) },
            ...{ requests: dice.pick([0.1, 0.3, 0.7] as const), watches: dice.pick([0.2, 0.6, 1] as const) },
          }),
      ],
      [1, () => this.#draft.do({ atMs, do: 'apiCompact' })],
      [0.7, () => this.#wipe(atMs)],
      [1.5, () => this.#stale(atMs)],
      [3, () => this.#change(atMs, dice.pick(OBJECTS))],
    ]);
    act();
  }

  create(atMs: number): void {
    const { dice } = this.#draft;
    const name = `a${this.#draft.newNumber()}`;
    const gate = dice.chance(0.3);
    const objects = dice.chance(0.4) ? this.#objects(atMs) : undefined;
    const pod = { ...generatePod(dice, name, `${name}-u`), ...(gate && { gate }), ...(objects && { objects }) };
    this.#pods.push(pod);
    this.#draft.do({ atMs, do: 'apiCreate', pod });
    if (gate) this.#draft.do({ atMs: atMs + dice.between(0, 30_000), do: 'apiGate', name });
  }

  /** Draws the secrets and config maps that a pod mounts: most exist already, some are created soon, some never. */
  #objects(atMs: number): PodPlan['objects'] {
    const { dice } = this.#draft;
    const some = OBJECTS.filter(() => dice.chance(0.4));
    for (const object of some) {
      if (!this.#versions.has(object.name) && dice.chance(0.8)) {
        this.#put(dice.chance(0.5) ? 0 : atMs + dice.between(0, 20_000), object);
      }
    }
    return some.map((object) => ({ ...object, optional: dice.chance(0.4) }));
  }

  #change(atMs: number, object: ObjectPlan): void {
    if (!this.#draft.dice.chance(0.3)) this.#put(atMs, object);
    else this.#draft.do({ atMs, do: 'apiRemove', object });
  }

  #put(atMs: number, object: ObjectPlan): void {
    const version = (this.#versions.get(object.name) ?? 0) + 1;
    this.#versions.set(object.name, version);
    this.#draft.do({ atMs, do: 'apiPut', object, version });
  }

  /**
   * Draws the loss of the cluster's data. Some secrets and config maps are created again afterwards, and perhaps a new
   * pod.
   */
  #wipe(atMs: number): void {
    const { dice } = this.#draft;
    this.#draft.do({ atMs, do: 'apiWipe' });
    this.#pods.splice(0);
    for (const object of OBJECTS) if (dice.chance(0.5)) this.#put(atMs + dice.between(0, 20_000), object);
    if (dice.chance(0.5)) this.create(atMs + dice.between(0, 20_000));
  }

  #stale(atMs: number): void {
    const { dice } = this.#draft;
    this.#draft.do({ atMs, do: 'apiStale', behind: dice.between(1, 40), forMs: dice.between(1000, 60_000) });
    // A kubelet with open watches does not notice a stale cache. Only a restarted kubelet reads old data.
    if (dice.chance(0.5)) this.#draft.do(killKubelet(dice, atMs + dice.between(0, 5000)));
  }

  deleteAll(atMs: number): void {
    for (const pod of this.#pods.splice(0)) this.#delete(atMs, pod);
  }

  #delete(atMs: number, pod: PodPlan | undefined): void {
    if (pod === undefined) this.create(atMs);
    else
      this.#draft.do({
        ...{ atMs, do: 'apiDelete', name: pod.name, uid: pod.uid },
        force: this.#draft.dice.chance(0.15),
      });
  }

  #deleteMirror(atMs: number, pod: PodPlan | undefined): void {
    if (pod !== undefined) this.#draft.do({ atMs, do: 'apiDeleteMirror', name: `${pod.name}-${NODE_NAME}` });
  }

  /** Draws a duration of some seconds, rarely of an hour. */
  #long(): number {
    return this.#draft.dice.chance(0.05) ? 3_600_000 : this.#draft.dice.between(500, 90_000);
  }
}
