import { type Clock, type LinkedAbort, linkAbort, type Timer } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type EndStep, noJournal, type PodJournalPort } from '../explain/pod-journal.ts';
import type { AdmissionResults } from './admission-results.ts';
import type { AdmitHandler, AdmitResult } from './admit-handler.ts';
import { admitPod, confirmAll, isPromise, releaseAll, whenSettled } from './admit-pod.ts';

/**
 * Time in ms after which the evaluation of a pod is overdue: a device plugin hangs, or the pod waits for another pod that
 * terminates.
 */
const OVERDUE_MS = 10_000;

/** Components of {@link Admissions}. */
export interface AdmissionsComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Admit handlers, in the order in which they are called. */
  readonly handlers: readonly AdmitHandler[];
  /** Returns the admitted pods that hold resources of the node (N1), without pods in admission. */
  readonly activePods: () => readonly Pod[];
  /** Starts admitted pods and fails rejected pods; {@link AdmissionResults} in a kubelet. */
  readonly results: Pick<AdmissionResults, 'admitted' | 'rejected'>;
  /** Journal that records the admission of each pod as a step. If absent, nothing is recorded. */
  readonly journal?: PodJournalPort;
}

/** A pod in admission. */
interface Applicant {
  readonly pod: Pod;
  readonly stop: LinkedAbort;
  /** Ends the pod's `Admission` step in the journal. */
  readonly decided: EndStep;
  /**
   * Whether an admit handler is evaluating the pod. If not, the pod waits for the decision about an older applicant.
   */
  isEvaluating: boolean;
  /** Whether the present evaluation is overdue, so that younger pods no longer wait for its decision. */
  isOverdue: boolean;
  /**
   * Whether other pods are being preempted for the pod. The preempted pods hold their resources until they have
   * terminated.
   */
  recovering: boolean;
}

/** Decision about a pod. `final`: no decision about other pods can change it. */
type Decision = AdmitResult & { readonly final: boolean };

/** Counts at the beginning of a pod's evaluation, which later show whether the evaluation is outdated. */
interface Beginning {
  /** Number of pods that had been decided. */
  readonly decisions: number;
  /** Number of pods that had been admitted before an overdue older pod. */
  readonly overtakes: number;
}

/**
 * Admits new pods concurrently. The result is the same as if the pods were admitted one after another in order of
 * arrival. A slow admission does not delay other pods (C7): an admit handler may query a device plugin or preempt pods.
 * Until the admission of an older pod is decided, a younger pod is evaluated as if the older pod had been admitted. If
 * the younger pod would be rejected only because of the older pod's resources, the younger pod waits for the decision
 * about the older pod. If the evaluation of the older pod is overdue, the younger pod no longer waits and may be admitted
 * first: a device plugin that hangs, or a pod that waits for the API server, must not keep other pods from running (W6,
 * F4). The older pod is then evaluated again before it is admitted.
 */
export class Admissions {
  readonly #components: AdmissionsComponents;
  /** Pods in admission, oldest first. */
  readonly #undecided = new Map<string, Applicant>();
  /** UIDs of withdrawn pods that a handler is still evaluating. */
  readonly #withdrawn = new Set<string>();
  #decisions = 0;
  #overtakes = 0;

  constructor(components: AdmissionsComponents) {
    this.#components = components;
  }

  /** Returns whether the pod is still in admission. A pod that is still in admission must not get a pod worker. */
  isUndecided(uid: string): boolean {
    return this.#undecided.has(uid);
  }

