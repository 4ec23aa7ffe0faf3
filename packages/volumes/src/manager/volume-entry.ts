import type { Timer } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import type { VolumeError } from '../errors.ts';
import type { BackOff } from './back-off.ts';
import type { Filling } from './freshness.ts';
import type { StagedVolume } from './node-volumes.ts';
import type { MountedVolume } from './plugin.ts';
import type { ResolvedVolume } from './resolved-volume.ts';
import type { CountedVolume } from './volume-metrics.ts';
import type { VolumeState } from './volume-state.ts';

/** What is done to a volume; each is called again after a failure. */
export interface VolumeActions {
  /** The plugin's name, for metrics; `N/A` where there is none. */
  readonly pluginName: string;
  /** Whether setting it up once more renews its content. */
  readonly refreshes: boolean;
  /** What of it is the node's; absent where it is the pod's alone. */
  readonly node?: StagedVolume;
  setUp(pod: Pod, volume: ResolvedVolume, signal: AbortSignal): Promise<MountedVolume>;
  tearDown(signal: AbortSignal): Promise<void>;
}

/** Which volume of which pod it is. */
export interface VolumeKey {
  readonly podUid: string;
  /** What its directories in the pod's are called. */
  readonly directoryName: string;
  /** Tells the volumes of a pod apart, on the disk too. */
  readonly id: string;
}

/** A volume that is ready, and what it was made from. */
export interface ReadyVolume extends MountedVolume {
  readonly resolved: ResolvedVolume;
}

/** One volume of one pod, as it is worked on. */
export interface VolumeEntry extends VolumeKey {
  actions: VolumeActions;
  /** What the pod calls it, and whether it is for reading only by that name: several where the pod names a claim several times. */
  readonly wantedAs: Map<string, boolean>;
  wanted: boolean | undefined;
  /** What it is wanted for: the newest that was said. */
  request: { readonly pod: Pod; readonly volume: ResolvedVolume } | undefined;
  /** What its content was made from last, or is being made from. */
  filling: Filling | undefined;
  presence: VolumeState['presence'];
  mounted: ReadyVolume | undefined;
  stale: boolean;
  busy: boolean;
  readonly backOff: BackOff;
  /** Whether it waits for its node volume to be staged, and the last failure of that which its pod was told of. */
  waitsForNode: boolean;
  toldFailure: VolumeError | undefined;
  timer: Timer | undefined;
  /** How it was counted last. */
  counted: CountedVolume | undefined;
  /** Called when an operation has ended, or it is clear that none is due. */
  readonly waiters: Set<() => void>;
}

/** One that nothing was done to yet. */
export function newEntry(
  key: VolumeKey,
  actions: VolumeActions,
  presence: VolumeState['presence'],
  backOff: BackOff,
): VolumeEntry {
  return {
    ...key,
    actions,
    presence,
    backOff,
    wantedAs: new Map(),
    wanted: undefined,
    request: undefined,
    filling: undefined,
    mounted: undefined,
    stale: false,
    busy: false,
    waitsForNode: false,
    toldFailure: undefined,
    timer: undefined,
    counted: undefined,
    waiters: new Set(),
  };
}

/** What people know it by. */
export function namesOf({ wantedAs, wanted, directoryName }: VolumeEntry): readonly string[] {
  return wanted && wantedAs.size > 0 ? [...wantedAs.keys()] : [directoryName];
}

/** Whether nothing of it is to be waited for: it is as it should be, or has failed and not been forgiven. */
export function isSettled({ wanted, presence, busy }: VolumeEntry, failure: VolumeError | undefined): boolean {
  if (wanted === undefined) return true;
  const hasFailed = failure !== undefined && !busy;
  return wanted ? presence === 'ready' || hasFailed : (presence === 'absent' && !busy) || hasFailed;
}
