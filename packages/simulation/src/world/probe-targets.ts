import { illAfterMs, type ProbeKind } from '../scenario/plans.ts';
import type { Life } from './ledger.ts';

/** A probe of a container and its result. */
export interface Probed {
  /** The probed run of the container. */
  readonly life: Life;
  readonly kind: ProbeKind;
  readonly answer: 'well' | 'badly' | 'never';
}

/** Answers the probes of all containers according to their plans. */
export class ProbeTargets {
  readonly #live: () => readonly Life[];
  readonly #asked = new Map<string, number>();

  constructor(live: () => readonly Life[]) {
    this.#live = live;
  }

  /** Probes the container that a request's path names. Returns `undefined` if no container listens. */
  ask(path: string, nowMs: number): Probed | undefined {
    const [, uid, name, kind] = path.split('/') as [string, string, string, ProbeKind];
    const life = this.#live().findLast((each) => each.podUid === uid && each.name === name);
    const plan = life?.plan.probes?.[kind];
    if (life === undefined || plan === undefined) return undefined;
    if (plan.hangs) return { life, kind, answer: 'never' };
    if (plan.drains && life.termAtMs !== undefined) return { life, kind, answer: 'badly' };
    const ranMs = nowMs - life.startedAtMs;
    const isIll = kind === 'liveness' && ranMs >= illAfterMs(life.plan, life.attempt);
    if (ranMs < plan.wellAfterMs || isIll) return { life, kind, answer: 'badly' };
    const key = `${life.id} ${kind}`;
    const count = (this.#asked.get(key) ?? 0) + 1;
    this.#asked.set(key, count);
    const fails = plan.everyNthFails !== undefined && count % plan.everyNthFails === 0;
    return { life, kind, answer: fails ? 'badly' : 'well' };
  }
}
