import { type Container, ContainerState, type PodSandbox, PodSandboxState } from '@node-agent/cri-client';
import type { PodReference } from './summary.ts';

/** A pod of the runtime with its running containers. */
export interface ListedPod {
  readonly ref: PodReference;
  readonly sandboxId: string;
  readonly createdAtMs: number;
  readonly containers: readonly ListedContainer[];
}

export interface ListedContainer {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  /** Image as requested. */
  readonly image: string;
  readonly imageId: string;
}

const NAME_LABEL = 'io.kubernetes.container.name';

/**
 * Returns the current pods with their running containers, oldest first. If several sandboxes have one pod name, returns
 * the ready sandboxes, or the newest one if none is ready (`removeTerminatedPods`, `removeTerminatedContainers`,
 * `cri_stats_provider.go`). A terminated pod uses no resources and is omitted. Difference from upstream: a pod whose
 * containers have not started yet is included, for its volumes and logs.
 */
export function listPods(sandboxes: readonly PodSandbox[], containers: readonly Container[]): readonly ListedPod[] {
  const byName = Map.groupBy(sandboxes, ({ metadata }) => `${metadata?.namespace}/${metadata?.name}`);
  const counting = [...byName.values()].flatMap((group) => {
    const ready = group.filter(({ state }) => state === PodSandboxState.SANDBOX_READY);
    const newest = group.reduce((a, b) => (b.createdAt > a.createdAt ? b : a));
    return ready.length > 0 ? ready : [newest];
  });
  const running = containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  const bySandbox = Map.groupBy(running, ({ podSandboxId }) => podSandboxId);
  return counting
    .sort((a, b) => a.createdAt - b.createdAt)
    .filter(({ id, state }) => state === PodSandboxState.SANDBOX_READY || bySandbox.has(id))
    .map(({ id, metadata, createdAt }) => ({
      ref: { name: metadata?.name ?? '', namespace: metadata?.namespace ?? '', uid: metadata?.uid ?? '' },
      sandboxId: id,
      createdAtMs: createdAt / 1e6,
      containers: (bySandbox.get(id) ?? []).map(listedContainer),
    }));
}

function listedContainer({ id, labels, metadata, createdAt, image, imageRef, imageId }: Container): ListedContainer {
  return {
    id,
    name: labels[NAME_LABEL] ?? metadata?.name ?? '',
    createdAtMs: createdAt / 1e6,
    image: image?.userSpecifiedImage || image?.image || '',
    imageId: imageId || imageRef,
  };
}
