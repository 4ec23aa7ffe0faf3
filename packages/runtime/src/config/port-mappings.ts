import { type Init, type PortMapping, Protocol } from '@node-agent/cri-client';
import type { Container, ContainerPort, Pod } from '@node-agent/pod-spec';

/**
 * Returns the port mappings of a pod's sandbox. Of ports with the same name in one container, only the first counts; an
 * unnamed port is identified by its protocol, address and numbers (`MakePortMappings` in
 * `pkg/kubelet/container/helpers.go`). An unknown protocol counts as TCP.
 */
export function podPortMappings(pod: Pod): readonly Init<PortMapping>[] {
  return pod.spec.containers.flatMap(containerPortMappings);
}

function containerPortMappings(container: Container): readonly Init<PortMapping>[] {
  const byName = new Map<string, Init<PortMapping>>();
  for (const port of container.ports ?? []) {
    const name = port.name || unnamed(port);
    if (byName.has(name)) continue;
    byName.set(name, {
      protocol: protocol(port),
      containerPort: port.containerPort,
      hostPort: port.hostPort ?? 0,
      hostIp: port.hostIP ?? '',
    });
  }
  return [...byName.values()];
}

function protocol(port: ContainerPort): Protocol {
  return port.protocol === 'UDP' || port.protocol === 'SCTP' ? Protocol[port.protocol] : Protocol.TCP;
}

function unnamed({ protocol = 'TCP', hostIP = '', containerPort, hostPort = 0 }: ContainerPort): string {
  return `${protocol}-${hostIP}:${containerPort}:${hostPort}`;
}
