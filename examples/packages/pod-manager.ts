// From packages/pod-manager/README.md, which explains the program.
import { PodManager } from '@node-agent/pod-manager';

const metadata = { name: 'etcd-node-1', namespace: 'kube-system' };
const spec = { containers: [{ name: 'etcd', image: 'etcd:3.6' }] };
const etcd = {
  metadata: { ...metadata, uid: 'of-file', annotations: { 'kubernetes.io/config.source': 'file' } },
  spec,
};
const mirror = {
  metadata: { ...metadata, uid: 'of-api', annotations: { 'kubernetes.io/config.mirror': 'hash' } },
  spec,
};

const manager = new PodManager();
manager.addPod(etcd);
manager.addPod(mirror);
console.log(manager.getPods().length, 'pod, known to the API server as', manager.getMirrorPodByPod(etcd)?.metadata.uid);
console.log('the API server asks for of-api, which here is', manager.translatePodUid('of-api'));
manager.removePod(etcd);
console.log('without a static pod:', manager.getPodsAndMirrorPods().orphanedMirrorPodFullNames);
