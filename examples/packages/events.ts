// From packages/events/README.md, which explains the program.
import { setTimeout } from 'node:timers/promises';
import { ApiEventRecorder } from '@node-agent/events';

const recorder = new ApiEventRecorder(
  {
    // The API server in earnest: `restEventSink(client)`, with a client of its own; here the console.
    sink: {
      createEvent: async (event) => console.log('create', event.metadata.name, event.message),
      patchEvent: async (namespace, name, patch) => console.log('patch', namespace, name, patch.count),
    },
  },
  { host: 'node-1' },
);
const running = new AbortController();
const started = recorder.start(running.signal);
const pod = { kind: 'Pod', namespace: 'default', name: 'web', uid: '1' };
recorder.event(pod, 'Warning', 'BackOff', 'Back-off restarting failed container');
await setTimeout(10);
recorder.event(pod, 'Warning', 'BackOff', 'Back-off restarting failed container');
running.abort();
await started;
await recorder[Symbol.asyncDispose](); // writes what waits, within `flushTimeoutMs`
