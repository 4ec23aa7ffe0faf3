import { isRestartableInit, type Pod } from '@node-agent/pod-spec';

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const ANY_ADDRESS = '0.0.0.0';

/** Whether a pod wants a port of the host that another has: the same port and protocol, on the same address or on all. */
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

/** Those of containers that run as long as the pod: an init container that ends holds no port. */
function hostPorts({ spec }: Pick<Pod, 'spec'>): readonly HostPort[] {
  return [...(spec.initContainers ?? []).filter(isRestartableInit), ...spec.containers].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP, protocol }) =>
      hostPort > 0 ? [{ port: hostPort, ip: hostIP || ANY_ADDRESS, protocol: protocol || 'TCP' }] : [],
    ),
  );
}
