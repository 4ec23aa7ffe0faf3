import { isTerminalPhase, type Pod } from '@node-agent/pod-spec';
import type { AllocationPort } from '../admit/allocation.ts';
import type { PodManagerPort, PodWorkersPort, StatusPort } from '../ports.ts';
import { isActive, type PodHolding, staysInactive } from './active-pod.ts';

interface Components {
  readonly podManager: Pick<PodManagerPort, 'getPodByUid'>;
  readonly status: Pick<StatusPort, 'getPodStatus'>;
  readonly workers: Pick<PodWorkersPort, 'isPodKnownTerminated' | 'isPodTerminationRequested'>;
  readonly allocation: Pick<AllocationPort, 'allocated' | 'hasAllocation'>;
  /** Returns whether the pod is still in admission. */
  readonly isUndecided: (uid: string) => boolean;
}

/**
 * Finds the pods that hold resources of the node (`GetActivePods` in `pkg/kubelet/kubelet_pods.go`). Every admission
 * needs the active pods, so thousands of terminated or rejected pods must not be checked each time.
 */
export class ActivePods {
  readonly #components: Components;
  /** UIDs of the pods that may be active. */
  readonly #candidates = new Set<string>();

  constructor(components: Components) {
    this.#components = components;
  }

  /** Notes that the pod may be active from now on. */
  add(uid: string): void {
    this.#candidates.add(uid);
  }

  /**
   * Notes that a pod of a source may be active, unless it has finished and has no allocation: such a pod holds nothing,
   * and a node may have thousands of them.
   */
  consider({ metadata: { uid }, status }: Pod): void {
    if (!isTerminalPhase(status?.phase) || this.#components.allocation.hasAllocation(uid)) this.add(uid);
  }

  /**
   * Returns the pods that hold resources of the node, with their allocated resources: admitted, not terminal, not
   * finished (N1).
   */
  list(): readonly Pod[] {
    const { podManager, allocation } = this.#components;
    const active: Pod[] = [];
    for (const uid of this.#candidates) {
      const pod = podManager.getPodByUid(uid);
      const holding = pod && this.#holding(pod);
      if (pod === undefined || holding === undefined) this.#candidates.delete(uid);
      else if (isActive(pod, holding)) active.push(allocation.allocated(pod));
      else if (staysInactive(pod, holding)) this.#candidates.delete(uid);
    }
    return active;
  }

  isActive(pod: Pod): boolean {
    return isActive(pod, this.#holding(pod));
  }

  #holding({ metadata: { uid } }: Pod): PodHolding {
    return new Holding(this.#components, uid);
  }
}

/** Looks up each fact when it is read, except the phase, which every rule needs. */
class Holding implements PodHolding {
  readonly phase: string | undefined;
  readonly #components: Components;
  readonly #uid: string;

  constructor(components: Components, uid: string) {
    this.#components = components;
    this.#uid = uid;
    this.phase = components.status.getPodStatus(uid)?.phase;
  }

  get isFinished(): boolean {
    return this.#components.workers.isPodKnownTerminated(this.#uid);
  }

  get isUndecided(): boolean {
    return this.#components.isUndecided(this.#uid);
  }

  get hasAllocation(): boolean {
    return this.#components.allocation.hasAllocation(this.#uid);
  }

  get isEnding(): boolean {
    return this.#components.workers.isPodTerminationRequested(this.#uid);
  }
}
