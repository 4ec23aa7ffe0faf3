import { resources } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';
import { expect, it } from 'vitest';
import { boundPod, makeCluster, seconds } from './cluster-world.ts';

const [main] = boundPod('').spec.containers;
const withClaim = (claimName: string): Partial<Pod['spec']> => ({
  containers: [{ name: 'main', ...main, volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
});
const claim = (phase: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'c', namespace: 'default', uid: 'uid-c' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv-1' },
  status: { phase },
});
const persistentVolume = (spec: object) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'pv-1' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    claimRef: { namespace: 'default', name: 'c', uid: 'uid-c' },
    hostPath: { path: '/srv' },
    volumeMode: 'Filesystem',
    ...spec,
  },
});

it('a pod waits for its PersistentVolumeClaim to be bound, shows the reason, and then mounts it', async () => {
  const { clock, api, client, cri, start } = await makeCluster();
  const { stop, kubelet } = start();
  await seconds(clock, 2);
  api.put(claim('Pending'));
  await client.create(resources.pods, boundPod('web', withClaim('c')));
  await seconds(clock, 2);
  const waits = kubelet.explain('default', 'web')?.waitingFor.map(({ what }) => what);
  expect(waits).toContain('volumes: data: error processing PVC default/c: PVC is not bound');
  expect(cri.liveContainers()).toEqual([]);
  api.put(persistentVolume({}));
  api.put(claim('Bound'));
  await seconds(clock, 5);
  const status = async () => (await client.get(resources.pods, { namespace: 'default', name: 'web' })).status;
  expect(await status()).toMatchObject({ phase: 'Running' });
  await stop();
});

it("a PersistentVolume with another node's labels is not mounted", async () => {
  const { clock, api, client, cri, start } = await makeCluster();
  const { stop } = start();
  await seconds(clock, 2);
  api.put(claim('Bound'));
  const values = ['n1'];
  const required = (key: string) => ({ nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values }] }] });
  api.put(persistentVolume({ nodeAffinity: { required: required('other') } }));
  await client.create(resources.pods, boundPod('web', withClaim('c')));
  await seconds(clock, 3);
  expect(cri.liveContainers()).toEqual([]);
  // The affinity now requires the label `kubernetes.io/hostname`, which each node sets on itself.
  api.put(persistentVolume({ nodeAffinity: { required: required('kubernetes.io/hostname') } }));
  await seconds(clock, 10);
  expect(cri.liveContainers()).toHaveLength(1);
  await stop();
});
