// The attacked process: a kubelet's servers and pod sources, built from the same packages as the kubelet, on the
// loopback interface.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock as clock } from '@node-agent/async';
import { nodeFileSystem } from '@node-agent/host';
import { PodResourcesServer } from '@node-agent/pod-resources';
import { HealthzServer } from '@node-agent/server';
import { LoopWatch } from './loop-watch.ts';
import type { FromVictim, ToVictim } from './messages.ts';
import { attackedPods } from './pods.ts';
import { attackedServer } from './server.ts';

const [directory = ''] = process.argv.slice(2);
const watch = new LoopWatch();
const { signal } = new AbortController();
const tell = (message: FromVictim): void => void process.send?.(message);
// The process exits when its parent process has exited.
process.on('disconnect', () => process.exit(0));

const [cert, key] = await Promise.all(
  ['crt', 'key'].map((kind) => readFile(join(directory, `server.${kind}`), 'utf8')),
);
await writeFile(join(directory, 'logs', 'public.log'), 'public\n');
await writeFile(join(directory, 'secret'), 'secret\n');

const pods = attackedPods(join(directory, 'manifests'));
void pods.kubelet.run(signal);
const healthz = Promise.withResolvers<number>();
void new HealthzServer({ checks: [] }, { port: 0, onListening: ({ port }) => healthz.resolve(port) }).start(signal);
const podProvider = { all: () => [], active: () => [], byName: () => undefined };
const socketPath = join(directory, 'kubelet.sock');
void new PodResourcesServer({ fs: nodeFileSystem, pods: podProvider }, { socketPath }).start(signal);
const secured = Promise.withResolvers<number>();
const server = attackedServer(
  { clock, pair: { cert: cert ?? '', key: key ?? '' }, logs: join(directory, 'logs') },
  secured.resolve,
);
void server.start(signal);

process.on('message', (message: ToVictim) => {
  if (message.kind === 'pods') pods.show(message.pods);
  else {
    const figures = { longestStallMs: watch.take(), authentications: server.takeAuthentications() };
    tell({ kind: 'figures', ...figures, started: pods.started(), strayFiles: pods.strayFiles() });
  }
});
tell({ kind: 'ready', port: await secured.promise, healthzPort: await healthz.promise });
