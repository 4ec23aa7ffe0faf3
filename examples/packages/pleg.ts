// From packages/pleg/README.md, which explains the program.
import { Pleg, PodCache } from '@node-agent/pleg';

// A runtime with one container, which is about to exit. Over CRI, a real one is `criPods(cri)` of `@node-agent/runtime`.
let state: 'running' | 'exited' = 'running';
const pod = { uid: '42', name: 'web', namespace: 'default', createdAtMs: 1, ips: [], sandboxes: [], observedAtMs: 0 };
const spec = {
  id: 'c1',
  name: 'nginx',
  sandboxId: 's1',
  image: 'nginx',
  imageId: 'sha256:1',
  hash: '',
  restartCount: 0,
};
const times = { createdAtMs: 1, startedAtMs: 2, finishedAtMs: 0, exitCode: 0, reason: '', message: '' };
const look = () => ({ ...pod, containers: [{ ...spec, ...times, state }] });
const runtime = { getPods: async () => [look()], getPodStatus: async () => look() };

const cache = new PodCache();
const pleg = new Pleg({ runtime, cache }, { relistPeriodMs: 100 });
const stop = new AbortController();
const ended = pleg.start(stop.signal);

for await (const event of pleg.events) {
  console.log(event.type, event.containerId, cache.get(event.podUid)?.status.containers[0]?.state);
  if (event.type === 'ContainerDied') break;
  state = 'exited';
}
console.log(pleg.healthy() ?? 'healthy', (await cache.getNewerThan('42', 0)).containers[0]?.state);
stop.abort();
await ended;
