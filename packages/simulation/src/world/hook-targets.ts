import { type Clock, linkAbort, sleep } from '@node-agent/async';
import { type HookRunPlan, hookOf } from '../scenario/plans.ts';
import type { Ledger, Life } from './ledger.ts';

/** A `postStart` hook that has reached its container. */
export interface BegunHook {
  readonly life: Life;
  readonly by: 'exec' | 'httpGet';
  /** Time at which the hook completes, unless its container or its caller ends first. */
  readonly untilMs: number;
  readonly fails: boolean;
}

/** Runs the hooks that reach containers, with the outcomes that the containers' plans define. */
export class HookTargets {
  readonly #clock: Clock;
  readonly #ledger: Pick<Ledger, 'live' | 'onEnd'>;
  readonly #tell: (hook: BegunHook) => void;
  readonly #tellPreStop: (life: Life) => void;

  /**
   * @param tell called for each `postStart` hook that reaches its container
   * @param tellPreStop called for each container that its `preStop` hook reaches
   */
  constructor(
    clock: Clock,
    ledger: Pick<Ledger, 'live' | 'onEnd'>,
    tell: (hook: BegunHook) => void,
    tellPreStop: (life: Life) => void,
  ) {
    this.#clock = clock;
    this.#ledger = ledger;
    this.#tell = tell;
    this.#tellPreStop = tellPreStop;
  }

  /** Runs the command of the `preStop` hook in a container. */
  execPreStop(containerId: string): { readonly exitCode: number; readonly durationMs: number } | undefined {
    const life = this.#ledger.live.find(({ id }) => id === containerId);
    if (life === undefined) return undefined;
    return { exitCode: 0, durationMs: this.#beginPreStop(life).takesMs };
  }

  /** Runs the command of the `postStart` hook in a container. */
  exec(containerId: string): { readonly exitCode: number; readonly durationMs: number } | undefined {
    const life = this.#ledger.live.find(({ id }) => id === containerId);
    const run = life && this.#begin(life, 'exec');
    return run && { exitCode: run.fails ? 1 : 0, durationMs: run.takesMs };
  }

  /**
   * Sends a hook's request to the container that its path names.
   * @returns whether the container answers; false if no container listens, or if the container ends first
   */
  async ask(path: string, signal: AbortSignal): Promise<boolean> {
    const [, uid, name, event] = path.split('/');
    const life = this.#ledger.live.findLast((each) => each.podUid === uid && each.name === name);
    const run = life && (event === 'preStop' ? this.#beginPreStop(life) : this.#begin(life, 'httpGet'));
    if (life === undefined || run === undefined) return false;
    using link = linkAbort(signal);
    const forget = this.#ledger.onEnd(life.id, () => link.abort());
    try {
      await sleep(this.#clock, run.takesMs, link.signal);
      return run.fails !== true;
    } catch {
      signal.throwIfAborted();
      return false;
    } finally {
      forget();
    }
  }

  #beginPreStop(life: Life): HookRunPlan {
    this.#tellPreStop(life);
    return { takesMs: (life.plan.preStopSeconds ?? 0) * 1000 };
  }

  #begin(life: Life, by: BegunHook['by']): HookRunPlan | undefined {
    const run = hookOf(life.plan, life.attempt);
    if (run === undefined) return undefined;
    this.#tell({ life, by, untilMs: this.#clock.monotonic() + run.takesMs, fails: run.fails === true });
    return run;
  }
}
