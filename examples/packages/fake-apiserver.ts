// From packages/fake-apiserver/README.md, which explains the program.
import { FakeApiServer } from '@node-agent/fake-apiserver';

const api = new FakeApiServer();

async function call(method: string, path: string, body?: object) {
  const headers = { 'content-type': 'application/json' };
  const response = await api.request({ method, path, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return { status: response.status, body: JSON.parse(Buffer.concat(chunks).toString()) };
}

const pods = '/api/v1/namespaces/default/pods';
const spec = { nodeName: 'node-1', containers: [{ name: 'main', image: 'busybox' }] };
await call('POST', pods, { metadata: { name: 'web' }, spec });

// The first DELETE is rejected with 429. The second starts the grace period, so the pod stays until the node deletes it.
api.faults.add({ verb: 'delete', resource: 'pods', times: 1, fault: { kind: 'status', code: 429 } });
for (const attempt of [1, 2]) {
  const { status, body } = await call('DELETE', `${pods}/web`);
  console.log(`try ${attempt}: ${status} ${body.reason ?? `grace ${body.metadata.deletionGracePeriodSeconds} s`}`);
}
const { body } = await call('DELETE', `${pods}/web`, { gracePeriodSeconds: 0 });
console.log(`deleted: ${body.metadata.name}, ${api.objects('pods').length} pods left`);
