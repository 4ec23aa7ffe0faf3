/** Values of one hollow node that differ from those of the other hollow nodes. */
export interface NodePlan {
  readonly name: string;
  /** Port of the node's kubelet server. `undefined`: the node has no server. */
  readonly port: number | undefined;
  /** Offset of the node's periodic work in ms, so that the work of many nodes is spread over time. */
  readonly phaseMs: number;
  /** Range of pod addresses until the cluster has one for the node (`node.spec.podCIDR`). */
  readonly podCidr: string;
}

/** Settings of {@link planNodes}. */
export interface NodePlanSettings {
  /** Number of nodes. */
  readonly nodes: number;
  /** Index of the first node, so that several processes can share a cluster. */
  readonly first: number;
  /** First part of each node's name, which is followed by the node's index. */
  readonly namePrefix: string;
  /**
   * Port of the kubelet server of the node with index 0; each further node has the next port. 0: nodes have no servers.
   */
  readonly port: number;
  /** IPv4 range that is divided among the nodes, for example `10.128.0.0/9`. */
  readonly podCidr: string;
  /**
   * Maximum number of pods of a node. Each node gets at least twice as many addresses, as with kubeadm: /24 for 110
   * pods.
   */
  readonly maxPods: number;
}

/**
 * Period in ms over which the periodic work of the nodes is spread. A kubelet does its periodic work at whole seconds,
 * and syncs pods at rest at multiples of five seconds. If all nodes did this at the same time, the process would be
 * busy for hundreds of milliseconds, and heartbeats would be late.
 */
const PHASE_PERIOD_MS = 5000;
/** Interval in ms at which the process wakes up for the periodic work of some of its nodes. */
const PHASE_STEP_MS = 50;
const HIGHEST_PORT = 65_535;

/**
 * Returns the plans of all nodes. The same index always has the same name, port and range.
 * @throws RangeError if the ports or the pod addresses do not suffice for all nodes
 */
export function planNodes({ nodes, first, namePrefix, port, podCidr, maxPods }: NodePlanSettings): readonly NodePlan[] {
  const last = first + nodes - 1;
  if (port > 0 && port + last > HIGHEST_PORT) {
    throw new RangeError(
      `--port: ports ${port + first} to ${port + last} of ${nodes} nodes must not exceed ${HIGHEST_PORT}`,
    );
  }
  return Array.from({ length: nodes }, (_, offset) => {
    const index = first + offset;
    return {
      name: `${namePrefix}${index}`,
      port: port > 0 ? port + index : undefined,
      phaseMs: (index % (PHASE_PERIOD_MS / PHASE_STEP_MS)) * PHASE_STEP_MS,
      podCidr: nodeCidr(podCidr, index, maxPods),
    };
  });
}

/**
 * Returns the part of an IPv4 range that belongs to a node.
 * @throws RangeError if `cidr` is not an IPv4 range or has no part left for the node
 */
export function nodeCidr(cidr: string, index: number, maxPods: number): string {
  const [, address = '', prefixText = ''] = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(cidr) ?? [];
  const parts = address.split('.').map(Number);
  const prefix = Number(prefixText);
  if (address === '' || prefix > 32 || parts.some((part) => part > 255)) {
    throw new RangeError(`--pod-cidr: ${JSON.stringify(cidr)} must be an IPv4 range such as 10.128.0.0/9`);
  }
  const bits = Math.max(2, Math.ceil(Math.log2(2 * maxPods)));
  const size = 2 ** bits;
  if ((index + 1) * size > 2 ** (32 - prefix)) {
    throw new RangeError(
      `--pod-cidr: ${cidr} must have ${size} addresses for each node; it has none for node ${index}`,
    );
  }
  const whole = 2 ** (32 - prefix);
  const base = parts.reduce((value, part) => value * 256 + part, 0);
  const from = base - (base % whole) + index * size;
  return `${[24, 16, 8, 0].map((shift) => Math.floor(from / 2 ** shift) % 256).join('.')}/${32 - bits}`;
}
