/** What an event is about, as the API's ObjectReference. A container is its pod with a `fieldPath`. */
export interface ObjectReference {
  readonly kind: string;
  readonly apiVersion?: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  /** The version of the object that was at hand when it happened. */
  readonly resourceVersion?: string;
  /** For a container: `spec.containers{name}`, `spec.initContainers{name}` or `spec.ephemeralContainers{name}`. */
  readonly fieldPath?: string;
}

/** `Warning` is something a user should look at. */
export type EventType = 'Normal' | 'Warning';

/** Where managers tell users what happened. Never blocks, never throws. */
export interface EventRecorder {
  /**
   * @param reason a CamelCase word for programs; see {@link eventReasons}
   * @param annotations what programs are to know beside it
   */
  event(
    object: ObjectReference,
    type: EventType,
    reason: string,
    message: string,
    annotations?: Readonly<Record<string, string>>,
  ): void;
}

/** A recorder that drops everything. */
export const noEvents: EventRecorder = { event() {} };

/** The reasons of the kubelet's events, as upstream words them (`pkg/kubelet/events/event.go`). */
export const eventReasons = {
  createdContainer: 'Created',
  startedContainer: 'Started',
  failedToCreateContainer: 'Failed',
  failedToStartContainer: 'Failed',
  killingContainer: 'Killing',
  preemptContainer: 'Preempting',
  backOffStartContainer: 'BackOff',
  exceededGracePeriod: 'ExceededGracePeriod',
  failedToKillPod: 'FailedKillPod',
  failedToCreatePodContainer: 'FailedCreatePodContainer',
  failedToMakePodDataDirectories: 'Failed',
  networkNotReady: 'NetworkNotReady',
  pullingImage: 'Pulling',
  pulledImage: 'Pulled',
  failedToPullImage: 'Failed',
  failedToInspectImage: 'InspectFailed',
  errImageNeverPullPolicy: 'ErrImageNeverPull',
  backOffPullImage: 'BackOff',
  nodeReady: 'NodeReady',
  nodeNotReady: 'NodeNotReady',
  nodeRebooted: 'Rebooted',
  startingKubelet: 'Starting',
  kubeletSetupFailed: 'KubeletSetupFailed',
  failedAttachVolume: 'FailedAttachVolume',
  failedMountVolume: 'FailedMount',
  failedMountOnFilesystemMismatch: 'FailedMountOnFilesystemMismatch',
  alreadyMountedVolume: 'AlreadyMountedVolume',
  volumePermissionChangeInProgress: 'VolumePermissionChangeInProgress',
  sandboxChanged: 'SandboxChanged',
  failedCreatePodSandBox: 'FailedCreatePodSandBox',
  failedStatusPodSandBox: 'FailedPodSandBoxStatus',
  containerUnhealthy: 'Unhealthy',
  containerProbeWarning: 'ProbeWarning',
  failedSync: 'FailedSync',
  failedValidation: 'FailedValidation',
  failedPostStartHook: 'FailedPostStartHook',
  failedPreStopHook: 'FailedPreStopHook',
  resizeDeferred: 'ResizeDeferred',
  resizeInfeasible: 'ResizeInfeasible',
  resizeStarted: 'ResizeStarted',
  resizeCompleted: 'ResizeCompleted',
  resizeError: 'ResizeError',
  failedNodeDeclaredFeaturesCheck: 'FailedNodeDeclaredFeaturesCheck',
  freeDiskSpaceFailed: 'FreeDiskSpaceFailed',
  containerGcFailed: 'ContainerGCFailed',
  imageGcFailed: 'ImageGCFailed',
  invalidImageId: 'InvalidImageID',
  invalidDiskCapacity: 'InvalidDiskCapacity',
  evicted: 'Evicted',
  evictionThresholdMet: 'EvictionThresholdMet',
  systemOom: 'SystemOOM',
  nodeShutdown: 'Shutdown',
} as const;
