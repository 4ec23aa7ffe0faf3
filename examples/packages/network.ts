// From packages/network/README.md, which explains the program.
import { MemoryFileSystem } from '@node-agent/host/testing';
import { PodNetwork } from '@node-agent/network';

const fs = new MemoryFileSystem();
await fs.mkdir('/etc');
await fs.writeFile('/etc/resolv.conf', 'nameserver 192.168.0.1\nsearch corp.example\n');

const network = new PodNetwork(
  { fs },
  { rootDirectory: '/var/lib/kubelet', nodeName: 'node-1', clusterDns: ['10.96.0.10'], clusterDomain: 'cluster.local' },
);
const pod = {
  metadata: { name: 'web', namespace: 'shop', uid: '1234' },
  spec: { containers: [{ name: 'app' }], dnsPolicy: 'ClusterFirst', subdomain: 'front' },
};
console.log(await network.podDns(pod));
console.log(network.hostname(pod));
console.log(await network.hostsMount(pod, { name: 'app' }, ['10.244.0.7']));
