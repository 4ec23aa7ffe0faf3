import type { Pod } from '@node-agent/pod-spec';
import { expect } from 'vitest';
import { containerId, script } from '../e2e/test-node.ts';
import { isReady, type TestCluster } from './test-cluster.ts';

export const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

/** Creates a deployment with no replicas. */
export async function createDeployment(cluster: TestCluster, name: string): Promise<void> {
  const labels = { app: name };
  await cluster.create(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: 1, containers: [script('c', FOREVER)] },
      },
    },
  });
}

export async function scale(cluster: TestCluster, name: string, replicas: number): Promise<void> {
  await cluster.plane.kubectl(['scale', 'deployment', name, `--replicas=${replicas}`]);
}

/** Waits until a deployment has exactly `count` pods and all are ready. */
export async function allReady(cluster: TestCluster, name: string, count: number): Promise<readonly Pod[]> {
  return cluster.until(
    `${count} ready pods of ${name}`,
    async () => {
      const pods = await cluster.pods(`app=${name}`);
      return pods.length === count && pods.every(isReady) ? pods : undefined;
    },
    120_000,
  );
}

/** Waits until a deployment has no pods and no running containers. */
export async function allGone(cluster: TestCluster, name: string): Promise<void> {
  await cluster.until(
    `pods of ${name} to be gone`,
    async () => {
      const pods = await cluster.pods(`app=${name}`);
      const running = (await cluster.running()).filter(({ pod }) => pod.startsWith(`${name}-`));
      return (pods.length === 0 && running.length === 0) || undefined;
    },
    120_000,
  );
}

/**
 * Checks that no pod was lost or duplicated: each pod has one running container, which is the container in the pod's
 * status.
 */
export async function expectOneContainerEach(cluster: TestCluster, name: string, pods: readonly Pod[]): Promise<void> {
  const running = (await cluster.running()).filter(({ pod }) => pod.startsWith(`${name}-`));
  const expected = pods.map((pod) => `${pod.metadata.name} ${containerId(pod)}`).sort();
  expect(running.map(({ pod, id }) => `${pod} ${id}`).sort()).toEqual(expected);
}
