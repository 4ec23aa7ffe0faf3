import { type Field, field, refuse, warn } from './field.ts';
import { BOOLEAN, DURATION, INT32, list, map, notNegative, object, oneOf, STRING } from './types.ts';

/** Eviction under pressure, and swap. */
export const evictionFields: readonly Field[] = [
  field({
    name: 'evictionHard',
    type: map(STRING),
    default: {},
    flag: { name: 'eviction-hard', syntax: 'thresholds' },
    doc: 'Thresholds by signal, as quantities or percentages, below which pods are evicted at once. Default with --config: memory.available 100Mi, nodefs.available 10%, nodefs.inodesFree 5%, imagefs.available 15%, imagefs.inodesFree 5%; without: none.',
  }),
  field({
    name: 'evictionSoft',
    type: map(STRING),
    default: {},
    flag: { name: 'eviction-soft', syntax: 'thresholds' },
    doc: 'Thresholds by signal below which pods are evicted after a grace period.',
  }),
  field({
    name: 'evictionSoftGracePeriod',
    property: 'evictionSoftGracePeriodMs',
    type: map(DURATION),
    default: {},
    flag: 'eviction-soft-grace-period',
    doc: 'How long each soft threshold has to hold.',
  }),
  field({
    name: 'evictionMinimumReclaim',
    type: map(STRING),
    default: {},
    flag: 'eviction-minimum-reclaim',
    doc: 'How much more than the threshold an eviction frees, by signal.',
  }),
  field({
    name: 'evictionPressureTransitionPeriod',
    type: DURATION,
    default: '5m0s',
    zeroIsUnset: true,
    flag: 'eviction-pressure-transition-period',
    doc: 'How long a pressure condition outlasts the pressure.',
  }),
  field({
    name: 'evictionMaxPodGracePeriod',
    property: 'evictionMaxPodGracePeriodSeconds',
    type: INT32,
    default: 0,
    flag: 'eviction-max-pod-grace-period',
    doc: "The longest grace period in seconds of a pod in a soft eviction. Negative: the pod's own.",
  }),
  field({
    name: 'mergeDefaultEvictionSettings',
    type: BOOLEAN,
    default: false,
    doc: 'Whether signals that evictionHard of the --config file does not name keep their default threshold.',
  }),
  field({
    name: 'kernelMemcgNotification',
    type: BOOLEAN,
    default: false,
    flag: 'kernel-memcg-notification',
    support: { state: 'inert', because: 'a memory threshold is noticed when it is crossed either way' },
    doc: 'Whether the kernel tells when a memory threshold is crossed, instead of being asked.',
  }),
  field({
    name: 'failSwapOn',
    type: BOOLEAN,
    default: true,
    flag: 'fail-swap-on',
    doc: 'Whether the kubelet refuses to start on a host with swap.',
  }),
  field({
    name: 'memorySwap',
    default: {},
    type: object('MemorySwapConfiguration', 'The use of swap by containers.', [
      field({
        name: 'swapBehavior',
        type: oneOf('SwapBehavior', '', 'NoSwap', 'LimitedSwap'),
        default: '',
        doc: 'NoSwap (the same as empty), or LimitedSwap: in proportion to the memory request, on cgroup v2 only.',
      }),
    ]),
    doc: 'The use of swap by containers.',
  }),
  field({
    name: 'localStorageCapacityIsolation',
    type: BOOLEAN,
    default: true,
    flag: 'local-storage-capacity-isolation',
    doc: 'Whether limits of ephemeral storage and sizes of emptyDir volumes are enforced.',
  }),
];

/** What the kubelet does to its host. */
export const hostFields: readonly Field[] = [
  field({
    name: 'protectKernelDefaults',
    type: BOOLEAN,
    default: false,
    flag: 'protect-kernel-defaults',
    doc: 'Whether kernel settings that differ from what the kubelet expects stop it, instead of being changed.',
  }),
  field({
    name: 'maxOpenFiles',
    type: { kind: 'integer', bits: 64 },
    default: 1_000_000,
    zeroIsUnset: true,
    flag: 'max-open-files',
    check: notNegative,
    support: warn("the limit on the kubelet's open files is not changed yet"),
    doc: 'How many files the kubelet may have open.',
  }),
  field({
    name: 'volumePluginDir',
    type: STRING,
    default: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
    zeroIsUnset: true,
    isPath: true,
    flag: 'volume-plugin-dir',
    support: warn('flex volumes are not there yet'),
    doc: 'Where flex volume plugins are.',
  }),
  field({
    name: 'volumeStatsAggPeriod',
    type: DURATION,
    default: '1m0s',
    zeroIsUnset: true,
    flag: 'volume-stats-agg-period',
    doc: 'How often volumes are measured. Negative: never.',
  }),
  field({
    name: 'enableControllerAttachDetach',
    type: BOOLEAN,
    default: true,
    flag: 'enable-controller-attach-detach',
    support: refuse('the kubelet attaches no volumes itself'),
    doc: 'Whether a controller attaches volumes to this node, rather than the kubelet.',
  }),
  field({
    name: 'streamingConnectionIdleTimeout',
    type: DURATION,
    default: '4h0m0s',
    zeroIsUnset: true,
    flag: 'streaming-connection-idle-timeout',
    doc: 'How long both ends of a stream (exec, attach, port-forward) may be silent.',
  }),
];

/** Graceful node shutdown. */
export const shutdownFields: readonly Field[] = [
  field({
    name: 'shutdownGracePeriod',
    type: DURATION,
    default: '0s',
    doc: 'How long the shutdown of the node waits for pods: 0s, or 1s and more.',
  }),
  field({
    name: 'shutdownGracePeriodCriticalPods',
    type: DURATION,
    default: '0s',
    doc: 'The part of shutdownGracePeriod that is left to critical pods: 0s, or 1s and more.',
  }),
  field({
    name: 'shutdownGracePeriodByPodPriority',
    default: [],
    type: list(
      object('ShutdownGracePeriodByPodPriority', 'How long pods of a priority, or a higher one, get in a shutdown.', [
        field({
          name: 'priority',
          type: INT32,
          default: 0,
          doc: 'The lowest priority that this entry is for.',
        }),
        field({
          name: 'shutdownGracePeriodSeconds',
          type: { kind: 'integer', bits: 64 },
          default: 0,
          doc: 'The grace period in seconds.',
        }),
      ]),
    ),
    doc: 'Shutdown grace periods by priority; instead of shutdownGracePeriod. Needs the feature gate GracefulNodeShutdownBasedOnPodPriority.',
  }),
];
