// From packages/status/README.md, which explains the program.
import { setTimeout } from 'node:timers/promises';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { RestClient, resources } from '@node-agent/kube-client';
import { generateApiPodStatus, noProbeResults, restStatusApi, StatusManager, StatusWriter } from '@node-agent/status';

// In a real program, use a transport to an API server: `KubeClients` of `@node-agent/kube-client`.
const transport = new FakeApiServer();
const client = new RestClient({ transport });
const pod = await client.create(resources.pods, {
  metadata: { name: 'web', namespace: 'default' },
  spec: { restartPolicy: 'Always', containers: [{ name: 'main', image: 'busybox' }] },
});
const manager = new StatusManager({ onChange: (change) => writer.statusChanged(change) });
const writer = new StatusWriter({
  statuses: manager,
  api: restStatusApi(client),
  pods: { getPodByUid: () => pod, getMirrorPodByPod: () => undefined },
  safety: { couldHaveRunningContainers: () => true, podResourcesAreReclaimed: () => false },
});
const running = new AbortController();
const started = writer.start(running.signal);

const { uid } = pod.metadata;
const seen = { uid, name: 'web', namespace: 'default', ips: [], sandboxes: [], containers: [], observedAtMs: 0 };
const status = generateApiPodStatus(pod, seen, {
  oldStatus: manager.getPodStatus(uid),
  podIsTerminal: false,
  failure: undefined,
  runtimeName: 'containerd',
  startFailure: () => ({ reason: 'ImagePullBackOff', message: 'Back-off pulling image "busybox"' }),
  probes: noProbeResults,
  sandboxReady: true,
  hostIps: ['192.0.2.1'],
});
manager.setPodStatus(pod, status);
await setTimeout(50);
const shown = await client.get(resources.pods, { namespace: 'default', name: 'web' });
console.log(shown.status?.phase, JSON.stringify(shown.status?.containerStatuses, undefined, 2));
running.abort();
await started;
