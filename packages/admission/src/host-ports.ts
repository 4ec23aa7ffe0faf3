import { isRestartableInit, type Pod } from '@node-agent/pod-spec';

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const ANY_ADDRESS = '0.0.0.0';

/**
 * Returns whether a pod requests a host port that another pod uses: the same port and protocol, on the same address or
 * on all addresses.
 */
export function hasHostPortConflict(pod: Pick<Pod, 'spec'>, others: readonly Pick<Pod, 'spec'>[]): boolean {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return false;
  const taken = new Map<string, Set<string>>();
  for (const port of others.flatMap(hostPorts)) {
    const ips = taken.get(keyOf(port)) ?? new Set();
    taken.set(keyOf(port), ips.add(port.ip));
  }
  return wanted.some((port) => {
    const ips = taken.get(keyOf(port));
    return ips !== undefined && (port.ip === ANY_ADDRESS || ips.has(port.ip) || ips.has(ANY_ADDRESS));
  });
}

function keyOf({ protocol, port }: HostPort): string {
  return `${protocol}/${port}`;
}

/** Returns the host ports of containers that run as long as the pod; non-restartable init containers hold no ports. */
function hostPorts({ spec }: Pick<Pod, 'spec'>): readonly HostPort[] {
  return [...(spec.initContainers ?? []).filter(isRestartableInit), ...spec.containers].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP, protocol }) =>
      hostPort > 0 ? [{ port: hostPort, ip: hostIP || ANY_ADDRESS, protocol: protocol || 'TCP' }] : [],
    ),
  );
}
