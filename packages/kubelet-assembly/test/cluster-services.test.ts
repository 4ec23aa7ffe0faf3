import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { Reflector, RestClient } from '@node-agent/kube-client';
import { expect, it } from 'vitest';
import { ClusterServices, watchedServices } from '../src/cluster-services.ts';

it('ClusterServices returns the services of all namespaces once they are read, and follows changes', async () => {
  const clock = new FakeClock();
  const api = new FakeApiServer({ clock, random: seededRandom(1) });
  const put = (namespace: string, name: string, spec: object): unknown =>
    api.put({ apiVersion: 'v1', kind: 'Service', metadata: { namespace, name, labels: { a: 'b' } }, spec });
  put('default', 'kubernetes', { clusterIP: '10.0.0.1', ports: [{ name: 'https', port: 443, targetPort: 6443 }] });
  const client = new RestClient({ transport: api, clock });
  const services = new ClusterServices(new Reflector({ client, clock, random: seededRandom(2) }, watchedServices));
  expect(services.all()).toBeUndefined();

  const abort = new AbortController();
  const running = services.start(abort.signal);
  await clock.advance(10);
  put('shop', 'web', { clusterIP: 'None' });
  await clock.advance(10);
  expect([...(services.all() ?? [])]).toMatchObject([
    {
      metadata: { namespace: 'default', name: 'kubernetes', labels: {} },
      spec: { clusterIP: '10.0.0.1', ports: [{ name: 'https', port: 443 }] },
    },
    { metadata: { namespace: 'shop', name: 'web' }, spec: { clusterIP: 'None', ports: [] } },
  ]);
  abort.abort();
  await running;
});
