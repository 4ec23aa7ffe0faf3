import type { Clock } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';

/** What happens to a pod between its creation and its end, in the order in which it mostly happens. */
export type PodStepName =
  /** The API server made it. */
  | 'Created'
  /** It was bound to this node. */
  | 'Scheduled'
  /** This kubelet learnt of it. */
  | 'Seen'
  /** It is decided whether it may run here. */
  | 'Admission'
  /** A device plugin is asked for the devices of a container, or an older pod is waited for that may not keep its own. */
  | 'Devices'
  | 'Cgroup'
  /** Its directories are made, and its volumes mounted; its turn to be prepared is waited for. */
  | 'Volumes'
  /** Its sandbox and its network come up. */
  | 'Sandbox'
  /** The image of a container is made sure of: found, or pulled. */
  | 'Image'
  | 'CreateContainer'
  | 'StartContainer'
  | 'PostStart'
  /** A probe says something that it did not say before. */
  | 'Probe'
  /** A condition of the pod came true: `target` says which. */
  | 'Condition'
  /** A container ended. */
  | 'ContainerEnded'
  | 'PreStop'
  /** Its containers are stopped, hooks and grace period included. */
  | 'Stop'
  /** Its volumes are unmounted, and its cgroup goes. */
  | 'CleanUp'
  /** The API server has its newest status. */
  | 'StatusSent';

/** One step of a pod. Times are of the wall clock, in milliseconds since the Unix epoch. */
export interface PodStep {
  readonly step: PodStepName;
  /** The container, or what else is meant where a pod may have several. */
  readonly target?: string;
  readonly startedAtMs: number;
  /** Absent while it goes on. What happened at an instant ended when it began. */
  readonly endedAtMs?: number;
  /** How it ended. `cancelled`: there was more urgent news of the pod. */
  readonly outcome?: 'done' | 'failed' | 'cancelled';
  /** Why it failed, or what is to be said of it; at most 500 characters. */
  readonly message?: string;
  /** Since when it has failed each time that it was tried; absent where the last try went well, or is the first. */
  readonly failingSinceMs?: number;
  /** How often it was begun, where that is more than once. The times are those of the last. */
  readonly times?: number;
  /** True for a step from before this kubelet started, known from the pod's status and the runtime; else absent. */
  readonly isEarlier?: true;
}

/** What else there is to say of a step. */
export interface StepDetail {
  readonly target?: string;
  readonly message?: string;
}

/** How a step ended: nothing where it went well. */
export type EndStep = (failure?: { readonly error: unknown; readonly cancelled?: boolean }) => void;

/** Where the steps of pods are noted while they happen. */
export interface PodJournalPort {
  /** Notes a step that took no time. */
  mark(uid: string, step: PodStepName, detail?: StepDetail & Pick<PodStep, 'outcome'>): void;
  /** Notes that a step has begun. @returns to be called when it ends */
  begin(uid: string, step: PodStepName, detail?: StepDetail): EndStep;
  /** Notes a step around `work`. @param signal aborted: the step was cancelled, whatever it failed with */
  during<T>(
    uid: string,
    step: PodStepName,
    detail: StepDetail,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>;
}

/** A step, and where it stands among those that began in the same millisecond. */
interface Kept {
  readonly order: number;
  readonly step: PodStep;
}

/** So many steps of a pod are kept: those of 20 containers, and more than that. */
const MAX_STEPS = 160;
const MAX_MESSAGE = 500;

/** These are asked for at every sync: once done, they stay as they were, for nothing is done then but to look. */
const LOOKED_AT_AGAIN: ReadonlySet<PodStepName> = new Set(['Cgroup', 'Volumes']);

/**
 * What happened to each pod, for people who ask: the newest of each step and target. Bounded in every way, and nothing is kept of a pod that
 * was not announced by {@link known}, or is forgotten (K4).
 */
export class PodJournal implements PodJournalPort {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #pods = new Map<string, Map<string, Kept>>();
  #order = 0;

  constructor({ clock }: { readonly clock: Pick<Clock, 'now'> }) {
    this.#clock = clock;
  }

