import { type Container, type PodSandbox, PodSandboxState } from '@node-agent/cri-client';
import {
  annotatedSource,
  type PodSource,
  type RuntimeContainer,
  type RuntimePod,
  type RuntimeSandbox,
} from '@node-agent/pod-spec';
import { parseContainerLabels } from '../config/labels.ts';
import { containerIdentity, containerState, criTimeMs, newestContainersFirst, newestSandboxFirst } from './status.ts';

/**
 * The lists of a runtime by pod, the pod that is the newest first, its parts the newest first. A container whose
 * labels are lost belongs to the pod of its sandbox; what has no id, or is nobody's, is left out.
 */
export function toRuntimePods(sandboxes: readonly PodSandbox[], containers: readonly Container[]): RuntimePod[] {
  const pods = new Map<string, PodParts>();
  const partsOf = (uid: string, name: string, namespace: string): PodParts => {
    const known = pods.get(uid);
    if (known !== undefined) return known;
    const parts: PodParts = { uid, name, namespace, sandboxes: [], containers: [], sources: new Map() };
    pods.set(uid, parts);
    return parts;
  };
  const uidOfSandbox = new Map<string, string>();
  for (const sandbox of sandboxes) {
    const { metadata } = sandbox;
    if (sandbox.id === '' || metadata === null || metadata.uid === '') continue;
    uidOfSandbox.set(sandbox.id, metadata.uid);
    const parts = partsOf(metadata.uid, metadata.name, metadata.namespace);
    parts.sandboxes.push(toRuntimeSandbox(sandbox));
    parts.sources.set(sandbox.id, annotatedSource(sandbox.annotations));
  }
  for (const container of containers) {
    const { podUid, podName, podNamespace } = parseContainerLabels(container.labels);
    const uid = podUid || (uidOfSandbox.get(container.podSandboxId) ?? '');
    if (container.id === '' || uid === '') continue;
    partsOf(uid, podName, podNamespace).containers.push(toRuntimeContainer(container));
  }
  return Array.from(pods.values(), toRuntimePod).sort((a, b) => b.createdAtMs - a.createdAtMs);
}

/**
 * The UIDs of the pods of which a list by the kubelet's label does not show all that {@link toRuntimePods} makes of these lists: something
 * of them was made by others, as with crictl. Who reads one of them alone has to list everything.
 */
export function podsBeyondLabels(
  sandboxes: readonly PodSandbox[],
  containers: readonly Container[],
): ReadonlySet<string> {
  const beyond = new Set<string>();
  const uidOfSandbox = new Map<string, string>();
  for (const { id, metadata, labels } of sandboxes) {
    if (id === '' || metadata === null || metadata.uid === '') continue;
    uidOfSandbox.set(id, metadata.uid);
    if (parseContainerLabels(labels).podUid !== metadata.uid) beyond.add(metadata.uid);
  }
  for (const { id, labels, podSandboxId } of containers) {
    const uid = uidOfSandbox.get(podSandboxId);
    if (id !== '' && uid !== undefined && parseContainerLabels(labels).podUid === '') beyond.add(uid);
  }
  return beyond;
}

interface PodParts {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxes: RuntimeSandbox[];
  readonly containers: RuntimeContainer[];
  /** By the sandbox that names it. */
  readonly sources: Map<string, PodSource | undefined>;
}

function toRuntimePod(parts: PodParts): RuntimePod {
  const born = [...parts.sandboxes, ...parts.containers].map(({ createdAtMs }) => createdAtMs).filter((ms) => ms > 0);
  const sandboxes = parts.sandboxes.sort(newestSandboxFirst);
  const source = parts.sources.get(sandboxes[0]?.id ?? '');
  return {
    uid: parts.uid,
    name: parts.name,
    namespace: parts.namespace,
    createdAtMs: born.length === 0 ? 0 : Math.min(...born),
    ...(source && { source }),
    containers: newestContainersFirst(parts.containers),
    sandboxes,
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

/** A container of a list. */
export function toRuntimeContainer(container: Container): RuntimeContainer {
  const { name, hash, restartCount } = containerIdentity(container);
  return {
    id: container.id,
    name,
    state: containerState(container.state),
    sandboxId: container.podSandboxId,
    image: container.image?.image ?? '',
    imageId: container.imageId || container.imageRef,
    hash,
    restartCount,
    createdAtMs: criTimeMs(container.createdAt),
  };
}
