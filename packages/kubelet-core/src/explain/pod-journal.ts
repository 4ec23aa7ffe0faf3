import type { Clock } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';

/** Kinds of steps in the life of a pod, roughly in chronological order. */
export type PodStepName =
  /** The API server created the pod. */
  | 'Created'
  /** The pod was bound to this node. */
  | 'Scheduled'
  /** This kubelet first saw the pod. */
  | 'Seen'
  /** The kubelet decides whether the pod may run here. */
  | 'Admission'
  /**
   * A device plugin allocates devices for a container, or the pod waits until an older pod has released its devices.
   */
  | 'Devices'
  /** DRA drivers prepare the pod's ResourceClaims. */
  | 'PrepareClaims'
  | 'Cgroup'
  /**
   * The pod's directories are created and its volumes are mounted, including the wait until other pods are prepared.
   */
  | 'Volumes'
  /** The pod's sandbox and network are set up. */
  | 'Sandbox'
  /** The image of a container is checked, or pulled. */
  | 'Image'
  | 'CreateContainer'
  | 'StartContainer'
  | 'PostStart'
  /** A probe's result changed. */
  | 'Probe'
  /** A condition of the pod became true. `target` names the condition. */
  | 'Condition'
  /** A container terminated. */
  | 'ContainerEnded'
  | 'PreStop'
  /** The pod's containers are stopped, including hooks and grace period. */
  | 'Stop'
  /** DRA drivers take back the pod's ResourceClaims. */
  | 'UnprepareClaims'
  /** The pod's volumes are unmounted and its cgroup is removed. */
  | 'CleanUp'
  /** The pod's newest status is sent to the API server. */
  | 'StatusSent';

/** One step of a pod. Times are wall clock, in milliseconds since the Unix epoch. */
export interface PodStep {
  readonly step: PodStepName;
  /** Container, probe or condition that the step concerns, if a pod may have several. */
  readonly target?: string;
  readonly startedAtMs: number;
  /** End of the step; absent while it is in progress. Equal to the start for an instantaneous step. */
  readonly endedAtMs?: number;
  /** Outcome of the step. `cancelled`: a more urgent update of the pod arrived. */
  readonly outcome?: 'done' | 'failed' | 'cancelled';
  /** Error or remark, at most 500 characters. */
  readonly message?: string;
  /** Start of the current series of failures of this step; absent if the last attempt succeeded or is the first. */
  readonly failingSinceMs?: number;
  /** Number of times the step was started, if more than one. The times are those of the last attempt. */
  readonly times?: number;
  /**
   * True for a step from before this kubelet started, derived from the pod's status and the runtime; otherwise absent.
   */
  readonly isEarlier?: true;
}

/** Further details of a step. */
export interface StepDetail {
  readonly target?: string;
  readonly message?: string;
}

/** Ends a step: successfully if called without arguments. */
export type EndStep = (failure?: { readonly error: unknown; readonly cancelled?: boolean }) => void;

/** Records the steps of pods as they happen. */
export interface PodJournalPort {
  /** Records an instantaneous step. */
  mark(uid: string, step: PodStepName, detail?: StepDetail & Pick<PodStep, 'outcome'>): void;
  /**
   * Records the start of a step.
   * @returns a function that must be called when the step ends
   */
  begin(uid: string, step: PodStepName, detail?: StepDetail): EndStep;
  /**
   * Records a step that lasts as long as `work`.
   * @param signal if aborted, the step counts as cancelled, whatever error it failed with
   */
  during<T>(
    uid: string,
    step: PodStepName,
    detail: StepDetail,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>;
}

/** A recorded step and its order among steps that started in the same millisecond. */
interface Kept {
  readonly order: number;
  readonly step: PodStep;
}

/**
 * A step under construction. The journal assigns its fields one by one, because a pod start has dozens of steps and
 * object spreads took most of the time.
 */
type Draft = { -readonly [K in keyof PodStep]: PodStep[K] };

/** Maximum number of steps kept per pod: enough for 20 containers. */
const MAX_STEPS = 160;
const MAX_MESSAGE = 500;

/**
 * Steps that run at every sync. If such a step is repeated successfully, nothing has changed, so the record of its
 * first success is kept.
 */
const REPEATED_STEPS: ReadonlySet<PodStepName> = new Set(['Cgroup', 'Volumes']);

/**
 * Keeps the steps of each pod for explanations: the newest attempt of each step and target. The number of steps per pod
 * is bounded. Steps are kept only for pods that were announced with {@link known} and not yet forgotten (K4).
 */
export class PodJournal implements PodJournalPort {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #pods = new Map<string, Map<string, Kept>>();
  #order = 0;

