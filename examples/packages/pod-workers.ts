// From packages/pod-workers/README.md, which explains the program.
import { PodWorkers } from '@node-agent/pod-workers';

const pod = { metadata: { name: 'web', namespace: 'default', uid: '42' }, spec: { containers: [{ name: 'nginx' }] } };
const status = {
  uid: '42',
  name: 'web',
  namespace: 'default',
  ips: [],
  sandboxes: [],
  containers: [],
  observedAtMs: 0,
};

const workers = new PodWorkers({
  syncer: {
    syncPod: async () => {
      console.log('start or repair what the spec asks for');
      return { isTerminal: false };
    },
    syncTerminatingPod: async (_pod, _status, graceSeconds) => {
      console.log(`stop all within ${graceSeconds} s`);
      return {};
    },
    syncTerminatingRuntimePod: async () => {},
    syncTerminatedPod: async () => console.log('release what is left'),
  },
  podCache: { get: () => undefined, hasSeen: () => true, runningPods: () => [], getNewerThan: async () => status },
});
const stop = new AbortController();
const ended = workers.start(stop.signal);

workers.updatePod({ updateType: 'create', pod });
await new Promise((resolve) => setTimeout(resolve, 10));
await workers.killPodNow(pod, { gracePeriodSecondsOverride: 5 });
await new Promise((resolve) => setTimeout(resolve, 10));
console.log(workers.explain('42')?.phase, workers.shouldPodRuntimeBeRemoved('42')); // finished true
workers.syncKnownPods([]); // no source of pods desires it any more
console.log(workers.explain('42')); // undefined: forgotten

stop.abort();
await ended;
