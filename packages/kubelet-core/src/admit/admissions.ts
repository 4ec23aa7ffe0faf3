import { type LinkedAbort, linkAbort } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type EndStep, noJournal, type PodJournalPort } from '../explain/pod-journal.ts';
import type { AdmissionResults } from './admission-results.ts';
import type { AdmitHandler, AdmitResult } from './admit-handler.ts';
import { admitPod, confirmAll, releaseAll, whenSettled } from './admit-pod.ts';

/** Components of {@link Admissions}. */
export interface AdmissionsComponents {
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
  /**
   * Whether other pods are being preempted for the pod. The preempted pods hold their resources until they have
   * terminated.
   */
  recovering: boolean;
}

/** Decision about a pod. `final`: no decision about other pods can change it. */
type Decision = AdmitResult & { readonly final: boolean };

/**
 * Admits new pods concurrently. The result is the same as if the pods were admitted one after another in order of
 * arrival. A slow admission does not delay other pods (C7): an admit handler may query a device plugin or preempt pods.
 * Until the admission of an older pod is decided, a younger pod is evaluated as if the older pod had been admitted. If
 * the younger pod would be rejected only because of the older pod's resources, the younger pod waits for the decision
 * about the older pod.
 */
export class Admissions {
  readonly #components: AdmissionsComponents;
  /** Pods in admission, oldest first. */
  readonly #undecided = new Map<string, Applicant>();

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
      return { pod, stop: linkAbort(signal), decided, isEvaluating: false, recovering: false };
    });
    for (const applicant of applicants) this.#undecided.set(applicant.pod.metadata.uid, applicant);
    for (const applicant of applicants) {
      // An earlier pod of the list may have been decided synchronously, and that decision may have led to a decision
      // about this pod.
      const isNext = !applicant.isEvaluating && this.#undecided.get(applicant.pod.metadata.uid) === applicant;
      if (isNext) this.#evaluate(applicant);
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
    const reason = new Error('pod admission was withdrawn');
    applicant.decided({ error: reason, cancelled: true });
    applicant.stop.abort(reason);
    this.#evaluateWaiting();
    return true;
  }

  #evaluate(applicant: Applicant): void {
    applicant.isEvaluating = true;
    const decision = this.#decide(applicant);
    whenSettled(decision, (settled) => this.#settle(applicant, settled));
  }

  #settle(applicant: Applicant, decision: Decision): void {
    const { pod, stop } = applicant;
    applicant.isEvaluating = false;
    applicant.recovering = false;
    if (stop.signal.aborted) {
      if (decision.admit) releaseAll(this.#components.handlers, pod);
      if (this.#undecided.get(pod.metadata.uid) === applicant) this.#forget(applicant);
      return;
    }
    if (!decision.final) {
      // All older applicants may have been decided while this pod was evaluated. In this case, no later decision
      // evaluates the pod again.
      if (this.#older(pod).length === 0) this.#evaluate(applicant);
      return;
    }
    this.#forget(applicant);
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
      const { isEvaluating, stop, pod } = applicant;
      const isWaiting = !isEvaluating && !stop.signal.aborted && this.#undecided.get(pod.metadata.uid) === applicant;
      if (isWaiting) this.#evaluate(applicant);
    }
  }

  /**
   * Decides about a pod. A rejection is final if the pod would be rejected even if none of the older applicants were
   * admitted. No pod is preempted for an applicant before the older applicants are decided. While pods are preempted
   * for an older applicant, no younger one is rejected, because resources are about to become free.
   */
  #decide(applicant: Applicant): Decision | Promise<Decision> {
    const { handlers, activePods } = this.#components;
    const { pod, stop } = applicant;
    const { signal } = stop;
    const active = activePods();
    const older = this.#older(pod);
    if (older.length === 0) {
      const onRecovery = (): void => {
        applicant.recovering = true;
      };
      return whenSettled(admitPod(handlers, pod, active, signal, onRecovery), (result) => ({ ...result, final: true }));
    }
    const withOlder = [...active, ...older.map((one) => one.pod)];
    return whenSettled(admitPod(handlers, pod, withOlder, signal), (result) => {
      if (result.admit) return { ...result, final: true };
      if (older.some(({ recovering }) => recovering)) return { ...result, final: false };
      return whenSettled(admitPod(handlers, pod, active, signal), (alone) => {
        if (alone.admit) releaseAll(handlers, pod);
        return { ...result, final: !alone.admit && alone.recover === undefined };
      });
    });
  }

  #older(pod: Pod): readonly Applicant[] {
    const older: Applicant[] = [];
    for (const [uid, applicant] of this.#undecided) {
      if (uid === pod.metadata.uid) break;
      older.push(applicant);
    }
    return older;
  }

  #forget({ pod, stop }: Applicant): void {
    this.#undecided.delete(pod.metadata.uid);
    stop[Symbol.dispose]();
  }
}
