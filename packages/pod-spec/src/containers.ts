import type { Container, EphemeralContainer, Pod } from './api.ts';

/** What part a container plays in its pod; a sidecar is an init container with `restartPolicy: Always` (KEP-753). */
export type ContainerType = 'init' | 'sidecar' | 'main' | 'ephemeral';

/** The fields that containers of every type have: an ephemeral container has them too. */
export type AnyContainer = Container | EphemeralContainer;

/** A container of a pod with its place in it. */
export interface PodContainer {
  readonly container: AnyContainer;
  readonly type: ContainerType;
  /** Its index in the list of the spec that it is in. */
  readonly index: number;
  /** As `spec.initContainers{name}`: what events call it, and sorting does not change. */
  readonly fieldPath: string;
}

/** Whether an init container is a sidecar: it goes on running beside those that follow it. */
export function isRestartableInit(container: AnyContainer): boolean {
  return container.restartPolicy === 'Always';
}

/** All containers of a pod: init containers and sidecars, then main containers, then ephemeral ones. */
export function* allContainers(pod: Pick<Pod, 'spec'>): Generator<PodContainer, void, undefined> {
  for (const [index, container] of (pod.spec.initContainers ?? []).entries()) {
    const type = isRestartableInit(container) ? 'sidecar' : 'init';
    yield { container, type, index, fieldPath: `spec.initContainers{${container.name}}` };
  }
  // The type says that there are containers; a manifest that was not validated yet may have none.
  for (const [index, container] of (pod.spec.containers ?? []).entries()) {
    yield { container, type: 'main', index, fieldPath: `spec.containers{${container.name}}` };
  }
  for (const [index, container] of (pod.spec.ephemeralContainers ?? []).entries()) {
    yield { container, type: 'ephemeral', index, fieldPath: `spec.ephemeralContainers{${container.name}}` };
  }
}

/** The container of this name, of whatever type. */
export function findContainer(pod: Pick<Pod, 'spec'>, name: string): PodContainer | undefined {
  for (const entry of allContainers(pod)) {
    if (entry.container.name === name) return entry;
  }
  return undefined;
}
