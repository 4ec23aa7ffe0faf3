import type {
  ContainerStatus,
  Pod,
  RuntimeContainerStatus,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '@node-agent/pod-spec';
import type { PodStatusContext } from '../src/generate.ts';
import { noProbeResults } from '../src/readiness.ts';

export function makePod(spec: Partial<Pod['spec']> = {}, overrides: Partial<Pod> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u1' },
    spec: { containers: [{ name: 'main', image: 'busybox:1' }], ...spec },
    ...overrides,
  };
}

/** Creates a static pod, as from a manifest file. */
export function makeStaticPod(spec: Partial<Pod['spec']> = {}): Pod {
  const annotations = { 'kubernetes.io/config.source': 'file' };
  return makePod(spec, { metadata: { name: 'web', namespace: 'default', uid: 'u1', annotations } });
}

export function runtimeContainer(overrides: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus {
  const exited = overrides.state === 'exited';
  return {
    id: 'c1',
    name: 'main',
    state: 'running',
    createdAtMs: Date.UTC(2026, 0, 1, 0, 0, 1),
    startedAtMs: Date.UTC(2026, 0, 1, 0, 0, 2, 345),
    finishedAtMs: exited ? Date.UTC(2026, 0, 1, 0, 0, 9, 999) : 0,
    exitCode: 0,
    image: 'busybox:1',
    imageId: 'sha256:1',
    hash: '',
    restartCount: 0,
    reason: exited ? 'Completed' : '',
    message: '',
    sandboxId: 's1',
    ...overrides,
  };
}

export function makeSandbox(overrides: Partial<RuntimeSandboxStatus> = {}): RuntimeSandboxStatus {
  const sandbox = { id: 's1', state: 'ready' as const, attempt: 0, createdAtMs: Date.UTC(2026, 0, 1), ips: [] };
  return { ...sandbox, hostNetwork: false, runtimeHandler: '', ...overrides };
}

export function runtimeStatus(...containers: readonly RuntimeContainerStatus[]): RuntimePodStatus {
  return {
    uid: 'u1',
    name: 'web',
    namespace: 'default',
    ips: ['10.0.0.7'],
    sandboxes: [],
    containers,
    observedAtMs: 0,
  };
}

export function makeContext(overrides: Partial<PodStatusContext> = {}): PodStatusContext {
  return {
    oldStatus: undefined,
    podIsTerminal: false,
    failure: undefined,
    runtimeName: 'containerd',
    startFailure: () => undefined,
    probes: noProbeResults,
    sandboxReady: true,
    hostIps: ['192.168.0.1'],
    ...overrides,
  };
}

/**
 * Creates a container status in one of the states that the pod's phase depends on. A number is the exit code of a
 * terminated container.
 */
export function apiStatus(
  name: string,
  state: 'waiting' | 'running' | 'crashed' | number,
  overrides: Partial<ContainerStatus> = {},
): ContainerStatus {
  const base = { name, image: '', imageID: '', ready: false, restartCount: 0, ...overrides };
  if (typeof state === 'number') return { ...base, state: { terminated: { exitCode: state } } };
  if (state === 'running') return { ...base, state: { running: {} } };
  if (state === 'waiting') return { ...base, state: { waiting: {} } };
  return { ...base, state: { waiting: {} }, lastState: { terminated: { exitCode: 1 } } };
}
