import type { Container, ContainerStatus, Pod, PodStatus, Probe } from '@node-agent/pod-spec';
import { defaultRestartFeatures } from '@node-agent/pod-spec';
import type { ProbeFacts } from '../src/worker-rule.ts';

export const CREATED_MS: number = Date.UTC(2026, 0, 1);
export const httpProbe: Probe = {
  httpGet: { port: 80, path: '/' },
  periodSeconds: 1,
  timeoutSeconds: 1,
  failureThreshold: 3,
};

export function container(name = 'web', fields: Partial<Container> = {}): Container {
  return { name, image: 'x', ...fields };
}

export function podOf(uid: string, containers: readonly Container[], fields: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name: `pod-${uid}`, namespace: 'default', uid },
    spec: { restartPolicy: 'Always', containers: [...containers], ...fields },
  };
}

export function running(name: string, id: string, fields: Partial<ContainerStatus> = {}): ContainerStatus {
  const startedAt = new Date(CREATED_MS).toISOString();
  const facts = { image: 'x', imageID: 'x', ready: false, restartCount: 0, started: true };
  return { name, ...facts, containerID: `test://${id}`, state: { running: { startedAt } }, ...fields };
}

export function statusOf(containerStatuses: readonly ContainerStatus[], fields: Partial<PodStatus> = {}): PodStatus {
  return { phase: 'Running', podIP: '10.0.0.5', containerStatuses: [...containerStatuses], ...fields };
}

/** Returns the facts of a readiness probe that may run now, unless `fields` change that. */
export function sightOf(fields: Partial<ProbeFacts> = {}): ProbeFacts {
  const web = container('web');
  return {
    kind: 'readiness',
    pod: podOf('1', [web]),
    container: web,
    times: { initialDelayMs: 0 },
    status: statusOf([running('web', 'c1')]),
    startup: () => undefined,
    needsAddress: true,
    nowMs: CREATED_MS + 60_000,
    knownForMs: 0,
    features: defaultRestartFeatures,
    ...fields,
  };
}
