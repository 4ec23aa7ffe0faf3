// Watches the pods of the server given in its arguments, and prints the memory use. Run with --expose-gc.
import { setImmediate } from 'node:timers/promises';
import { systemClock, systemRandom } from '@node-agent/async';
import { KubeClients, Reflector, resources } from '@node-agent/kube-client';
import { noMetrics, silentLogger } from '@node-agent/telemetry';

const [server = '', ca = '', ...versions] = process.argv.slice(2);
const components = { clock: systemClock, logger: silentLogger, metrics: noMetrics, environment: {} };
const connection = { cluster: { server, ca: { file: ca } }, user: {} };
await using clients = new KubeClients(components, { connection });

/**
 * The live heap size. One garbage collection is not enough: some objects are released only a turn of the event loop
 * later.
 */
async function heldBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 10; round++) {
    await setImmediate();
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    least = Math.min(least, heapUsed + external);
  }
  return least;
}

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
  costBytes.push(process.memoryUsage().rss - beforeBytes);
  heapBytes.push(await heldBytes());
}
process.stdout.write(JSON.stringify({ pods: reflector.objects.size, costBytes, heapBytes }));
controller.abort();
await running;