  /** Keeps the steps of a pod from now on; its first is that it was seen. */
  known(uid: string): void {
    if (this.#pods.has(uid)) return;
    this.#pods.set(uid, new Map());
    this.mark(uid, 'Seen');
  }

  forget(uid: string): void {
    this.#pods.delete(uid);
  }

  /** The steps of a pod in the order in which they began; those that go on are among them. */
  steps(uid: string): readonly PodStep[] {
    return [...(this.#pods.get(uid)?.values() ?? [])]
      .sort((a, b) => a.step.startedAtMs - b.step.startedAtMs || a.order - b.order)
      .map(({ step }) => step);
  }

  mark(
    uid: string,
    step: PodStepName,
    { target, message, outcome = 'done' }: Parameters<PodJournalPort['mark']>[2] = {},
  ): void {
    const atMs = this.#clock.now();
    this.#put(uid, {
      ...{ step, startedAtMs: atMs, endedAtMs: atMs, outcome },
      ...(target !== undefined && { target }),
      ...(message !== undefined && message !== '' && { message: shortened(message) }),
    });
  }

  begin(uid: string, step: PodStepName, { target, message }: StepDetail = {}): EndStep {
    const before = this.#pods.get(uid)?.get(keyOf(step, target));
    const failingSinceMs = before?.step.failingSinceMs;
    const begun = this.#put(uid, {
      ...{ step, startedAtMs: this.#clock.now() },
      ...(target !== undefined && { target }),
      ...(message !== undefined && { message: shortened(message) }),
      ...(failingSinceMs !== undefined && { failingSinceMs }),
    });
    if (begun === undefined) return () => undefined;
    return (failure) => {
      const steps = this.#pods.get(uid);
      // It was begun anew meanwhile, or nothing is known of the pod any more.
      if (steps?.get(keyOf(step, target)) !== begun) return;
      const hasFailed = failure !== undefined && failure.cancelled !== true;
      if (!hasFailed && before?.step.outcome === 'done' && LOOKED_AT_AGAIN.has(step)) {
        steps.set(keyOf(step, target), before);
        return;
      }
      const outcome = failure === undefined ? 'done' : failure.cancelled ? 'cancelled' : 'failed';
      const said = outcome === 'failed' ? shortened(errorText(failure?.error)) : begun.step.message;
      const { failingSinceMs: _before, ...rest } = begun.step;
      const since = outcome === 'failed' ? (failingSinceMs ?? begun.step.startedAtMs) : undefined;
      steps.set(keyOf(step, target), {
        order: begun.order,
        step: {
          ...(outcome === 'cancelled' ? begun.step : rest),
          ...{ endedAtMs: this.#clock.now(), outcome },
          ...(said !== undefined && said !== '' && { message: said }),
          ...(since !== undefined && { failingSinceMs: since }),
        },
      });
    };
  }

  async during<T>(
    uid: string,
    step: PodStepName,
    detail: StepDetail,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const end = this.begin(uid, step, detail);
    try {
      const result = await work();
      end();
      return result;
    } catch (error) {
      end({ error, cancelled: signal?.aborted ?? false });
      throw error;
    }
  }

  /** @returns the step as it is kept; `undefined` where nothing of the pod is */
  #put(uid: string, step: PodStep): Kept | undefined {
    const steps = this.#pods.get(uid);
    if (steps === undefined) return undefined;
    const key = keyOf(step.step, step.target);
    const times = (steps.get(key)?.step.times ?? (steps.has(key) ? 1 : 0)) + 1;
    this.#order += 1;
    const kept = { order: this.#order, step: times > 1 ? { ...step, times } : step };
    // Put at the end: the first one is the one that was touched longest ago.
    steps.delete(key);
    steps.set(key, kept);
    if (steps.size > MAX_STEPS) this.#dropOldest(steps);
    return kept;
  }

  #dropOldest(steps: Map<string, Kept>): void {
    for (const [key, { step }] of steps) {
      if (step.endedAtMs === undefined || step.step === 'Seen') continue;
      steps.delete(key);
      return;
    }
    // All of them go on: no pod has so many containers that this is more than a bound.
    steps.delete(steps.keys().next().value ?? '');
  }
}

/** For those that are made without one. */
export const noJournal: PodJournalPort = {
  mark() {},
  begin: () => () => undefined,
  during: (_uid, _step, _detail, work) => work(),
};

/** A copy: a part of a text keeps all of it in memory. */
function shortened(text: string): string {
  return text.length <= MAX_MESSAGE ? text : Buffer.from(text.slice(0, MAX_MESSAGE)).toString();
}

function keyOf(step: PodStepName, target = ''): string {
  return `${step} ${target}`;
}
