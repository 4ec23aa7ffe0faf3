import { type Field, field, refuse, warn } from './field.ts';
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

const NO_MANAGER = 'the CPU, memory and topology managers are not there yet';

/** Cgroups of pods, and of the kubelet and the system beside them. */
export const cgroupFields: readonly Field[] = [
  field({
    name: 'cgroupsPerQOS',
    type: BOOLEAN,
    default: true,
    flag: 'cgroups-per-qos',
    doc: 'Whether pods live in cgroups of their own below one per QoS class (kubepods). false: the runtime chooses, and nothing is enforced for a pod as a whole.',
  }),
  field({
    name: 'cgroupDriver',
    type: oneOf('CgroupDriver', 'cgroupfs', 'systemd'),
    default: 'cgroupfs',
    zeroIsUnset: true,
    flag: 'cgroup-driver',
    doc: 'How cgroups are made: cgroupfs or systemd. A runtime that reports its driver decides instead.',
  }),
  field({
    name: 'cgroupRoot',
    type: STRING,
    default: '',
    flag: 'cgroup-root',
    doc: 'The cgroup that kubepods is made in; it has to be there. Empty: the root. Without effect where cgroupsPerQOS is false.',
  }),
  field({
    name: 'kubeletCgroups',
    type: STRING,
    default: '',
    flag: 'kubelet-cgroups',
    doc: 'The cgroup that the kubelet moves itself to.',
  }),
  field({
    name: 'systemCgroups',
    type: STRING,
    default: '',
    flag: 'system-cgroups',
    doc: 'The cgroup that processes outside any container are moved to. Needs cgroupRoot.',
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
    doc: 'Whether the OOM killer kills one process of a container instead of all. On cgroup v1 it cannot be false.',
  }),
  field({
    name: 'memoryThrottlingFactor',
    type: NUMBER,
    default: 0.9,
    check: (value) =>
      typeof value === 'number' && value > 0 && value <= 1
        ? undefined
        : 'must be greater than 0 and less than or equal to 1.0',
    doc: 'The share of its memory limit at which a container is slowed down (memory.high). Used with the feature gate MemoryQoS.',
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
    doc: "The kubelet's own oom_score_adj: -1000 to 1000.",
  }),
];

/** What is kept back from pods. */
export const reservationFields: readonly Field[] = [
  field({
    name: 'systemReserved',
    type: map(QUANTITY),
    default: {},
    flag: 'system-reserved',
    doc: 'What is kept back for the operating system: quantities of cpu, memory, ephemeral-storage and pid.',
  }),
  field({
    name: 'kubeReserved',
    type: map(QUANTITY),
    default: {},
    flag: 'kube-reserved',
    doc: 'What is kept back for Kubernetes: quantities of cpu, memory, ephemeral-storage and pid.',
  }),
  field({
    name: 'systemReservedCgroup',
    type: STRING,
    default: '',
    flag: 'system-reserved-cgroup',
    doc: 'The cgroup that systemReserved is enforced on.',
  }),
  field({
    name: 'kubeReservedCgroup',
    type: STRING,
    default: '',
    flag: 'kube-reserved-cgroup',
    doc: 'The cgroup that kubeReserved is enforced on.',
  }),
  field({
    name: 'enforceNodeAllocatable',
    type: list(STRING),
    default: ['pods'],
    flag: 'enforce-node-allocatable',
    doc: 'What is held to its share: pods, system-reserved or system-reserved-compressible, kube-reserved or kube-reserved-compressible; or none alone.',
  }),
  field({
    name: 'qosReserved',
    type: map(STRING),
    default: {},
    flag: 'qos-reserved',
    doc: 'The percentage of requests of guaranteed pods that lower classes may not use; memory only. Needs the feature gate QOSReserved.',
  }),
  field({
    name: 'reservedSystemCPUs',
    type: STRING,
    default: '',
    flag: 'reserved-cpus',
    doc: 'CPUs kept back for the system, as a list of numbers and ranges (0-1,6); instead of CPU in systemReserved and kubeReserved.',
  }),
  field({
    name: 'reservedMemory',
    default: [],
    flag: { name: 'reserved-memory', syntax: 'reservedMemory' },
    type: list(
      object('MemoryReservation', 'Memory of one NUMA node that is kept back from pods.', [
        field({ name: 'numaNode', type: INT32, default: 0, doc: 'The number of the NUMA node.' }),
        field({
          name: 'limits',
          type: map({ kind: 'quantity', acceptsNumber: true }),
          default: {},
          doc: 'Quantities of memory and of hugepages-<size>.',
        }),
      ]),
    ),
    support: refuse(NO_MANAGER),
    doc: 'Memory kept back on each NUMA node, for the memory manager.',
  }),
];

/** The CPU, memory and topology managers. */
export const resourceManagerFields: readonly Field[] = [
  field({
    name: 'cpuManagerPolicy',
    type: oneOf('CpuManagerPolicy', 'none', 'static'),
    default: 'none',
    zeroIsUnset: true,
    flag: 'cpu-manager-policy',
    check: notEmpty,
    support: refuse(NO_MANAGER),
    doc: 'none, or static: whole CPUs for guaranteed containers that request them.',
  }),
  field({
    name: 'cpuManagerPolicyOptions',
    type: map(STRING),
    default: {},
    flag: { name: 'cpu-manager-policy-options', syntax: 'oneEntry' },
    support: refuse(NO_MANAGER),
    doc: 'Options of the CPU manager policy.',
  }),
  field({
    name: 'cpuManagerReconcilePeriod',
    type: DURATION,
    default: '10s',
    zeroIsUnset: true,
    flag: 'cpu-manager-reconcile-period',
    support: warn(NO_MANAGER),
    doc: 'How often the CPU manager compares cpusets with its state.',
  }),
  field({
    name: 'memoryManagerPolicy',
    type: oneOf('MemoryManagerPolicy', 'None', 'Static'),
    default: 'None',
    zeroIsUnset: true,
    flag: 'memory-manager-policy',
    check: notEmpty,
    support: refuse(NO_MANAGER),
    doc: 'None, or Static: memory of guaranteed pods from the fewest NUMA nodes.',
  }),
  field({
    name: 'topologyManagerPolicy',
    type: oneOf('TopologyManagerPolicy', 'none', 'best-effort', 'restricted', 'single-numa-node'),
    default: 'none',
    zeroIsUnset: true,
    flag: 'topology-manager-policy',
    check: notEmpty,
    support: refuse(NO_MANAGER),
    doc: 'Whether pods are admitted by how their CPUs, memory and devices fit on NUMA nodes.',
  }),
  field({
    name: 'topologyManagerScope',
    type: oneOf('TopologyManagerScope', 'container', 'pod'),
    default: 'container',
    zeroIsUnset: true,
    flag: 'topology-manager-scope',
    check: notEmpty,
    support: warn(NO_MANAGER),
    doc: 'Whether the topology policy looks at containers or at whole pods.',
  }),
  field({
    name: 'topologyManagerPolicyOptions',
    type: map(STRING),
    default: {},
    flag: 'topology-manager-policy-options',
    support: refuse(NO_MANAGER),
    doc: 'Options of the topology manager policy.',
  }),
];
