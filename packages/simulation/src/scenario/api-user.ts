import type { Draft } from './draft.ts';
import { generatePod } from './generate-pod.ts';
import { NODE_NAME } from './manifest.ts';
import type { PodPlan } from './plans.ts';

/** Draws what is done in and to the API server, keeping in mind which pods it has. */
export class ApiUser {
  readonly #draft: Draft;
  readonly #pods: PodPlan[] = [];

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  /** @param anyStatic one of the static pods that there are */
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
    ]);
    act();
  }

  create(atMs: number): void {
    const { dice } = this.#draft;
    const name = `a${this.#draft.newNumber()}`;
    const gate = dice.chance(0.3);
    const pod = { ...generatePod(dice, name, `${name}-u`), ...(gate && { gate }) };
    this.#pods.push(pod);
    this.#draft.do({ atMs, do: 'apiCreate', pod });
    if (gate) this.#draft.do({ atMs: atMs + dice.between(0, 30_000), do: 'apiGate', name });
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

  /** Mostly seconds, sometimes an hour. */
  #long(): number {
    return this.#draft.dice.chance(0.05) ? 3_600_000 : this.#draft.dice.between(500, 90_000);
  }
}
