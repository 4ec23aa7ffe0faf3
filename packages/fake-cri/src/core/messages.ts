import {
  type Container,
  ContainerState,
  type ContainerStatus,
  type Image,
  type Init,
  type PodSandbox,
  PodSandboxState,
  type PodSandboxStatus,
  Signal,
} from '@node-agent/cri-client';
import { DEFAULT_IMAGE_SIZE_BYTES, type ImageRecord } from './image-store.ts';
import { type ContainerRecord, containerState, type RuntimeState, type SandboxRecord } from './state.ts';

/** Returns a sandbox as ListPodSandbox reports it. */
export function toPodSandbox(sandbox: SandboxRecord): Init<PodSandbox> {
  return {
    id: sandbox.id,
    metadata: sandbox.metadata,
    state: sandbox.ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY,
    createdAt: sandbox.createdAtNs,
    labels: sandbox.config.labels,
    annotations: sandbox.config.annotations,
    runtimeHandler: sandbox.runtimeHandler,
  };
}

/** Returns a sandbox as PodSandboxStatus reports it. */
export function toPodSandboxStatus(sandbox: SandboxRecord): Init<PodSandboxStatus> {
  const [ip = '', ...more] = sandbox.ips;
  return {
    id: sandbox.id,
    metadata: sandbox.metadata,
    state: sandbox.ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY,
    createdAt: sandbox.createdAtNs,
    network: { ip, additionalIps: more.map((address) => ({ ip: address })) },
    linux: { namespaces: { options: sandbox.config.linux?.securityContext?.namespaceOptions ?? null } },
    labels: sandbox.config.labels,
    annotations: sandbox.config.annotations,
    runtimeHandler: sandbox.runtimeHandler,
  };
}

/** Returns a container as ListContainers reports it. */
export function toContainer(container: ContainerRecord): Init<Container> {
  return {
    id: container.id,
    podSandboxId: container.sandboxId,
    metadata: container.metadata,
    image: container.config.image,
    imageRef: container.imageId,
    imageId: container.imageId,
    state: containerState(container),
    createdAt: container.createdAtNs,
    labels: container.config.labels,
    annotations: container.config.annotations,
  };
}

/** Returns a container as ContainerStatus reports it. */
export function toContainerStatus(state: RuntimeState, container: ContainerRecord): Init<ContainerStatus> {
  const image = state.images.find(container.imageId);
  const [tag] = image?.repoTags ?? [];
  const [digest] = image?.repoDigests ?? [];
  const now = containerState(container);
  const ended = now === ContainerState.CONTAINER_EXITED;
  const signal = container.config.stopSignal || Signal[container.stopSignal as keyof typeof Signal];
  return {
    id: container.id,
    metadata: container.metadata,
    state: now,
    createdAt: container.createdAtNs,
    startedAt: now === ContainerState.CONTAINER_CREATED ? 0 : container.startedAtNs,
    finishedAt: ended ? container.finishedAtNs : 0,
    exitCode: container.exitCode,
    image: tag === undefined ? container.config.image : { image: tag },
    imageRef: digest ?? container.imageId,
    imageId: container.imageId,
    reason: ended ? container.reason || (container.exitCode === 0 ? 'Completed' : 'Error') : '',
    message: container.message,
    labels: container.config.labels,
    annotations: container.config.annotations,
    mounts: container.config.mounts,
    logPath: container.logPath,
    resources: container.resources === null ? null : { linux: container.resources },
    user: {
      linux: {
        uid: container.uid,
        gid: container.gid,
        supplementalGroups: container.config.linux?.securityContext?.supplementalGroups ?? [],
      },
    },
    stopSignal: signal,
  };
}

/** Returns an image as ListImages and ImageStatus report it. */
export function toImage(record: ImageRecord): Init<Image> {
  const { image } = record;
  return {
    id: record.id,
    repoTags: record.repoTags,
    repoDigests: record.repoDigests,
    size: image.sizeBytes ?? DEFAULT_IMAGE_SIZE_BYTES,
    uid: image.uid === undefined ? null : { value: image.uid },
    username: image.username ?? '',
    pinned: image.pinned ?? false,
  };
}
