/** A difference that is meant, or that comes of how the two are compared. */
export interface Purpose {
  /** On `POD: PATH`. */
  readonly pattern: RegExp;
  /** On the Go kubelet's value, as JSON; any where absent. */
  readonly go?: RegExp;
  readonly why: string;
}

/** All that is known of. What no pattern matches is a fault of one of the two. */
export const onPurpose: readonly Purpose[] = [
  {
    pattern: /^restart-all: status\.containerStatuses\.\d\.lastState\./,
    why: 'upstream forgets how the container ended that asked for the restart of all; here it is kept',
  },
  {
    pattern:
      /^(runtime-class-unknown|own-users(-and-volume)?|image-volume-(absent|never)): events\.\S+ Normal Pulled: /,
    why: 'upstream looks for images when there is a sandbox and all image volumes; here they come while the first sandbox is made',
  },
  {
    pattern: /^image-change: events\.\S+ Warning BackOff: Back-off restarting/,
    why: 'upstream takes a container whose new image cannot be had for one that crashes; here it waits for its image alone',
  },
  {
    pattern: /^(deleted[a-z-]*|sidecar-hooks|preempted): runtime\.[a-z-]+\/[a-z0-9]+$/,
    why: 'upstream removes the dead containers of a deleted or evicted pod at once; here they go with the next collection, within a minute',
  },
  {
    pattern: /^(deleted[a-z-]*|sidecar-hooks): runtime\.[a-z-]+$/,
    go: /^\{/,
    why: "a deleted pod's sandbox is removed with the pod here; upstream's goes with a collection, a minute apart",
  },
  {
    pattern: /^preempted: runtime\.preempted$/,
    why: "an evicted pod's sandbox goes with the next collection, and each of the two has its own minute",
  },
  {
    pattern:
      /^(?!\S*-(refused|slow)\b)\S+: events\.\S+ Warning Unhealthy: .*(connection refused|\(Client\.Timeout|timed out after \d+s$)/,
    why: 'a probe that comes before its server listens, or finds the machine full, is chance: of pods that are about neither',
  },
  {
    pattern: /^resize-crashing: status\.resources\./,
    why: 'where in its crashing it is resized is chance: upstream shows what its group is held to, which a container that waits to begin again does not change',
  },
  {
    pattern: /^deleted-while-crashing: (events|status\.containerStatuses\.0\.restarts)/,
    why: 'where in its crashing it is deleted is chance: while it waits to begin again there is nothing to kill',
  },
  {
    pattern: /^deleted-done: status\.(conditions\.\w+\.)?observedGeneration$/,
    why: 'of a pod that is done with no status is told any more: upstream is done seconds after its end, here it takes a fraction of one, and when it is deleted is chance',
  },
  {
    pattern: /: events\.Warning LifecycleHTTPFallback: /,
    go: /^$/,
    why: "upstream's runtime manager means to tell of it, but its recorder drops events that are not told by reference (`innerEventRecorder`)",
  },
  {
    pattern: /^node: status\.nodeInfo\.kubeletVersion$/,
    why: 'the version names this project after the release that it follows',
  },
  {
    pattern: /^node: status\.declaredFeatures/,
    why: 'the features are declared that there are',
  },
  {
    pattern: /^node: events\..*NodeReady/,
    why: 'upstream registers the node before it knows whether it is ready; here it is registered as ready',
  },
  {
    pattern: /^node: events\..*InvalidDiskCapacity/,
    why: "upstream asks for the size of the images' disk before it has looked at it, and tells of 0; here it is looked at first",
  },
  {
    pattern: /^resize-[a-z-]+: status\.resources\.requests\.memory$/,
    why: 'of a running pod as a whole upstream tells the memory request that it told first, whatever it was granted since; here it is the granted one',
  },
  {
    pattern: /^out-of-memory: status\.resources\.limits$/,
    go: /^$/,
    why: 'upstream tells what the group of a pod is held to that has ended while the API shows it as running, and nothing where the group is gone by then; here it is what was told last',
  },
  {
    pattern: /^resize-as-a-whole: runtime\.resize-as-a-whole\/main\.runtimeSpec\.linux\.resources\.cpu\.shares$/,
    go: /^2$/,
    why: "a container that requests no CPU has the shares of its limit; upstream's update of it names a request of 0, and leaves it the fewest",
  },
  {
    pattern: /: status\.resources\.limits(\.memory)?$/,
    go: /"9007199254740988Ki"/,
    why: 'with cgroup v1 a group without a limit has the greatest that can be counted, which upstream shows as a limit; here there is none',
  },
];
