import { type Field, field } from './field.ts';
import {
  BOOLEAN,
  DURATION,
  INT32,
  inRange,
  list,
  map,
  NUMBER,
  notEmpty,
  object,
  oneOf,
  QUANTITY,
  STRING,
} from './types.ts';

/** Fields of the cgroups of pods, the kubelet and the system. */
export const cgroupFields: readonly Field[] = [
  field({
    name: 'cgroupsPerQOS',
    type: BOOLEAN,
    default: true,
    flag: 'cgroups-per-qos',
    doc: 'Whether each pod has a cgroup, below one per QoS class (kubepods). If false, the runtime chooses the cgroup, and pod-level limits are not enforced.',
  }),
  field({
    name: 'cgroupDriver',
    type: oneOf('CgroupDriver', 'cgroupfs', 'systemd'),
    default: 'cgroupfs',
    zeroIsUnset: true,
    flag: 'cgroup-driver',
    doc: 'cgroupfs or systemd. If the runtime reports its driver, that one is used.',
  }),
  field({
    name: 'cgroupRoot',
    type: STRING,
    default: '',
    flag: 'cgroup-root',
    doc: 'Existing parent cgroup of kubepods. Empty: the root cgroup. No effect if cgroupsPerQOS is false.',
  }),
  field({
    name: 'kubeletCgroups',
    type: STRING,
    default: '',
    flag: 'kubelet-cgroups',
    doc: 'Cgroup that the kubelet moves itself to.',
  }),
  field({
    name: 'systemCgroups',
    type: STRING,
    default: '',
    flag: 'system-cgroups',
    doc: 'Cgroup that processes outside of containers are moved to. Needs cgroupRoot.',
  }),
  field({
    name: 'failCgroupV1',
    type: BOOLEAN,
    default: true,
    flag: { name: 'fail-cgroupv1', deprecated: false },
    doc: 'Whether the kubelet refuses to start on a host with cgroup v1.',
  }),
  field({
    name: 'singleProcessOOMKill',
    type: BOOLEAN,
    optional: true,
    doc: 'Whether the OOM killer kills a single process of a container instead of all. Must not be false on cgroup v1.',
  }),
  field({
    name: 'memoryThrottlingFactor',
    type: NUMBER,
    default: 0.9,
    check: (value) =>
      typeof value === 'number' && value > 0 && value <= 1
        ? undefined
        : 'must be greater than 0 and less than or equal to 1.0',
    doc: 'Position of memory.high between the memory request and limit of a container, from 0 to 1: above it, the kernel throttles the container. Needs the feature gate MemoryQoS.',
  }),
  field({
    name: 'memoryReservationPolicy',
    type: oneOf('MemoryReservationPolicy', 'None', 'TieredReservation'),
    default: 'None',
    zeroIsUnset: true,
    doc: 'Whether requested memory is protected from reclaim. TieredReservation needs the feature gate MemoryQoS.',
  }),
  field({
    name: 'oomScoreAdj',
    type: INT32,
    default: -999,
    flag: 'oom-score-adj',
    check: inRange(-1000, 1000),
    doc: 'oom_score_adj of the kubelet: -1000 to 1000.',
  }),
];

