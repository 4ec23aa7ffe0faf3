import type { Container, EphemeralContainer, Pod } from './api.ts';

/** Role of a container in its pod. A sidecar is an init container with `restartPolicy: Always` (KEP-753). */
export type ContainerType = 'init' | 'sidecar' | 'main' | 'ephemeral';

/** The fields common to containers of every type, including ephemeral containers. */
export type AnyContainer = Container | EphemeralContainer;

/** A container with its position in the pod. */
export interface PodContainer {
  readonly container: AnyContainer;
  readonly type: ContainerType;
  /** Index in its list of the spec. */
  readonly index: number;
  /** Field path, such as `spec.initContainers{name}`, as used in events; independent of the order of containers. */
  readonly fieldPath: string;
}

/** Returns whether an init container is a sidecar, which keeps running beside the later containers. */
export function isRestartableInit(container: AnyContainer): boolean {
  return container.restartPolicy === 'Always';
}

/** Yields all containers of a pod: init containers and sidecars, then main containers, then ephemeral containers. */
export function* allContainers(pod: Pick<Pod, 'spec'>): Generator<PodContainer, void, undefined> {
  const { initContainers, containers, ephemeralContainers } = pod.spec;
  let index = 0;
  for (const container of initContainers ?? []) {
    const type = isRestartableInit(container) ? 'sidecar' : 'init';
    yield { container, type, index: index++, fieldPath: `spec.initContainers{${container.name}}` };
  }
  index = 0;
  // The type requires containers, but a manifest that was not validated may have none.
  for (const container of containers ?? []) {
    yield { container, type: 'main', index: index++, fieldPath: `spec.containers{${container.name}}` };
  }
  index = 0;
  for (const container of ephemeralContainers ?? []) {
    yield { container, type: 'ephemeral', index: index++, fieldPath: `spec.ephemeralContainers{${container.name}}` };
  }
}

/** Returns the container of this name, of any type. */
export function findContainer(pod: Pick<Pod, 'spec'>, name: string): PodContainer | undefined {
  for (const entry of allContainers(pod)) {
    if (entry.container.name === name) return entry;
  }
  return undefined;
}
