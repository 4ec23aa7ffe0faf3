import type { ProbeResult } from '@node-agent/contracts';
import type {
  Container,
  Pod,
  RuntimeContainerStatus,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '@node-agent/pod-spec';
import type { PodActionsContext } from '../src/actions/pod-actions.ts';
import { containerHash } from '../src/reconcile/container-hash.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export function container(name: string, extra: Partial<Container> = {}): Container {
  return { name, image: `image-of-${name}`, ...extra };
}

export function sidecar(name: string, extra: Partial<Container> = {}): Container {
  return container(name, { restartPolicy: 'Always', ...extra });
}

export function pod(spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', ...metadata },
    spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, containers: [container('app')], ...spec },
  };
}

export function sandbox(extra: Partial<RuntimeSandboxStatus> = {}): RuntimeSandboxStatus {
  return {
    id: 'sandbox-0',
    state: 'ready',
    attempt: 0,
    createdAtMs: 1_000,
    ips: ['10.0.0.7'],
    hostNetwork: false,
    runtimeHandler: '',
    ...extra,
  };
}

export function record(
  name: string,
  state: RuntimeContainerStatus['state'],
  extra: Partial<Mutable<RuntimeContainerStatus>> = {},
): RuntimeContainerStatus {
  const restartCount = extra.restartCount ?? 0;
  const createdAtMs = extra.createdAtMs ?? 2_000 + restartCount * 1_000;
  return {
    id: `${name}-${restartCount}`,
    name,
    state,
    createdAtMs,
    startedAtMs: state === 'created' ? 0 : createdAtMs,
    finishedAtMs: state === 'exited' ? createdAtMs + 500 : 0,
    exitCode: 0,
    image: `image-of-${name}`,
    imageId: '',
    hash: containerHash(container(name)),
    restartCount,
    reason: '',
    message: '',
    sandboxId: 'sandbox-0',
    ...extra,
  };
}

export function status(
  containers: readonly RuntimeContainerStatus[] = [],
  sandboxes: readonly RuntimeSandboxStatus[] = [sandbox()],
): RuntimePodStatus {
  return {
    uid: 'uid-1',
    name: 'web',
    namespace: 'default',
    ips: sandboxes[0]?.ips ?? [],
    sandboxes,
    containers,
    observedAtMs: 0,
  };
}

/** Returns a context with these liveness and startup probe results, by container ID. */
export function context(
  liveness: Readonly<Record<string, ProbeResult | undefined>> = {},
  startup: Readonly<Record<string, ProbeResult | undefined>> = {},
): PodActionsContext {
  return { probes: { liveness: (id) => liveness[id], startup: (id) => startup[id] } };
}
