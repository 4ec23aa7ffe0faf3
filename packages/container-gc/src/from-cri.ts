import { type Container, ContainerState, type PodSandbox, PodSandboxState } from '@node-agent/cri-client';
import type { GcContainer } from './plan-containers.ts';
import type { GcSandbox } from './plan-sandboxes.ts';

const POD_UID_LABEL = 'io.kubernetes.pod.uid';
const GRACE_PERIOD_ANNOTATION = 'io.kubernetes.pod.terminationGracePeriod';
const MINIMUM_GRACE_PERIOD_SECONDS = 2;
const NANOSECONDS_PER_MILLISECOND = 1e6;

/** The data of a container that the collection needs. */
export interface ListedContainer extends GcContainer {
  readonly sandboxId: string;
  /** Grace period in seconds before the container is killed. */
  readonly gracePeriodSeconds: number;
}

/** Converts a container from a list. Returns `undefined` for a container that no kubelet created. */
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

/** Converts a sandbox from a list; `undefined` for a sandbox without a pod. */
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
