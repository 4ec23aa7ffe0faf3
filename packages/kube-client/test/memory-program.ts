// Watches the pods of the server that its arguments name, and prints what that costs. Run with --expose-gc.
import { systemClock, systemRandom } from '@node-agent/async';
import { KubeClients, Reflector, resources } from '@node-agent/kube-client';
import { noMetrics, silentLogger } from '@node-agent/telemetry';

const [server = '', ca = '', ...versions] = process.argv.slice(2);
const components = { clock: systemClock, logger: silentLogger, metrics: noMetrics, environment: {} };
const connection = { cluster: { server, ca: { file: ca } }, user: {} };
await using clients = new KubeClients(components, { connection });

globalThis.gc?.();
const beforeBytes = process.memoryUsage().rss;
const client = clients.requests;
const reflector = new Reflector(
  { client, clock: systemClock, random: systemRandom, logger: silentLogger },
  { resource: resources.pods },
);
const controller = new AbortController();
const running = reflector.start(controller.signal);
await reflector.waitForSync();
const feed = reflector.changes();
const costBytes: number[] = [];
const heapBytes: number[] = [];
for (const version of versions) {
  while (Number(reflector.lastSyncResourceVersion) < Number(version)) await feed.take();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  costBytes.push(rss - beforeBytes);
  heapBytes.push(heapUsed + external);
}
process.stdout.write(JSON.stringify({ pods: reflector.objects.size, costBytes, heapBytes }));
controller.abort();
await running;
