import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerStatus, Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { containerId, script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import type { TestCluster } from './test-cluster.ts';
import { FOREVER } from './workloads.ts';

const PODS = '/api/v1/namespaces/default/pods';

const statusOf = (pod: Pod, name: string): ContainerStatus | undefined =>
  pod.status?.ephemeralContainerStatuses?.find((status) => status.name === name);

/** Adds ephemeral containers to a running pod, as `kubectl debug` does. */
async function debug(it: TestCluster, name: string, ...containers: object[]): Promise<void> {
  const pod = await it.get<Pod>(`${PODS}/${name}`);
  const ephemeralContainers = [...(pod?.spec.ephemeralContainers ?? []), ...containers];
  await it.plane.json('PUT', `${PODS}/${name}/ephemeralcontainers`, {
    ...pod,
    spec: { ...pod?.spec, ephemeralContainers },
  });
}

await withCluster('ephemeral containers and preemption', { subnet: '10.199.80.0/24' }, (cluster) => {
  test("an ephemeral container sees its target's processes, and runs only once, even over a kubelet restart", async () => {
    const it = cluster();
    await it.createPod('app', { containers: [script('web', `exec 3<&0; ${FOREVER}`), script('other', FOREVER)] });
    const before = await it.readyPod('app');

    const look = 'tr "\\0" " " < /proc/1/cmdline; echo; ls -d /proc/[0-9]* | wc -l; exit 7';
    await debug(it, 'app', { ...script('look', look), targetContainerName: 'web', terminationMessagePolicy: 'File' });
    const after = await it.podUntil('app', (pod) => statusOf(pod, 'look')?.state?.terminated != null);
    expect(statusOf(after, 'look')).toMatchObject({
      state: { terminated: { exitCode: 7, reason: 'Error' } },
      ready: false,
      restartCount: 0,
    });
    const { namespace, name, uid } = after.metadata;
    const log = await readFile(join(it.node.podLogs, `${namespace}_${name}_${uid}`, 'look/0.log'), 'utf8');
    // The first process that the container sees is the target's script.
    expect(log).toContain('exec 3<&0');
    for (const container of ['web', 'other'])
      expect(containerId(after, container)).toBe(containerId(before, container));

    await it.node.kill('SIGKILL');
    await it.node.start();
    await debug(it, 'app', { ...script('second', FOREVER), targetContainerName: 'other' });
    const later = await it.podUntil('app', (pod) => statusOf(pod, 'second')?.state?.running != null);
    expect(statusOf(later, 'look')).toEqual(statusOf(after, 'look'));
    expect(containerId(later, 'web')).toBe(containerId(before, 'web'));
    const ids = await it.cri.listContainers({ filter: { labelSelector: { 'io.kubernetes.pod.uid': uid } } });
    expect(ids.containers.filter(({ metadata }) => metadata?.name === 'look')).toHaveLength(1);
    await it.deletePod('app');
  });

  test('an ephemeral container without a startable image waits with a reason, and the pod stays ready', async () => {
    const it = cluster();
    await it.createPod('lost', { containers: [script('web', FOREVER)] });
    await it.readyPod('lost');
    await debug(it, 'lost', { ...script('look', FOREVER), targetContainerName: 'web' });
    await it.podUntil('lost', (pod) => statusOf(pod, 'look')?.state?.running != null);
    // The API server rejects an unknown target container, so the test uses an image that does not exist.
    await debug(it, 'lost', { name: 'no-image', image: 'node-agent.local/none:1', imagePullPolicy: 'Never' });
    const pod = await it.podUntil(
      'lost',
      (one) => statusOf(one, 'no-image')?.state?.waiting?.reason === 'ErrImageNeverPull',
    );
    expect(pod.status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
    await it.deletePod('lost');
  });

  test('preempts a pod to admit a critical pod, and the preempted pod reports the reason', async () => {
    const it = cluster();
    const node = await it.get<{ status: { allocatable: { cpu: string } } }>('/api/v1/nodes/e2e');
    const cpus = Number(node?.status.allocatable.cpu ?? 1);
    const most = `${Math.floor(cpus * 1000 * 0.8)}m`;
    const asking = (more: object): object => ({
      nodeName: 'e2e',
      containers: [script('c', FOREVER, { resources: { requests: { cpu: most } } })],
      ...more,
    });
    await it.createPod('plain', asking({}));
    await it.readyPod('plain');
    // nodeName bypasses the scheduler, which would preempt the pod itself.
    await it.createPod('critical', asking({ priorityClassName: 'system-node-critical' }));
    await it.readyPod('critical');
    const plain = await it.podUntil('plain', (pod) => pod.status?.phase === 'Failed');
    expect(plain.status).toMatchObject({ reason: 'Preempting', message: 'Preempted in order to admit critical pod' });
    expect(plain.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')).toMatchObject({
      status: 'True',
      reason: 'TerminationByKubelet',
      message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
    });
    await it.eventUntil('plain', 'Preempting', /^Preempted in order to admit critical pod$/);
    await it.deletePod('critical');
    await it.deletePod('plain');
  });
});
