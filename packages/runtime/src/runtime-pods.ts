import { type Container, type PodSandbox, PodSandboxState } from '@node-agent/cri-client';
import type { RuntimeContainer, RuntimePod, RuntimeSandbox } from '@node-agent/pod-spec';
import { parseContainerAnnotations, parseContainerLabels } from './config/labels.ts';
import { containerState, criTimeMs, newestContainersFirst, newestSandboxFirst } from './status.ts';

/**
 * The lists of a runtime by pod, the pod that is the newest first, its parts the newest first. What has no id, or no
 * label that says whose it is, belongs to nobody here and is left out.
 */
export function toRuntimePods(sandboxes: readonly PodSandbox[], containers: readonly Container[]): RuntimePod[] {
  const pods = new Map<string, PodParts>();
  const partsOf = (uid: string, name: string, namespace: string): PodParts => {
    const known = pods.get(uid);
    if (known !== undefined) return known;
    const parts: PodParts = { uid, name, namespace, sandboxes: [], containers: [] };
    pods.set(uid, parts);
    return parts;
  };
  for (const sandbox of sandboxes) {
    const { metadata } = sandbox;
    if (sandbox.id === '' || metadata === null || metadata.uid === '') continue;
    partsOf(metadata.uid, metadata.name, metadata.namespace).sandboxes.push(toRuntimeSandbox(sandbox));
  }
  for (const container of containers) {
    const { podUid, podName, podNamespace } = parseContainerLabels(container.labels);
    if (container.id === '' || podUid === '') continue;
    partsOf(podUid, podName, podNamespace).containers.push(toRuntimeContainer(container));
  }
  return Array.from(pods.values(), toRuntimePod).sort((a, b) => b.createdAtMs - a.createdAtMs);
}

interface PodParts {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxes: RuntimeSandbox[];
  readonly containers: RuntimeContainer[];
}

function toRuntimePod(parts: PodParts): RuntimePod {
  const born = [...parts.sandboxes, ...parts.containers].map(({ createdAtMs }) => createdAtMs).filter((ms) => ms > 0);
  return {
    uid: parts.uid,
    name: parts.name,
    namespace: parts.namespace,
    createdAtMs: born.length === 0 ? 0 : Math.min(...born),
    containers: newestContainersFirst(parts.containers),
    sandboxes: parts.sandboxes.sort(newestSandboxFirst),
  };
}

function toRuntimeSandbox(sandbox: PodSandbox): RuntimeSandbox {
  return {
    id: sandbox.id,
    state: sandbox.state === PodSandboxState.SANDBOX_READY ? 'ready' : 'notReady',
    attempt: sandbox.metadata?.attempt ?? 0,
    createdAtMs: criTimeMs(sandbox.createdAt),
    runtimeHandler: sandbox.runtimeHandler,
  };
}

function toRuntimeContainer(container: Container): RuntimeContainer {
  const { containerName } = parseContainerLabels(container.labels);
  const { hash, restartCount } = parseContainerAnnotations(container.annotations);
  return {
    id: container.id,
    name: containerName || (container.metadata?.name ?? ''),
    state: containerState(container.state),
    sandboxId: container.podSandboxId,
    image: container.image?.image ?? '',
    imageId: container.imageId || container.imageRef,
    hash,
    restartCount,
    createdAtMs: criTimeMs(container.createdAt),
  };
}
