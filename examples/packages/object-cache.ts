// From packages/object-cache/README.md, which explains the program.
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { RestClient } from '@node-agent/kube-client';
import { ObjectCache } from '@node-agent/object-cache';

// In a program: the client `requests` of KubeClients.
const api = new FakeApiServer();
const client = new RestClient({ transport: api });
api.put({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'default', name: 'db' }, data: { password: 'aHVudGVyMg==' } });

const cache = new ObjectCache({ client }, { strategy: 'Watch' });
const stop = new AbortController();
const running = cache.start(stop.signal);
const pod = {
  metadata: { namespace: 'default', name: 'web', uid: '1' },
  spec: { containers: [{ name: 'main', envFrom: [{ secretRef: { name: 'db' } }] }] },
};
cache.registerPod(pod);
const { data } = await cache.getSecret('default', 'db', stop.signal);
console.log('db has', Object.keys(data ?? {}));
cache.unregisterPod(pod);
await cache.getSecret('default', 'db', stop.signal).catch((error) => console.log(error.message));
stop.abort();
await running;
