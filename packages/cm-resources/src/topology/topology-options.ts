import { ContainerResourcesError } from '../errors.ts';

/** Names of the topology manager policies of Kubernetes 1.36. */
export type TopologyPolicyName = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

/** Unit of alignment: each container for itself, or all containers of a pod together. */
export type TopologyScope = 'container' | 'pod';

/** Parsed `topologyManagerPolicyOptions`. */
export interface TopologyOptions {
  /** Whether, among sets of equally many NUMA nodes, the set with the shortest average distance is preferred. */
  readonly preferClosestNumaNodes: boolean;
  /**
   * Maximum number of NUMA nodes of a machine. The time of an admission grows exponentially with the number of nodes.
   */
  readonly maxAllowableNumaNodes: number;
}

/** Default and minimum of `max-allowable-numa-nodes`. */
const DEFAULT_MAX_NODES = 8;

/**
 * Parses the options (`NewPolicyOptions`, `pkg/kubelet/cm/topologymanager/policy_options.go`; both options are GA).
 * @throws ContainerResourcesError `InvalidOptions`
 */
export function parseTopologyOptions(options: Readonly<Record<string, string>> = {}): TopologyOptions {
  let parsed: TopologyOptions = { preferClosestNumaNodes: false, maxAllowableNumaNodes: DEFAULT_MAX_NODES };
  for (const [name, value] of Object.entries(options)) {
    if (name === 'prefer-closest-numa-nodes') parsed = { ...parsed, preferClosestNumaNodes: parseBool(name, value) };
    else if (name === 'max-allowable-numa-nodes') parsed = { ...parsed, maxAllowableNumaNodes: maxNodes(value) };
    else throw invalid(`unknown Topology Manager Policy option: ${JSON.stringify(name)}`);
  }
  return parsed;
}

/** Parses a boolean as Go's `strconv.ParseBool` does. @throws ContainerResourcesError `InvalidOptions` */
export function parseBool(name: string, value: string): boolean {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(value)) return true;
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(value)) return false;
  const problem = `strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`;
  throw invalid(`bad value for option ${JSON.stringify(name)}: ${problem}`);
}

function maxNodes(value: string): number {
  const name = JSON.stringify('max-allowable-numa-nodes');
  if (!/^[+-]?\d+$/.test(value)) {
    const problem = `strconv.Atoi: parsing ${JSON.stringify(value)}: invalid syntax`;
    throw invalid(`unable to convert policy option to integer ${name}: ${problem}`);
  }
  if (Number(value) < DEFAULT_MAX_NODES) {
    throw invalid(`the minimum value of ${name} should not be less than ${DEFAULT_MAX_NODES}`);
  }
  return Number(value);
}

function invalid(message: string): ContainerResourcesError {
  return new ContainerResourcesError('InvalidOptions', message);
}
