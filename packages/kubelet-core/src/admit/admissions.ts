import { type LinkedAbort, linkAbort } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type EndStep, noJournal, type PodJournalPort } from '../explain/pod-journal.ts';
import type { AdmitHandler, AdmitResult, Refusal } from './admit-handler.ts';
import { admitPod, answered, confirmAll, releaseAll } from './admit-pod.ts';

/** Whom {@link Admissions} asks and tells. */
export interface AdmissionsComponents {
  /** Asked in this order. */
  readonly handlers: readonly AdmitHandler[];
  /** The pods that are admitted and hold resources of the node (N1), none about which nothing is decided among them. */
  readonly activePods: () => readonly Pod[];
  readonly onAdmitted: (pod: Pod) => void;
  readonly onRefused: (pod: Pod, refusal: Refusal) => void;
  /** Nothing is noted where absent. */
  readonly journal?: PodJournalPort;
}

/** A pod about which nothing is decided. */
interface Applicant {
  readonly pod: Pod;
  readonly stop: LinkedAbort;
  /** Notes how it was decided. */
  readonly decided: EndStep;
  /** A handler is at work on it; where none is, it waits for an older applicant to be decided. */
  asking: boolean;
  /** Others are being ended for it: they hold their resources until they are gone. */
  recovering: boolean;
}

/** `final`: whatever is decided about others will not change it. */
type Decision = AdmitResult & { readonly final: boolean };

/**
 * Decides about new pods, as if they were asked for one after another in the order in which they came, without one that takes
 * its time holding the others up (C7): a handler may look something up, ask a device plugin or end other pods. Meanwhile a younger
 * pod is asked for as if the older one had been admitted; where it would be refused only because of that, it waits until the
 * older one is decided.
 */
export class Admissions {
  readonly #components: AdmissionsComponents;
  /** The oldest first. */
  readonly #undecided = new Map<string, Applicant>();

  constructor(components: AdmissionsComponents) {
    this.#components = components;
  }

  /** Whether nothing is decided about the pod yet: it must not be given a worker. */
  isUndecided(uid: string): boolean {
    return this.#undecided.has(uid);
  }

  /** Those about which nothing is decided, the oldest first. */
  applicants(): readonly Pod[] {
    return [...this.#undecided.values()].map(({ pod }) => pod);
  }

  /**
   * Asks for a pod. Where no handler has to wait for anything, it is decided when this returns.
   * @param signal ends the asking: nothing is decided then
   */
  ask(pod: Pod, signal: AbortSignal): void {
    this.askAll([pod], signal);
  }

  /** As {@link ask}, for pods that come at once, in this order: none of them holds anything until it is decided. */
  askAll(pods: readonly Pod[], signal: AbortSignal): void {
    const { journal = noJournal } = this.#components;
    const applicants = pods.map((pod): Applicant => {
      const decided = journal.begin(pod.metadata.uid, 'Admission');
      return { pod, stop: linkAbort(signal), decided, asking: false, recovering: false };
    });
    for (const applicant of applicants) this.#undecided.set(applicant.pod.metadata.uid, applicant);
    for (const applicant of applicants) {
      // One before it may have been decided at once, and it after that.
      const isNext = !applicant.asking && this.#undecided.get(applicant.pod.metadata.uid) === applicant;
      if (isNext) this.#consider(applicant);
    }
  }

  /** The pod is not to be decided about any more: it is gone, or is to end. @returns whether it was undecided */
  withdraw(uid: string): boolean {
    const applicant = this.#undecided.get(uid);
    if (applicant === undefined) return false;
    this.#forget(applicant);
    const reason = new Error('the pod is not to be admitted any more');
    applicant.decided({ error: reason, cancelled: true });
    applicant.stop.abort(reason);
    this.#considerWaiting();
    return true;
  }

  #consider(applicant: Applicant): void {
    applicant.asking = true;
    const decision = this.#decide(applicant);
    answered(decision, (settled) => this.#settle(applicant, settled));
  }

  #settle(applicant: Applicant, decision: Decision): void {
    const { pod, stop } = applicant;
    applicant.asking = false;
    applicant.recovering = false;
    if (stop.signal.aborted) {
      if (decision.admit) releaseAll(this.#components.handlers, pod);
      if (this.#undecided.get(pod.metadata.uid) === applicant) this.#forget(applicant);
      return;
    }
    if (!decision.final) {
      // Whom it waits for may have been decided while it was asked for.
      if (this.#older(pod).length === 0) this.#consider(applicant);
      return;
    }
    this.#forget(applicant);
    applicant.decided(decision.admit ? undefined : { error: `${decision.reason}: ${decision.message}` });
    if (decision.admit) {
      confirmAll(this.#components.handlers, pod);
      this.#components.onAdmitted(pod);
    } else {
      this.#components.onRefused(pod, { admit: false, reason: decision.reason, message: decision.message });
    }
    this.#considerWaiting();
  }

  /** Those that wait for somebody who is decided now, the oldest first, as each may take what the next one wants. */
  #considerWaiting(): void {
    for (const applicant of [...this.#undecided.values()]) {
      const { asking, stop, pod } = applicant;
      const isWaiting = !asking && !stop.signal.aborted && this.#undecided.get(pod.metadata.uid) === applicant;
      if (isWaiting) this.#consider(applicant);
    }
  }

  /**
   * A refusal is final where the pod would not be admitted even if none of the older applicants were. Nobody is ended for a pod before
   * those are decided; and while others are ended for one of them, nobody is refused for what is about to become free.
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
      return answered(admitPod(handlers, pod, active, signal, onRecovery), (result) => ({ ...result, final: true }));
    }
    const besideOlder = [...active, ...older.map((one) => one.pod)];
    return answered(admitPod(handlers, pod, besideOlder, signal), (beside) => {
      if (beside.admit) return { ...beside, final: true };
      if (older.some(({ recovering }) => recovering)) return { ...beside, final: false };
      return answered(admitPod(handlers, pod, active, signal), (alone) => {
        if (alone.admit) releaseAll(handlers, pod);
        return { ...beside, final: !alone.admit && alone.recover === undefined };
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
