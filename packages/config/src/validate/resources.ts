import { childPath } from '../path.ts';
import { parseQuantity } from '../quantity.ts';
import { type Rule, type Violation, when } from './rule.ts';

const NODE_ALLOCATABLE: readonly string[] = [
  'pods',
  'system-reserved',
  'system-reserved-compressible',
  'kube-reserved',
  'kube-reserved-compressible',
  'none',
];
const RESERVABLE: readonly string[] = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

const cgroups: Rule = ({ systemCgroups, cgroupRoot, failCgroupV1, singleProcessOOMKill }, { cgroupVersion }) => [
  ...when(systemCgroups !== '' && cgroupRoot === '', 'systemCgroups', 'requires cgroupRoot to be set, too'),
  ...when(
    failCgroupV1 && cgroupVersion === 1,
    'failCgroupV1',
    'is true, and this host uses cgroup v1; set it to false to run on this host nevertheless',
  ),
  ...when(
    cgroupVersion === 1 && singleProcessOOMKill === false,
    'singleProcessOOMKill',
    'must not be explicitly set to false when using cgroup v1',
  ),
];

/** Upstream checks the swap settings when it creates its container manager (`run` in cmd/kubelet/app/server.go). */
const swap: Rule = ({ memorySwap }, { cgroupVersion }) =>
  when(
    cgroupVersion === 1 && memorySwap.swapBehavior === 'LimitedSwap',
    'memorySwap.swapBehavior',
    'LimitedSwap is only supported with cgroup v2',
  );

const memoryQos: Rule = ({ memoryReservationPolicy }, { gates }) =>
  when(
    memoryReservationPolicy === 'TieredReservation' && !gates.enabled('MemoryQoS'),
    'memoryReservationPolicy',
    'TieredReservation requires the feature gate MemoryQoS',
  );

const nodeAllocatable: Rule = (configuration) => {
  const { enforceNodeAllocatable: levels, cgroupsPerQOS } = configuration;
  const path = 'enforceNodeAllocatable';
  const violations: Violation[] = [];
  for (const owner of ['system-reserved', 'kube-reserved'] as const) {
    const both = levels.includes(owner) && levels.includes(`${owner}-compressible`);
    violations.push(...when(both, path, `both "${owner}" and "${owner}-compressible" cannot be specified together`));
  }
  for (const [index, level] of levels.entries()) {
    const at = childPath(path, index);
    if (levels.indexOf(level) < index) violations.push({ path: at, message: `duplicated enforcements "${level}"` });
    else if (!NODE_ALLOCATABLE.includes(level)) {
      const options = NODE_ALLOCATABLE.map((option) => JSON.stringify(option)).join(', ');
      violations.push({
        path: at,
        message: `option ${JSON.stringify(level)} is not valid. Valid options are ${options}`,
      });
    } else if (level === 'none') {
      violations.push(
        ...when(levels.length > 1, at, 'may not contain additional enforcements when "none" is specified'),
      );
    } else {
      violations.push(...reservedCgroup(configuration, level, at));
      violations.push(
        ...when(
          !cgroupsPerQOS,
          at,
          `cgroupsPerQOS (--cgroups-per-qos) must be set to true when "${level}" contained in enforceNodeAllocatable`,
        ),
      );
    }
  }
  return violations;
};

function reservedCgroup(configuration: Parameters<Rule>[0], level: string, at: string): readonly Violation[] {
  if (level.startsWith('system-reserved')) {
    return when(
      configuration.systemReservedCgroup === '',
      at,
      'systemReservedCgroup (--system-reserved-cgroup) must be specified when "system-reserved" or "system-reserved-compressible" included in enforceNodeAllocatable',
    );
  }
  return when(
    level.startsWith('kube-reserved') && configuration.kubeReservedCgroup === '',
    at,
    'kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" or "kube-reserved-compressible" included in enforceNodeAllocatable',
  );
}

const reserved: Rule = ({ systemReserved, kubeReserved }) =>
  Object.entries({ systemReserved, kubeReserved }).flatMap(([name, resources]) =>
    Object.entries(resources).flatMap(([resource, quantity]) => {
      const path = childPath(name, resource);
      if (!RESERVABLE.includes(resource)) {
        return [{ path, message: `cannot be reserved; only ${RESERVABLE.join(', ')} can` }];
      }
      return when((parseQuantity(quantity)?.nanos ?? 0n) < 0n, path, 'cannot be negative');
    }),
  );

const reservedCpus: Rule = ({ reservedSystemCPUs: cpus, systemReservedCgroup, kubeReservedCgroup }) => {
  if (cpus === '') return [];
  return [
    ...when(
      systemReservedCgroup !== '' || kubeReservedCgroup !== '',
      'reservedSystemCPUs',
      'cannot be used with systemReservedCgroup or kubeReservedCgroup',
    ),
    ...when(!isCpuList(cpus), 'reservedSystemCPUs', 'must be a list of CPUs and ranges, such as 0-3,8'),
  ];
};

function isCpuList(text: string): boolean {
  return text.split(',').every((part) => {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    return match !== null && (match[2] === undefined || Number(match[1]) <= Number(match[2]));
  });
}

const reservedMemory: Rule = ({ reservedMemory: reservations }) => {
  const seen = new Set<string>();
  return reservations.flatMap(({ numaNode, limits }, index) =>
    Object.entries(limits).flatMap(([resource, quantity]) => {
      const path = childPath(childPath(childPath('reservedMemory', index), 'limits'), resource);
      const key = `${numaNode}:${resource}`;
      const duplicate = seen.has(key);
      seen.add(key);
      return [
        ...when(
          resource !== 'memory' && !resource.startsWith('hugepages-'),
          path,
          'is not supported; only memory and hugepages-<size> can be reserved',
        ),
        ...when(parseQuantity(quantity)?.isZero ?? true, path, 'must not be zero'),
        ...when(duplicate, path, `is reserved twice for NUMA node ${numaNode}`),
      ];
    }),
  );
};

const qosReserved: Rule = ({ qosReserved: shares }, { gates }) => [
  ...when(
    Object.keys(shares).length > 0 && !gates.enabled('QOSReserved'),
    'qosReserved',
    'requires the feature gate QOSReserved',
  ),
  ...Object.entries(shares).flatMap(([resource, share]) => [
    ...when(resource !== 'memory', childPath('qosReserved', resource), 'cannot be reserved; only memory can'),
    ...when(
      !/^\d{1,3}%$/.test(share) || Number.parseInt(share, 10) > 100,
      childPath('qosReserved', resource),
      'must be a percentage from 0% to 100%',
    ),
  ]),
];

/** Rules for cgroups, reserved resources and memory. */
export const resourceRules: readonly Rule[] = [
  cgroups,
  swap,
  memoryQos,
  nodeAllocatable,
  reserved,
  reservedCpus,
  reservedMemory,
  qosReserved,
];
