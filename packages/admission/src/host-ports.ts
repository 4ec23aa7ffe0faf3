import { isRestartableInit, type Pod } from '@node-agent/pod-spec';

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const ANY_ADDRESS = '0.0.0.0';

/** Whether a pod wants a port of the host that another has: the same port and protocol, on the same address or on all. */
export function hasHostPortConflict(pod: Pick<Pod, 'spec'>, others: readonly Pick<Pod, 'spec'>[]): boolean {
  return hostPorts(pod).some((want) => others.some((other) => hostPorts(other).some((taken) => conflict(want, taken))));
}

/** Those of containers that run as long as the pod: an init container that ends holds no port. */
function hostPorts({ spec }: Pick<Pod, 'spec'>): readonly HostPort[] {
  return [...(spec.initContainers ?? []).filter(isRestartableInit), ...spec.containers].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP, protocol }) =>
      hostPort > 0 ? [{ port: hostPort, ip: hostIP || ANY_ADDRESS, protocol: protocol || 'TCP' }] : [],
    ),
  );
}

function conflict(one: HostPort, other: HostPort): boolean {
  if (one.port !== other.port || one.protocol !== other.protocol) return false;
  return one.ip === other.ip || one.ip === ANY_ADDRESS || other.ip === ANY_ADDRESS;
}