  constructor({ clock }: { readonly clock: Pick<Clock, 'now'> }) {
    this.#clock = clock;
  }

  /** Starts to keep steps for a pod, beginning with `Seen`. */
  known(uid: string): void {
    if (this.#pods.has(uid)) return;
    this.#pods.set(uid, new Map());
    this.mark(uid, 'Seen');
  }

  forget(uid: string): void {
    this.#pods.delete(uid);
  }

  /** Returns the steps of a pod in the order in which they started, including those in progress. */
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
    const marked: Draft = { step, startedAtMs: atMs, endedAtMs: atMs, outcome };
    if (target !== undefined) marked.target = target;
    if (message !== undefined && message !== '') marked.message = shortened(message);
    this.#put(uid, keyOf(step, target), marked);
  }

  begin(uid: string, step: PodStepName, { target, message }: StepDetail = {}): EndStep {
    const key = keyOf(step, target);
    const before = this.#pods.get(uid)?.get(key);
    const failingSinceMs = before?.step.failingSinceMs;
    const begun: Draft = { step, startedAtMs: this.#clock.now() };
    if (target !== undefined) begun.target = target;
    if (message !== undefined) begun.message = shortened(message);
    if (failingSinceMs !== undefined) begun.failingSinceMs = failingSinceMs;
    const entry = this.#put(uid, key, begun);
    if (entry === undefined) return () => undefined;
    return (failure) => {
      const steps = this.#pods.get(uid);
      // Ignores the end of a step that was started again in the meantime, or whose pod was forgotten.
      if (steps?.get(key) !== entry) return;
      const hasFailed = failure !== undefined && failure.cancelled !== true;
      if (!hasFailed && before?.step.outcome === 'done' && REPEATED_STEPS.has(step)) {
        steps.set(key, before);
        return;
      }
      steps.set(key, { order: entry.order, step: endedStep(entry.step, failure, this.#clock.now()) });
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

  /**
   * Stores a step as the newest one. @returns the stored step; `undefined` if the journal keeps no steps for the pod
   */
  #put(uid: string, key: string, step: Draft): Kept | undefined {
    const steps = this.#pods.get(uid);
    if (steps === undefined) return undefined;
    const before = steps.get(key);
    this.#order += 1;
    const kept = { order: this.#order, step };
    if (before !== undefined) {
      step.times = (before.step.times ?? 1) + 1;
      // The step is inserted again at the end of the map, so that the map's first entry is the least recently updated
      // one.
      steps.delete(key);
    }
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
    // All kept steps are in progress, which no real pod has enough containers for. Removing the first step still keeps
    // the bound.
    steps.delete(steps.keys().next().value ?? '');
  }
}

/** Journal that records nothing, for components created without a journal. */
export const noJournal: PodJournalPort = {
  mark() {},
  begin: () => () => undefined,
  during: (_uid, _step, _detail, work) => work(),
};

function endedStep(begun: PodStep, failure: Parameters<EndStep>[0], endedAtMs: number): PodStep {
  const ended: Draft = { ...begun, endedAtMs, outcome: 'done' };
  if (failure?.cancelled) ended.outcome = 'cancelled';
  else if (failure !== undefined) {
    ended.outcome = 'failed';
    ended.failingSinceMs ??= begun.startedAtMs;
    const message = shortened(reasonOf(failure.error));
    if (message !== '') ended.message = message;
  } else delete ended.failingSinceMs;
  return ended;
}

/**
 * Returns the error's `explanation`, if it has one, instead of its message, which may have to keep upstream's wording.
 */
function reasonOf(error: unknown): string {
  const explained = error instanceof Error && 'explanation' in error ? error.explanation : undefined;
  return typeof explained === 'string' ? explained : errorText(error);
}

/** Copies the shortened text, because a substring would keep the whole original in memory. */
function shortened(text: string): string {
  return text.length <= MAX_MESSAGE ? text : Buffer.from(text.slice(0, MAX_MESSAGE)).toString();
}

function keyOf(step: PodStepName, target = ''): string {
  return `${step} ${target}`;
}
