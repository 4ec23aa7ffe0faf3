import type { Timer } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import type { VolumeError } from '../errors.ts';
import type { BackOff } from './back-off.ts';
import type { Filling } from './freshness.ts';
import type { StagedVolume } from './node-volumes.ts';
import type { MountedVolume, SetUpState, UnansweredCall } from './plugin.ts';
import type { ResolvedVolume } from './resolved-volume.ts';
import type { CountedVolume } from './volume-metrics.ts';
import type { VolumeState } from './volume-state.ts';

/** Operations of a volume. A failed operation is called again. */
export interface VolumeActions {
  /** Name of the plugin, for metrics; `N/A` if there is none. */
  readonly pluginName: string;
  /** Whether calling `setUp` again updates the content. */
  readonly refreshes: boolean;
  /** Whether the volume is a block device. Default: false. */
  readonly isBlock?: boolean;
  /** Node-level part; absent if the volume belongs to the pod alone. */
  readonly node?: StagedVolume;
  /** Returns whether a ready volume is set up again at each sync of the pod. */
  republishes(volume: ResolvedVolume): boolean;
  /** Returns a call for this volume to which a driver has not responded; `undefined` if there is none. */
  unanswered(): UnansweredCall | undefined;
  setUp(pod: Pod, volume: ResolvedVolume, state: SetUpState, signal: AbortSignal): Promise<MountedVolume>;
  /** Removes the volume from the pod. @param pod the pod if it is known */
  tearDown(signal: AbortSignal, pod: Pod | undefined): Promise<void>;
  /** Expands the ready volume if that is due. If absent, the volume is never expanded. */
  expand?(pod: Pod, volume: ResolvedVolume, mounted: MountedVolume, signal: AbortSignal): Promise<void>;
}

/** Identifies a volume of a pod. */
export interface VolumeKey {
  readonly podUid: string;
  /** Name of the volume's directories in the pod's directory. */
  readonly directoryName: string;
  /** Identifier of the volume that is unique within the pod, and among the directories on disk. */
  readonly id: string;
}

/** A ready volume with its spec. */
export interface ReadyVolume extends MountedVolume {
  readonly resolved: ResolvedVolume;
}

/** State of one volume of one pod. */
export interface VolumeEntry extends VolumeKey {
  actions: VolumeActions;
  /**
   * Names by which the pod refers to the volume, with whether that reference is read-only. A volume has several names
   * if the pod refers to one PVC several times.
   */
  readonly wantedAs: Map<string, boolean>;
  wanted: boolean | undefined;
  /** Newest request of a pod for the volume. */
  request: { readonly pod: Pod; readonly volume: ResolvedVolume } | undefined;
  /** Pod that is being removed; `undefined` if it is not known. */
  removedPod: Pod | undefined;
  /** The pod from which the content was last written, or is being written. */
  filling: Filling | undefined;
  presence: VolumeState['presence'];
  /** Whether a former process left the volume on disk and this process has not set it up since. */
  isReconstructed: boolean;
  mounted: ReadyVolume | undefined;
  stale: boolean;
  /** Whether the volume must be expanded. */
  expands: boolean;
  busy: boolean;
  /** Whether this process has tried before to set up the volume. */
  isTried: boolean;
  readonly backOff: BackOff;
  /** Whether the volume waits until its node volume is staged. */
  waitsForNode: boolean;
  toldFailure: VolumeError | undefined;
  timer: Timer | undefined;
  /** State of the volume that the metrics currently count. */
  counted: CountedVolume | undefined;
  /**
   * Callbacks of waiting callers. The callbacks are called when an operation has finished, and when no operation is
   * due.
   */
  readonly waiters: Set<() => void>;
}

/** Creates the state of a volume before its first operation. */
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
    isReconstructed: presence === 'uncertain',
    backOff,
    wantedAs: new Map(),
    wanted: undefined,
    request: undefined,
    removedPod: undefined,
    filling: undefined,
    mounted: undefined,
    stale: false,
    expands: false,
    busy: false,
    isTried: false,
    waitsForNode: false,
    toldFailure: undefined,
    timer: undefined,
    counted: undefined,
    waiters: new Set(),
  };
}

/** Returns the names by which users know the volume. */
export function namesOf({ wantedAs, wanted, directoryName }: VolumeEntry): readonly string[] {
  return wanted && wantedAs.size > 0 ? [...wantedAs.keys()] : [directoryName];
}

/**
 * Returns whether callers need not wait for the volume: it is in its desired state, or its operation has failed and the
 * failure was not reset.
 */
export function isSettled({ wanted, presence, busy }: VolumeEntry, failure: VolumeError | undefined): boolean {
  if (wanted === undefined) return true;
  const hasFailed = failure !== undefined && !busy;
  return wanted ? presence === 'ready' || hasFailed : (presence === 'absent' && !busy) || hasFailed;
}
