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
 * Groups the runtime's lists by pod, newest pods and parts first. A container without labels belongs to the pod of its
 * sandbox. Sandboxes and containers without an ID or a pod are omitted.
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
 * Returns the UIDs of pods that a list filtered by the kubelet's label shows incompletely, because another tool such as
 * crictl created some of their parts. To read one of these pods, the runtime must be asked for all sandboxes and
 * containers.
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
  /** Sources of the pod (file, HTTP or API), by the ID of the sandbox whose annotation names the source. */
  readonly sources: Map<string, PodSource | undefined>;
}

function toRuntimePod(parts: PodParts): RuntimePod {
  const creationTimes = [...parts.sandboxes, ...parts.containers]
    .map(({ createdAtMs }) => createdAtMs)
    .filter((ms) => ms > 0);
  const sandboxes = parts.sandboxes.sort(newestSandboxFirst);
  const source = parts.sources.get(sandboxes[0]?.id ?? '');
  return {
    uid: parts.uid,
    name: parts.name,
    namespace: parts.namespace,
    createdAtMs: creationTimes.length === 0 ? 0 : Math.min(...creationTimes),
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

/** Converts a container of a ListContainers response to a RuntimeContainer. */
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
