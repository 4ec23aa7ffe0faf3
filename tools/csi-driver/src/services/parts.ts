import type { FaultGate } from '../faults/fault-gate.ts';
import type { DriverOptions } from '../options/driver-options.ts';
import type { StateStore } from '../state/state-store.ts';
import type { ContentStore } from '../storage/content.ts';
import type { VolumeMounts } from '../storage/volume-mounts.ts';

/** Parts of the driver that its services share. */
export interface Parts {
  readonly options: DriverOptions;
  readonly store: StateStore;
  readonly content: ContentStore;
  readonly mounts: VolumeMounts;
  readonly gate: FaultGate;
  /** Current time in ms since 1970. */
  readonly now: () => number;
  /** Returns a new ID of a volume or snapshot. */
  readonly newId: () => string;
}
