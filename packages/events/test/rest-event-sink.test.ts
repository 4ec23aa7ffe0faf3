import { expect, test } from 'vitest';
import { type CoreEvent, restEventSink } from '../src/index.ts';

const { signal } = new AbortController();

test('restEventSink creates events, patches repeated ones, and passes errors on unchanged', async () => {
  const calls: unknown[] = [];
  const refused = Object.assign(new Error('gone'), { httpStatus: 404 });
  const sink = restEventSink({
    create: async ({ plural }, event) => calls.push(['create', plural, event]),
    patch: async ({ plural }, patch, key) => {
      calls.push(['patch', plural, patch, key]);
      throw refused;
    },
  });
  const involvedObject = { kind: 'Pod', namespace: 'default', name: 'web' };
  const event: CoreEvent = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace: 'default', name: 'web.1' },
    involvedObject,
    type: 'Normal',
    reason: 'Started',
    message: 'm',
    count: 1,
    firstTimestamp: '',
    lastTimestamp: '',
    source: { component: 'kubelet', host: 'node-1' },
    reportingComponent: 'kubelet',
    reportingInstance: 'node-1',
  };
  await sink.createEvent(event, signal);
  const again = { count: 2, lastTimestamp: '', message: 'm' };
  await expect(sink.patchEvent('default', 'web.1', again, signal)).rejects.toBe(refused);
  expect(calls).toEqual([
    ['create', 'events', event],
    ['patch', 'events', { type: 'strategic', body: again }, { namespace: 'default', name: 'web.1' }],
  ]);
});
