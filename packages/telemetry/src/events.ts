/** Object that an event is about, as in the API's ObjectReference. A container is its pod with a `fieldPath`. */
export interface ObjectReference {
  readonly kind: string;
  readonly apiVersion?: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  /** Version of the object that the reporter knew when the event happened. */
  readonly resourceVersion?: string;
  /** Set for a container: `spec.containers{name}`, `spec.initContainers{name}` or `spec.ephemeralContainers{name}`. */
  readonly fieldPath?: string;
}

/** `Warning` marks events that need a user's attention. */
export type EventType = 'Normal' | 'Warning';

/** Receives the events that managers report to users. Never blocks and never throws. */
export interface EventRecorder {
  /**
   * @param reason a CamelCase reason for programs; see {@link eventReasons}
   * @param annotations additional data for programs
   */
  event(
    object: ObjectReference,
    type: EventType,
    reason: string,
    message: string,
    annotations?: Readonly<Record<string, string>>,
  ): void;
}

/** A recorder that drops all events. */
export const noEvents: EventRecorder = { event() {} };

/** Event reasons of the kubelet, with upstream's values (`pkg/kubelet/events/event.go`). */
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
  volumeResizeFailed: 'VolumeResizeFailed',
  fileSystemResizeFailed: 'FileSystemResizeFailed',
  fileSystemResizeSuccess: 'FileSystemResizeSuccessful',
  failedMapVolume: 'FailedMapVolume',
  failedMountOnFilesystemMismatch: 'FailedMountOnFilesystemMismatch',
  alreadyMountedVolume: 'AlreadyMountedVolume',
  volumePermissionChangeInProgress: 'VolumePermissionChangeInProgress',
  volumeConditionAbnormal: 'VolumeConditionAbnormal',
  sandboxChanged: 'SandboxChanged',
  failedCreatePodSandBox: 'FailedCreatePodSandBox',
  failedPrepareDynamicResources: 'FailedPrepareDynamicResources',
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