/** Fields of reserved resources. */
export const reservationFields: readonly Field[] = [
  field({
    name: 'systemReserved',
    type: map(QUANTITY),
    default: {},
    flag: 'system-reserved',
    doc: 'Resources reserved for the operating system: quantities of cpu, memory, ephemeral-storage and pid.',
  }),
  field({
    name: 'kubeReserved',
    type: map(QUANTITY),
    default: {},
    flag: 'kube-reserved',
    doc: 'Resources reserved for Kubernetes: quantities of cpu, memory, ephemeral-storage and pid.',
  }),
  field({
    name: 'systemReservedCgroup',
    type: STRING,
    default: '',
    flag: 'system-reserved-cgroup',
    doc: 'Cgroup on which systemReserved is enforced.',
  }),
  field({
    name: 'kubeReservedCgroup',
    type: STRING,
    default: '',
    flag: 'kube-reserved-cgroup',
    doc: 'Cgroup on which kubeReserved is enforced.',
  }),
  field({
    name: 'enforceNodeAllocatable',
    type: list(STRING),
    default: ['pods'],
    flag: 'enforce-node-allocatable',
    doc: 'Cgroups on which limits are enforced: pods, system-reserved or system-reserved-compressible, kube-reserved or kube-reserved-compressible; or only none.',
  }),
  field({
    name: 'qosReserved',
    type: map(STRING),
    default: {},
    flag: 'qos-reserved',
    doc: 'Percentage of the requests of higher QoS classes that lower classes may not use; memory only. Needs the feature gate QOSReserved.',
  }),
  field({
    name: 'reservedSystemCPUs',
    type: STRING,
    default: '',
    flag: 'reserved-cpus',
    doc: 'CPUs reserved for the system, as a list of numbers and ranges (0-1,6). Replaces cpu in systemReserved and kubeReserved.',
  }),
  field({
    name: 'reservedMemory',
    default: [],
    flag: { name: 'reserved-memory', syntax: 'reservedMemory' },
    type: list(
      object('MemoryReservation', 'Reserved memory of one NUMA node.', [
        field({ name: 'numaNode', type: INT32, default: 0, doc: 'Number of the NUMA node.' }),
        field({
          name: 'limits',
          type: map({ kind: 'quantity', acceptsNumber: true }),
          default: {},
          doc: 'Quantities of memory and of hugepages-<size>.',
        }),
      ]),
    ),
    doc: 'Memory reserved on each NUMA node, for the memory manager. The total of each resource must equal what kubeReserved, systemReserved and evictionHard reserve.',
  }),
];

/** Fields of the CPU, memory and topology managers. */
export const resourceManagerFields: readonly Field[] = [
  field({
    name: 'cpuManagerPolicy',
    type: oneOf('CpuManagerPolicy', 'none', 'static'),
    default: 'none',
    zeroIsUnset: true,
    flag: 'cpu-manager-policy',
    check: notEmpty,
    doc: 'none, or static: Guaranteed containers that request whole CPUs get exclusive CPUs.',
  }),
  field({
    name: 'cpuManagerPolicyOptions',
    type: map(STRING),
    default: {},
    flag: { name: 'cpu-manager-policy-options', syntax: 'oneEntry' },
    doc: 'Options of the CPU manager policy static: full-pcpus-only, distribute-cpus-across-numa, strict-cpu-reservation, prefer-align-cpus-by-uncorecache; with the feature gate CPUManagerPolicyAlphaOptions also align-by-socket and distribute-cpus-across-cores.',
  }),
  field({
    name: 'cpuManagerReconcilePeriod',
    type: DURATION,
    default: '10s',
    zeroIsUnset: true,
    flag: 'cpu-manager-reconcile-period',
    doc: 'Interval at which the CPU manager reconciles cpusets.',
  }),
  field({
    name: 'memoryManagerPolicy',
    type: oneOf('MemoryManagerPolicy', 'None', 'Static'),
    default: 'None',
    zeroIsUnset: true,
    flag: 'memory-manager-policy',
    check: notEmpty,
    doc: 'None, or Static: Guaranteed pods get memory from as few NUMA nodes as possible.',
  }),
  field({
    name: 'topologyManagerPolicy',
    type: oneOf('TopologyManagerPolicy', 'none', 'best-effort', 'restricted', 'single-numa-node'),
    default: 'none',
    zeroIsUnset: true,
    flag: 'topology-manager-policy',
    check: notEmpty,
    doc: 'How strictly the CPUs, memory and devices of a pod must be aligned on NUMA nodes.',
  }),
  field({
    name: 'topologyManagerScope',
    type: oneOf('TopologyManagerScope', 'container', 'pod'),
    default: 'container',
    zeroIsUnset: true,
    flag: 'topology-manager-scope',
    check: notEmpty,
    doc: 'Whether the topology policy aligns containers or whole pods.',
  }),
  field({
    name: 'topologyManagerPolicyOptions',
    type: map(STRING),
    default: {},
    flag: 'topology-manager-policy-options',
    doc: 'Options of the topology manager policy: prefer-closest-numa-nodes, max-allowable-numa-nodes.',
  }),
];