  /** Returns the pods in admission, oldest first. */
  applicants(): readonly Pod[] {
    return [...this.#undecided.values()].map(({ pod }) => pod);
  }

  /**
   * Starts the admission of pods that arrive together, in the order of the list. No pod holds resources before its
   * admission is decided. If no handler has to wait, all pods are admitted or rejected when this method returns.
   * @param signal cancels the admission without a decision
   */
  admit(pods: readonly Pod[], signal: AbortSignal): void {
    const { journal = noJournal } = this.#components;
    const applicants = pods.map((pod): Applicant => {
      const decided = journal.begin(pod.metadata.uid, 'Admission');
      return { pod, stop: linkAbort(signal), decided, isEvaluating: false, isOverdue: false, recovering: false };
    });
    for (const applicant of applicants) this.#undecided.set(applicant.pod.metadata.uid, applicant);
    for (const applicant of applicants) {
      // An earlier pod of the list may have been decided synchronously, and that decision may have led to a decision
      // about this pod.
      if (this.#isWaiting(applicant)) this.#evaluate(applicant);
    }
  }

  /**
   * Cancels the admission of a pod that was removed or must terminate.
   * @returns whether the pod was in admission
   */
  withdraw(uid: string): boolean {
    const applicant = this.#undecided.get(uid);
    if (applicant === undefined) return false;
    this.#forget(applicant);
    if (applicant.isEvaluating) this.#withdrawn.add(uid);
    const reason = new Error('pod admission was withdrawn');
    applicant.decided({ error: reason, cancelled: true });
    applicant.stop.abort(reason);
    this.#evaluateWaiting();
    return true;
  }

  #evaluate(applicant: Applicant): void {
    applicant.isEvaluating = true;
    const beginning = { decisions: this.#decisions, overtakes: this.#overtakes };
    const overtaken = this.#before(applicant.pod).filter(isPassable);
    const decision = this.#decide(applicant, overtaken);
    const timer = isPromise(decision) ? this.#whenOverdue(applicant) : undefined;
    whenSettled(decision, (settled) => {
      timer?.cancel();
      this.#settle(applicant, settled, beginning, overtaken);
    });
  }

  #whenOverdue(applicant: Applicant): Timer {
    return this.#components.clock.setTimer(OVERDUE_MS, () => {
      applicant.isOverdue = true;
      this.#evaluateWaiting();
    });
  }

  /** @param overtaken older pods that were overdue when the evaluation began, and were left out of account */
  #settle(applicant: Applicant, decision: Decision, beginning: Beginning, overtaken: readonly Applicant[]): void {
    const { pod, stop } = applicant;
    const { uid } = pod.metadata;
    applicant.isEvaluating = false;
    applicant.isOverdue = false;
    applicant.recovering = false;
    if (stop.signal.aborted) {
      if (decision.admit) releaseAll(this.#components.handlers, pod);
      if (this.#undecided.get(uid) === applicant) this.#forget(applicant);
      // A pod that came back under the UID is evaluated only now, because the handlers know pods by their UIDs.
      if (this.#withdrawn.delete(uid)) this.#evaluateWaiting();
      return;
    }
    const isLater = this.#decisions !== beginning.decisions;
    if (!decision.final) {
      // Other pods may have been decided while this pod was evaluated. In this case, no later decision may evaluate the
      // pod again.
      if (isLater || this.#before(pod).every(isPassable)) this.#evaluate(applicant);
      return;
    }
    const isOutdated = this.#overtakes !== beginning.overtakes || (isLater && overtaken.length > 0);
    if (decision.admit && isOutdated) {
      releaseAll(this.#components.handlers, pod);
      this.#evaluate(applicant);
      return;
    }
    this.#forget(applicant);
    if (decision.admit && overtaken.length > 0) this.#overtakes += 1;
    applicant.decided(decision.admit ? undefined : { error: `${decision.reason}: ${decision.message}` });
    if (decision.admit) {
      confirmAll(this.#components.handlers, pod);
      this.#components.results.admitted(pod);
    } else {
      this.#components.results.rejected(pod, { admit: false, reason: decision.reason, message: decision.message });
    }
    this.#evaluateWaiting();
  }

  /**
   * Evaluates the waiting pods again after a decision, oldest first, because each may take resources that the next one
   * needs.
   */
  #evaluateWaiting(): void {
    for (const applicant of [...this.#undecided.values()]) {
      if (!applicant.stop.signal.aborted && this.#isWaiting(applicant)) this.#evaluate(applicant);
    }
  }

  /** Returns whether a pod in admission is not being evaluated. */
  #isWaiting(applicant: Applicant): boolean {
    const { uid } = applicant.pod.metadata;
    return !applicant.isEvaluating && !this.#withdrawn.has(uid) && this.#undecided.get(uid) === applicant;
  }

  /**
   * Decides about a pod. A rejection is final if the pod would be rejected even if none of the older applicants were
   * admitted. No pod is preempted for an applicant before the older applicants are decided. While pods are preempted
   * for an older applicant, no younger one is rejected, because resources are about to become free.
   * @param overtaken older applicants that are left out of account
   */
  #decide(applicant: Applicant, overtaken: readonly Applicant[]): Decision | Promise<Decision> {
    const { handlers, activePods } = this.#components;
    const { pod, stop } = applicant;
    const { signal } = stop;
    const older = (): readonly Applicant[] => this.#before(pod).filter((one) => !overtaken.includes(one));
    if (older().length === 0) {
      const onRecovery = (): void => {
        applicant.recovering = true;
      };
      return whenSettled(admitPod(handlers, pod, activePods, signal, onRecovery), (result) => ({
        ...result,
        final: true,
      }));
    }
    const withOlder = (): readonly Pod[] => [...activePods(), ...older().map((one) => one.pod)];
    return whenSettled(admitPod(handlers, pod, withOlder, signal), (result) => {
      if (result.admit) return { ...result, final: true };
      if (older().some(({ recovering }) => recovering)) return { ...result, final: false };
      return whenSettled(admitPod(handlers, pod, activePods, signal), (alone) => {
        if (alone.admit) releaseAll(handlers, pod);
        return { ...result, final: !alone.admit && alone.recover === undefined };
      });
    });
  }

  /** Returns the pods in admission that are older than the pod. */
  #before(pod: Pod): readonly Applicant[] {
    const before: Applicant[] = [];
    for (const [uid, applicant] of this.#undecided) {
      if (uid === pod.metadata.uid) break;
      before.push(applicant);
    }
    return before;
  }

  #forget({ pod, stop }: Applicant): void {
    this.#decisions += 1;
    this.#undecided.delete(pod.metadata.uid);
    stop[Symbol.dispose]();
  }
}

/**
 * Returns whether younger pods may be admitted first. They may not while pods are preempted for the applicant, because
 * these pods terminate for the applicant.
 */
function isPassable({ isOverdue, recovering }: Applicant): boolean {
  return isOverdue && !recovering;
}
