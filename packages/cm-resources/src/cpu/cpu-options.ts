import { ContainerResourcesError } from '../errors.ts';
import type { CpuTopology } from '../machine/cpu-topology.ts';
import { parseBool, type TopologyPolicyName } from '../topology/topology-options.ts';

/** Parsed `cpuManagerPolicyOptions` of the static policy. */
export interface StaticCpuOptions {
  /** `full-pcpus-only`: containers get only whole cores, and a request that is not a multiple of a core is rejected. */
  readonly fullPhysicalCpusOnly: boolean;
  /**
   * `distribute-cpus-across-numa`: if a request needs several NUMA nodes, the same number of CPUs is taken from each.
   */
  readonly distributeAcrossNuma: boolean;
  /** `align-by-socket`: hints are aligned with sockets instead of NUMA nodes. */
  readonly alignBySocket: boolean;
  /** `distribute-cpus-across-cores`: threads of different cores are preferred to threads of one core. */
  readonly distributeAcrossCores: boolean;
  /** `strict-cpu-reservation`: containers without exclusive CPUs cannot use the reserved CPUs either. */
  readonly strictReservation: boolean;
  /** `prefer-align-cpus-by-uncorecache`: CPUs are taken from as few uncore caches as possible. */
  readonly preferAlignByUncoreCache: boolean;
}

/** Feature gates that allow the alpha and beta options of the static policy. */
export interface CpuOptionGates {
  /** Whether the gate `CPUManagerPolicyAlphaOptions` is on. Default: false. */
  readonly alpha?: boolean;
  /** Whether the gate `CPUManagerPolicyBetaOptions` is on. Default: true. */
  readonly beta?: boolean;
}

const FULL_PCPUS_ONLY = 'full-pcpus-only';
const DISTRIBUTE_ACROSS_NUMA = 'distribute-cpus-across-numa';
const ALIGN_BY_SOCKET = 'align-by-socket';
const DISTRIBUTE_ACROSS_CORES = 'distribute-cpus-across-cores';
const STRICT_RESERVATION = 'strict-cpu-reservation';
const ALIGN_BY_UNCORE_CACHE = 'prefer-align-cpus-by-uncorecache';

/** Maturity of each option in Kubernetes 1.36, by option name. */
const OPTIONS: ReadonlyMap<string, 'Alpha' | 'Beta' | 'GA'> = new Map([
  [FULL_PCPUS_ONLY, 'GA'],
  [DISTRIBUTE_ACROSS_NUMA, 'Beta'],
  [ALIGN_BY_SOCKET, 'Alpha'],
  [DISTRIBUTE_ACROSS_CORES, 'Alpha'],
  [STRICT_RESERVATION, 'GA'],
  [ALIGN_BY_UNCORE_CACHE, 'GA'],
]);

/** Pairs of options that exclude each other, in upstream's order. */
const EXCLUSIVE: readonly (readonly [string, string])[] = [
  [FULL_PCPUS_ONLY, DISTRIBUTE_ACROSS_CORES],
  [DISTRIBUTE_ACROSS_NUMA, DISTRIBUTE_ACROSS_CORES],
  [ALIGN_BY_UNCORE_CACHE, DISTRIBUTE_ACROSS_CORES],
  [ALIGN_BY_UNCORE_CACHE, DISTRIBUTE_ACROSS_NUMA],
];

/**
 * Parses the options of the static policy (`NewStaticPolicyOptions`, `pkg/kubelet/cm/cpumanager/policy_options.go`).
 * @throws ContainerResourcesError `InvalidOptions`
 */
export function parseCpuOptions(
  options: Readonly<Record<string, string>> = {},
  { alpha = false, beta = true }: CpuOptionGates = {},
): StaticCpuOptions {
  const isOn = new Map<string, boolean>();
  for (const [name, value] of Object.entries(options)) {
    const maturity = OPTIONS.get(name);
    if (maturity === undefined) throw invalid(`unknown CPU Manager Policy option: ${JSON.stringify(name)}`);
    if ((maturity === 'Alpha' && !alpha) || (maturity === 'Beta' && !beta)) {
      const what = `CPU Manager Policy ${maturity}-level Options not enabled`;
      throw invalid(`${what}, but option ${JSON.stringify(name)} provided`);
    }
    isOn.set(name, parseBool(name, value));
  }
  const on = (name: string): boolean => isOn.get(name) ?? false;
  const conflict = EXCLUSIVE.find(([a, b]) => on(a) && on(b));
  if (conflict !== undefined) {
    throw invalid(`static policy options ${conflict[0]} and ${conflict[1]} can not be used at the same time`);
  }
  return {
    fullPhysicalCpusOnly: on(FULL_PCPUS_ONLY),
    distributeAcrossNuma: on(DISTRIBUTE_ACROSS_NUMA),
    alignBySocket: on(ALIGN_BY_SOCKET),
    distributeAcrossCores: on(DISTRIBUTE_ACROSS_CORES),
    strictReservation: on(STRICT_RESERVATION),
    preferAlignByUncoreCache: on(ALIGN_BY_UNCORE_CACHE),
  };
}

/**
 * Checks that the options fit the machine and the topology policy (`ValidateStaticPolicyOptions`).
 * @throws ContainerResourcesError `InvalidOptions`
 */
export function checkCpuOptions(
  { alignBySocket }: StaticCpuOptions,
  topology: CpuTopology,
  topologyPolicy: TopologyPolicyName,
): void {
  if (!alignBySocket) return;
  if (topologyPolicy === 'single-numa-node') {
    throw invalid(
      `Topolgy manager ${topologyPolicy} policy is incompatible with CPUManager ${ALIGN_BY_SOCKET} policy option`,
    );
  }
  if (topology.socketCount > topology.numaNodes.length) {
    throw invalid(
      'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
    );
  }
}

function invalid(message: string): ContainerResourcesError {
  return new ContainerResourcesError('InvalidOptions', `new static policy error: ${message}`);
}
