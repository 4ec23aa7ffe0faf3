import { type Field, field, refuse } from './field.ts';
import { BOOLEAN, DURATION, INT32, list, map, notNegative, object, oneOf, STRING } from './types.ts';

/** Fields of eviction and swap. */
export const evictionFields: readonly Field[] = [
  field({
    name: 'evictionHard',
    reload: 'live',
    type: map(STRING),
    default: {},
    flag: { name: 'eviction-hard', syntax: 'thresholds' },
    doc: 'Hard eviction thresholds (no grace period) by signal, as quantities or percentages. Default with --config: memory.available 100Mi, nodefs.available 10%, nodefs.inodesFree 5%, imagefs.available 15%, imagefs.inodesFree 5%. Default without --config: none.',
  }),
  field({
    name: 'evictionSoft',
    reload: 'live',
    type: map(STRING),
    default: {},
    flag: { name: 'eviction-soft', syntax: 'thresholds' },
    doc: 'Soft eviction thresholds by signal: pods are evicted after a grace period.',
  }),
  field({
    name: 'evictionSoftGracePeriod',
    reload: 'live',
    property: 'evictionSoftGracePeriodMs',
    type: map(DURATION),
    default: {},
    flag: 'eviction-soft-grace-period',
    doc: 'Time that each soft threshold must stay crossed before pods are evicted.',
  }),
  field({
    name: 'evictionMinimumReclaim',
    reload: 'live',
    type: map(STRING),
    default: {},
    flag: 'eviction-minimum-reclaim',
    doc: 'Amount by signal that an eviction frees beyond the threshold.',
  }),
  field({
    name: 'evictionPressureTransitionPeriod',
    reload: 'live',
    type: DURATION,
    default: '5m0s',
    zeroIsUnset: true,
    flag: 'eviction-pressure-transition-period',
    doc: 'Time that a pressure condition stays True after the pressure has ended.',
  }),
  field({
    name: 'evictionMaxPodGracePeriod',
    reload: 'live',
    property: 'evictionMaxPodGracePeriodSeconds',
    type: INT32,
    default: 0,
    flag: 'eviction-max-pod-grace-period',
    doc: "Longest grace period in seconds of a pod in a soft eviction. Negative: the pod's own grace period.",
  }),
  field({
    name: 'mergeDefaultEvictionSettings',
    reload: 'live',
    type: BOOLEAN,
    default: false,
    doc: 'Whether signals that are missing in evictionHard of the --config file keep their default threshold.',
  }),
  field({
    name: 'kernelMemcgNotification',
    type: BOOLEAN,
    default: false,
    flag: 'kernel-memcg-notification',
    support: { state: 'inert', because: 'memory thresholds are detected immediately either way' },
    doc: 'Whether the kernel notifies the kubelet of crossed memory thresholds.',
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
    type: object('MemorySwapConfiguration', 'Swap of containers.', [
      field({
        name: 'swapBehavior',
        type: oneOf('SwapBehavior', '', 'NoSwap', 'LimitedSwap'),
        default: '',
        doc: 'NoSwap (same as empty), or LimitedSwap: swap in proportion to the memory request, on cgroup v2 only.',
      }),
    ]),
    doc: 'Swap of containers.',
  }),
  field({
    name: 'localStorageCapacityIsolation',
    type: BOOLEAN,
    default: true,
    flag: 'local-storage-capacity-isolation',
    doc: 'Whether limits of ephemeral storage and sizes of emptyDir volumes are enforced.',
  }),
];

/** Fields of the host: kernel settings, volumes, streams. */
export const hostFields: readonly Field[] = [
  field({
    name: 'protectKernelDefaults',
    type: BOOLEAN,
    default: false,
    flag: 'protect-kernel-defaults',
    doc: 'Whether the kubelet refuses to start if kernel settings differ from the expected values. If false, the kubelet changes the settings.',
  }),
  field({
    name: 'maxOpenFiles',
    type: { kind: 'integer', bits: 64 },
    default: 1_000_000,
    zeroIsUnset: true,
    flag: 'max-open-files',
    check: notNegative,
    doc: 'Maximum number of open files of the kubelet, set with prlimit of util-linux. A hard limit can be raised only with CAP_SYS_RESOURCE.',
  }),
  field({
    name: 'volumePluginDir',
    type: STRING,
    default: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
    zeroIsUnset: true,
    isPath: true,
    flag: 'volume-plugin-dir',
    doc: 'Directory of flexVolume drivers. It is not created.',
  }),
  field({
    name: 'volumeStatsAggPeriod',
    type: DURATION,
    default: '1m0s',
    zeroIsUnset: true,
    flag: 'volume-stats-agg-period',
    doc: 'Interval at which the usage of volumes is measured. Negative: never.',
  }),
  field({
    name: 'enableControllerAttachDetach',
    type: BOOLEAN,
    default: true,
    flag: 'enable-controller-attach-detach',
    support: refuse('this kubelet does not attach volumes'),
    doc: 'Whether a controller attaches volumes to this node, instead of the kubelet.',
  }),
  field({
    name: 'streamingConnectionIdleTimeout',
    type: DURATION,
    default: '4h0m0s',
    zeroIsUnset: true,
    flag: 'streaming-connection-idle-timeout',
    doc: 'Time after which a stream (exec, attach, port-forward) without traffic is closed.',
  }),
];

/** Fields of graceful node shutdown. */
export const shutdownFields: readonly Field[] = [
  field({
    name: 'shutdownGracePeriod',
    type: DURATION,
    default: '0s',
    doc: 'Time that a shutdown of the node waits for pods: 0s, or 1s and more.',
  }),
  field({
    name: 'shutdownGracePeriodCriticalPods',
    type: DURATION,
    default: '0s',
    doc: 'Part of shutdownGracePeriod that is reserved for critical pods: 0s, or 1s and more.',
  }),
  field({
    name: 'shutdownGracePeriodByPodPriority',
    default: [],
    type: list(
      object(
        'ShutdownGracePeriodByPodPriority',
        'Shutdown grace period of pods whose priority is at least that of the entry.',
        [
          field({
            name: 'priority',
            type: INT32,
            default: 0,
            doc: 'Lowest priority of the entry.',
          }),
          field({
            name: 'shutdownGracePeriodSeconds',
            type: { kind: 'integer', bits: 64 },
            default: 0,
            doc: 'Grace period in seconds.',
          }),
        ],
      ),
    ),
    doc: 'Shutdown grace periods by pod priority. Replaces shutdownGracePeriod. Needs the feature gate GracefulNodeShutdownBasedOnPodPriority.',
  }),
];
