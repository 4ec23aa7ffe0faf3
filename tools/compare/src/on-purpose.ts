/** Difference that is intended, or that is caused by the way of comparing. */
export interface Purpose {
  /** Matches `POD: PATH`. */
  readonly pattern: RegExp;
  /** Matches the Go kubelet's value as JSON. Without this pattern, every value matches. */
  readonly go?: RegExp;
  readonly why: string;
}

/** All known differences. A difference that matches no pattern is a bug in one of the two kubelets. */
export const onPurpose: readonly Purpose[] = [
  {
    pattern: /^restart-all: status\.containerStatuses\.\d\.lastState\./,
    why: 'upstream forgets how the container terminated that triggered the restart of all containers; this kubelet keeps it',
  },
  {
    pattern:
      /^(runtime-class-unknown|own-users(-and-volume)?|image-volume-(absent|never)): events\.\S+ Normal Pulled: /,
    why: 'upstream pulls images after it has created the sandbox and mounted all image volumes; this kubelet pulls them while the first sandbox is created',
  },
  {
    pattern: /^image-change: events\.\S+ Warning BackOff: Back-off restarting/,
    why: 'upstream treats a container whose new image cannot be pulled as crashing; here it only waits for its image',
  },
  {
    pattern: /^(deleted[a-z-]*|csi[a-z0-9-]*-deleted|sidecar-hooks|preempted): runtime\.[a-z-]+\/[a-z0-9]+$/,
    why: 'upstream removes the dead containers of a deleted or evicted pod immediately; this kubelet removes them in the next container garbage collection, within a minute',
  },
  {
    pattern: /^(deleted[a-z-]*|csi[a-z0-9-]*-deleted|sidecar-hooks): runtime\.[a-z-]+$/,
    go: /^\{/,
    why: 'this kubelet removes the sandbox of a deleted pod together with the pod; upstream removes it in the next sandbox garbage collection, which runs once a minute',
  },
  {
    pattern: /^preempted: runtime\.preempted$/,
    why: 'both kubelets remove the sandbox of an evicted pod in their next garbage collection, and these run at different times',
  },
  {
    pattern:
      /^(?!\S*-(refused|slow)\b)\S+: events\.\S+ Warning Unhealthy: .*(connection refused|\(Client\.Timeout|timed out after \d+s$)/,
    why: 'whether a probe fails because its server is not listening yet, or because the machine is overloaded, depends on timing; such failures are ignored unless the pod tests them',
  },
  {
    pattern:
      /^ready-exec-no-program: events\.\S+ Warning Unhealthy: .*(failed|errored and resulted in unknown state): rpc error/,
    why: 'a probe whose command cannot be run counts as a failure here, so that a liveness probe with a misspelt command restarts its container; upstream counts it for nothing (kubernetes#106682)',
  },
  {
    pattern: /^resize-crashing: status\.resources\./,
    why: "the result depends on the moment of the resize: upstream shows the values of the container's cgroup, and the resize does not change them for a container that is in back-off",
  },
  {
    pattern: /^deleted-while-crashing: (events|status\.containerStatuses\.0\.restarts)/,
    why: 'the result depends on the moment of the deletion: while the container is in back-off there is nothing to kill',
  },
  {
    pattern: /^deleted-done: status\.(conditions\.\w+\.)?observedGeneration$/,
    why: 'a pod that has finished gets no further status update; upstream finishes it seconds after its end, this kubelet within a second, and the moment of the deletion varies',
  },
  {
    pattern: /: events\.Warning LifecycleHTTPFallback: /,
    go: /^$/,
    why: "upstream's runtime manager tries to record this event, but its recorder drops events whose object is not an ObjectReference (`innerEventRecorder`)",
  },
  {
    pattern: /^node: status\.nodeInfo\.kubeletVersion$/,
    why: 'the version contains the name of this project after the upstream version',
  },
  {
    pattern: /^node: status\.declaredFeatures/,
    why: 'each kubelet declares the features that it implements',
  },
  {
    pattern: /^node: events\..*NodeReady/,
    why: 'upstream registers the node before it knows whether the node is ready; this kubelet registers it as ready',
  },
  {
    pattern: /^node: events\..*InvalidDiskCapacity/,
    why: "upstream asks for the image file system's size before it has measured it, and reports 0; this kubelet measures it first",
  },
  {
    pattern: /^resize-[a-z-]+: status\.resources\.requests\.memory$/,
    why: 'upstream keeps reporting the pod-level memory request that it reported first; this kubelet reports the allocated request',
  },
  {
    pattern: /^out-of-memory: status\.resources\.limits$/,
    go: /^$/,
    why: "for a terminated pod that the API still shows as running, upstream reports the values of the pod's cgroup, or nothing if the cgroup is gone; this kubelet keeps the last reported values",
  },
  {
    pattern: /^resize-as-a-whole: runtime\.resize-as-a-whole\/main\.runtimeSpec\.linux\.resources\.cpu\.shares$/,
    go: /^2$/,
    why: "a container without a CPU request gets the CPU shares of its limit; upstream's update of the container passes a request of 0, which sets the minimum shares",
  },
  {
    pattern: /: status\.resources\.limits(\.memory)?$/,
    go: /"9007199254740988Ki"/,
    why: 'with cgroup v1, a cgroup without a memory limit contains the largest representable number, which upstream shows as a limit; this kubelet shows no limit',
  },
  {
    pattern: /^csi[a-z0-9-]*: events\.Normal SuccessfulMountVolume: MapVolume\.MapPodDevice succeeded /,
    why: 'a block volume that was mapped causes no event here: the event shows nothing that the pod does not show',
  },
  {
    pattern: /^csi[a-z0-9-]*: events\.Warning FailedMount: Unable to attach or mount volumes: /,
    go: /^$/,
    why: 'after 123 s, this kubelet reports the reasons why the volumes are not ready; upstream reports only errors of claims and specs at that time',
  },
  {
    pattern:
      /^csi[a-z0-9-]*: events\.Warning FailedMount: .* (no relationship found between node |"csi-ephemeral-v" not found$)/,
    why: 'whether the node authorizer of the API server knows the pod when the kubelet first reads its claim, and whether the claim of a generic ephemeral volume exists at that time, depends on timing',
  },
  {
    pattern: /^(csi-unstaged(-ext4)?|node): csi\.disk\.plugins\/kubernetes\.io\/csi\/unstaged\./,
    go: /^"directory 750 0:0"$/,
    why: 'upstream creates an empty directory for a volume whose driver stages nothing, and never removes it; this kubelet creates none',
  },
  {
    pattern: /^csi-inline-secret-absent: csi\.disk\.pods\/<uid>\/volumes\/kubernetes\.io~csi\/v$/,
    go: /^"directory 750 0:0"$/,
    why: 'upstream creates the directory of a CSI volume before it has read the secret; this kubelet creates it with the data file',
  },
  {
    pattern:
      /^csi-stage-uncertain-deleted: csi\.((disk|mounts)\.plugins\/|calls\.(order|(requests|succeeded)\.NodeUnstageVolume)$)/,
    why: 'upstream goes on staging the volume of a deleted pod while a finalizer keeps the object of the pod; this kubelet unstages it when the pod has terminated',
  },
];
