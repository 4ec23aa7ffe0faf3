import { type Pod, podReference } from '@node-agent/pod-spec';
import type { Dependencies } from '../dependencies.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { HousekeepingMetrics } from '../sync/housekeeping-metrics.ts';
import type { WorkerUpdates } from '../sync/worker-updates.ts';
import type { Refusal } from './admit-handler.ts';
import type { AllocationPort } from './allocation.ts';
import { rejectedStatus } from './rejected-status.ts';

interface Components extends Pick<Dependencies, 'recorder' | 'podManager' | 'status'> {
  readonly allocation: Pick<AllocationPort, 'allocate' | 'added'>;
  readonly active: Pick<ActivePods, 'add'>;
  readonly updates: Pick<WorkerUpdates, 'update' | 'syncUids' | 'retryResizes'>;
  readonly housekeepingMetrics: Pick<HousekeepingMetrics, 'rejected'>;
}

/** Starts the pods that admission has admitted, and fails the pods that admission has rejected. */
export class AdmissionResults {
  readonly #components: Components;

  constructor(components: Components) {
    this.#components = components;
  }

  /** Starts an admitted pod in its current version, which may have changed during admission. */
  admitted(asked: Pod): void {
    const { podManager, allocation, active, updates } = this.#components;
    const { uid } = asked.metadata;
    const { pod = asked, mirrorPod } = podManager.getPodAndMirrorPod(podManager.getPodByUid(uid) ?? asked);
    allocation.allocate(asked);
    active.add(uid);
    updates.update('create', pod, mirrorPod);
    updates.syncUids(allocation.added([pod]));
  }

  /** Records an event, counts the rejection, and sets the pod's phase to Failed with the reason. */
  rejected(pod: Pod, { reason, message }: Refusal): void {
    const { recorder, status, housekeepingMetrics, updates } = this.#components;
    recorder.event(podReference(pod), 'Warning', reason, message);
    housekeepingMetrics.rejected(reason);
    status.setPodStatus(pod, rejectedStatus(pod, { reason, message }));
    // Resources that admission had reserved for the rejected pod are free again, so pending resizes may fit now.
    updates.retryResizes('pods_removed');
  }
}
