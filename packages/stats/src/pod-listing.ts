import { type Container, ContainerState, type PodSandbox, PodSandboxState } from '@node-agent/cri-client';
import type { PodReference } from './summary.ts';

/** A pod as the runtime has it, with what runs of it. */
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
  /** As it was asked for. */
  readonly image: string;
  readonly imageId: string;
}

const NAME_LABEL = 'io.kubernetes.container.name';

/**
 * The pods that count, with their running containers: of sandboxes of one name those that are ready, else the newest
 * (`removeTerminatedPods`, `removeTerminatedContainers`, `cri_stats_provider.go`). Oldest first. A pod that has ended uses nothing, and
 * is left out; upstream leaves out those too whose containers are still to start, of which their volumes and logs are told here.
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
