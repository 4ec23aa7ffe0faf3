import { AdmissionResults } from '../admit/admission-results.ts';
import { Admissions } from '../admit/admissions.ts';
import type { AllocationPort } from '../admit/allocation.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PodJournal } from '../explain/pod-journal.ts';
import { ActivePods } from '../pods/active-pods.ts';
import type { PodWorkersPort } from '../ports.ts';
import { EarlyTerminations } from './early-terminations.ts';
import type { HousekeepingMetrics } from './housekeeping-metrics.ts';
import type { PodCgroups } from './pod-cgroups.ts';
import { PodCleanups } from './pod-cleanups.ts';
import { SyncHandler } from './sync-handler.ts';
import { UidLifetimes } from './uid-lifetimes.ts';
import { WorkerUpdates } from './worker-updates.ts';

/** Components of {@link makeSyncParts}. */
export type SyncComponents = Pick<
  Dependencies,
  | 'clock'
  | 'logger'
  | 'metrics'
  | 'recorder'
  | 'podConfig'
  | 'podManager'
  | 'status'
  | 'runtime'
  | 'volumes'
  | 'containerGc'
  | 'podCache'
  | 'admitHandlers'
  | 'apiStatusChanged'
  | 'startup'
  | 'mirrorPods'
  | 'probes'
  | 'userNamespaces'
> & {
  readonly allocation: AllocationPort;
  readonly journal: Pick<PodJournal, keyof PodJournal>;
  readonly workers: PodWorkersPort;
  readonly podCgroups: Pick<PodCgroups, 'removeOrphans'>;
  readonly housekeepingMetrics: HousekeepingMetrics;
};

/** Parts that handle the items of the sync loop; they share the pods in admission, the active pods and the UIDs. */
export interface SyncParts {
  readonly handler: SyncHandler;
  readonly cleanups: PodCleanups;
  /** Terminations that are allowed before all pod sources are ready. */
  readonly early: EarlyTerminations;
  readonly updates: WorkerUpdates;
  readonly admissions: Admissions;
  readonly active: ActivePods;
}

/** Makes the parts that handle the items of the sync loop. */
export function makeSyncParts(components: SyncComponents): SyncParts {
  const uids = new UidLifetimes(components);
  // A function, because the two objects need each other: admission decides which pods may have a worker, and a decision
  // updates the worker.
  const isUndecided = (uid: string): boolean => admissions.isUndecided(uid);
  const active = new ActivePods({ ...components, isUndecided });
  const updates = new WorkerUpdates({ ...components, uids, isUndecided });
  const results = new AdmissionResults({ ...components, active, updates });
  const admissions: Admissions = new Admissions({
    clock: components.clock,
    handlers: components.admitHandlers,
    journal: components.journal,
    activePods: () => active.list(),
    results,
  });
  const early = new EarlyTerminations({ ...components, killOrphan: (pod) => updates.killOrphan(pod) });
  const parts = { updates, admissions, active, early };
  const cleanups = new PodCleanups({ ...components, ...parts, uids });
  const handler = new SyncHandler({ ...components, ...parts, uids });
  return { ...parts, cleanups, handler };
}
