import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { RestClient, resources } from '@node-agent/kube-client';
import { expect, test } from 'vitest';
import { SharedWatches } from '../src/cluster.ts';

test('a new version of a pod has no managed fields, and shares the unchanged parts with the version before', async () => {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const client = new RestClient({ transport: new FakeApiServer({ clock, random }), clock });
  const watches = new SharedWatches({ client, clock, random });
  const { pods } = watches.of('node-1');
  const controller = new AbortController();
  const ended = watches.start(controller.signal);
  await clock.settle();
  const name = { name: 'web', namespace: 'default' };
  await client.create(resources.pods, {
    metadata: { ...name, labels: { app: 'web' } },
    spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'registry.example/app:1' }] },
  });
  await clock.settle();
  const first = pods.objects.get('default/web');
  const patch = { type: 'merge', body: { status: { phase: 'Running' } } } as const;
  await client.patch(resources.pods, patch, { ...name, subresource: 'status' });
  await clock.settle();
  const second = pods.objects.get('default/web');
  expect([first?.status?.phase, second?.status?.phase]).toEqual(['Pending', 'Running']);
  expect(second?.spec).toBe(first?.spec);
  expect(second?.metadata.labels).toBe(first?.metadata.labels);
  expect(second?.metadata).not.toHaveProperty('managedFields');
  controller.abort();
  await clock.settle();
  await ended;
});
