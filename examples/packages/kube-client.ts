// From packages/kube-client/README.md, which explains the program.
import { FakeApiServer, FakeApiServerHttp } from '@node-agent/fake-apiserver';
import { nodeFileSystem } from '@node-agent/host';
import { Discovery, fieldSelector, KubeClients, loadKubeconfig, Reflector, resources } from '@node-agent/kube-client';

const kubeconfig = process.argv[2];
const fake = new FakeApiServerHttp({ api: new FakeApiServer() });
await fake.start();
const connection = kubeconfig
  ? await loadKubeconfig({ fs: nodeFileSystem }, kubeconfig)
  : { cluster: { server: fake.url }, user: {} };
const clients = new KubeClients({ environment: process.env }, { connection });
const { requests } = clients;
const { gitVersion } = await new Discovery({ client: requests }).serverVersion();
console.log(`a cluster of Kubernetes ${gitVersion}`);

const name = 'greeting';
const namespace = 'default';
const resource = resources.configMaps;
const selected = { resource, namespace, fieldSelector: fieldSelector({ 'metadata.name': name }) };
const reflector = new Reflector({ client: requests }, selected);
const stop = new AbortController();
const running = reflector.start(stop.signal);
for await (const change of reflector.changes()) {
  if (change.type === 'synced') {
    console.log(`synced with ${reflector.objects.size} objects`);
    await requests.create(resource, { metadata: { namespace, name }, data: { text: 'hello' } });
  } else if (change.type === 'changed') {
    const { text } = change.object.data ?? {};
    console.log(`${change.key} says ${text}`);
    if (text === 'hello') await requests.patch(resource, { type: 'merge', body: { data: { text: 'good bye' } } }, { namespace, name });
    else await requests.delete(resource, { namespace, name });
  } else {
    console.log(`${change.key} is gone`);
    break;
  }
}
stop.abort();
await running;
await clients[Symbol.asyncDispose]();
await fake.close();
