import { type Container, ContainerState, type PodSandbox, PodSandboxState } from '@node-agent/cri-client';
import type { GcContainer } from './plan-containers.ts';
import type { GcSandbox } from './plan-sandboxes.ts';

const POD_UID_LABEL = 'io.kubernetes.pod.uid';
const GRACE_PERIOD_ANNOTATION = 'io.kubernetes.pod.terminationGracePeriod';
const MINIMUM_GRACE_PERIOD_SECONDS = 2;
const NANOSECONDS_PER_MILLISECOND = 1e6;

/** What the collection needs to know of a container. */
export interface ListedContainer extends GcContainer {
  readonly sandboxId: string;
  /** How long it is given to end before it is killed, in seconds. */
  readonly gracePeriodSeconds: number;
}

/** Reads a container of a list; `undefined` for one that no kubelet made, which is left alone. */
export function listedContainer(container: Container): ListedContainer | undefined {
  const podUid = container.labels[POD_UID_LABEL];
  if (!podUid || !container.metadata) return undefined;
  return {
    id: container.id,
    podUid,
    name: container.metadata.name,
    attempt: container.metadata.attempt,
    sandboxId: container.podSandboxId,
    state: stateOf(container),
    createdAtMs: container.createdAt / NANOSECONDS_PER_MILLISECOND,
    gracePeriodSeconds: gracePeriodSeconds(container.annotations[GRACE_PERIOD_ANNOTATION]),
  };
}

/** Reads a sandbox of a list; `undefined` for one without a pod. */
export function listedSandbox(sandbox: PodSandbox): GcSandbox | undefined {
  const { metadata } = sandbox;
  if (!metadata?.uid) return undefined;
  return {
    id: sandbox.id,
    podUid: metadata.uid,
    attempt: metadata.attempt,
    ready: sandbox.state === PodSandboxState.SANDBOX_READY,
    createdAtMs: sandbox.createdAt / NANOSECONDS_PER_MILLISECOND,
  };
}

function stateOf({ state }: Container): GcContainer['state'] {
  switch (state) {
    case ContainerState.CONTAINER_CREATED:
      return 'created';
    case ContainerState.CONTAINER_RUNNING:
      return 'running';
    case ContainerState.CONTAINER_EXITED:
      return 'exited';
    default:
      return 'unknown';
  }
}

function gracePeriodSeconds(text: string | undefined): number {
  const seconds = /^\d{1,9}$/.test(String(text)) ? Number(text) : MINIMUM_GRACE_PERIOD_SECONDS;
  return Math.max(seconds, MINIMUM_GRACE_PERIOD_SECONDS);
}
