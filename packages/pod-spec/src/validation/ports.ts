import type { Container, ContainerPort } from '../api.ts';
import { duplicate, invalid, required } from '../field-error.ts';
import { portNameProblem } from '../names.ts';
import { inRange, named, type Problems, requiredOneOf } from './rules.ts';

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

/** Validates a container's ports. */
export function* validatePorts(ports: readonly ContainerPort[], path: string): Problems {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `${path}[${index}]`;
    if (port.name) {
      yield* named(`${at}.name`, port.name, portNameProblem);
      if (names.has(port.name)) yield duplicate(`${at}.name`, port.name);
      names.add(port.name);
    }
    if (!port.containerPort) yield required(`${at}.containerPort`);
    else yield* inRange(`${at}.containerPort`, port.containerPort, 1, 65_535);
    if (port.hostPort) yield* inRange(`${at}.hostPort`, port.hostPort, 1, 65_535);
    yield* requiredOneOf(`${at}.protocol`, port.protocol, PROTOCOLS);
  }
}

/** Validates that containers running at the same time do not use the same host port. */
export function* validateHostPorts(containers: readonly Container[], path: string): Problems {
  const taken = new Set<string>();
  for (const [index, container] of containers.entries()) {
    for (const [portIndex, port] of (container.ports ?? []).entries()) {
      if (!port.hostPort) continue;
      const key = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (taken.has(key)) yield duplicate(`${path}[${index}].ports[${portIndex}].hostPort`, key);
      taken.add(key);
    }
  }
}

/** Validates that on the host's network each host port equals its container port. */
export function* validateHostNetworkPorts(containers: readonly Container[], path: string): Problems {
  for (const [index, container] of containers.entries()) {
    for (const [portIndex, port] of (container.ports ?? []).entries()) {
      if ((port.hostPort ?? 0) === port.containerPort) continue;
      const detail = 'must match `containerPort` when `hostNetwork` is true';
      yield invalid(`${path}[${index}].ports[${portIndex}].hostPort`, port.hostPort ?? 0, detail);
    }
  }
}

/** Validates a port given by number or by name. */
export function* validatePortReference(port: number | string | undefined, path: string): Problems {
  if (typeof port === 'string') yield* named(path, port, portNameProblem);
  else yield* inRange(path, port ?? 0, 1, 65_535);
}
