// From packages/prober/README.md, which explains the program.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Prober } from '@node-agent/prober';

const server = createServer((_, response) => response.end('fine')).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const { port } = server.address() as AddressInfo;

// Where containers are found: the newest status of each pod. In a kubelet, `@node-agent/status` has it.
const state = { running: { startedAt: new Date().toISOString() } };
const web = { name: 'web', containerID: 'demo://c1', state, started: true, ready: false };
const containerStatuses = [{ ...web, image: '', imageID: '', restartCount: 0 }];
const statuses = { getPodStatus: () => ({ phase: 'Running', podIP: '127.0.0.1', containerStatuses }) };

const prober = new Prober({ statuses, ports: {} });
const stop = new AbortController();
const ended = prober.start(stop.signal);
const readinessProbe = { httpGet: { port, path: '/healthz' }, periodSeconds: 1 };
prober.addPod({
  metadata: { name: 'web', namespace: 'default', uid: '42' },
  spec: { containers: [{ name: 'web', readinessProbe }] },
});
for await (const { kind, containerId, result } of prober.updates) {
  console.log(kind, containerId, result);
  if (result === 'success') break;
}
console.log(prober.results.readiness('c1'), prober.explain('42')[0]?.last[0]?.output);
stop.abort();
await ended;
server.close();
