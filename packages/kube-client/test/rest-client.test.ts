import { TokenBucket } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { MetricsRegistry } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { describe, expect, test } from 'vitest';
import { Discovery, RestClient, resources } from '../src/index.ts';
import { failure, ScriptedTransport, Stream, systemError } from './scripted-transport.ts';

function setUp({ limited = false } = {}) {
  const clock = new FakeClock();
  const transport = new ScriptedTransport();
  const { logger, lines } = captureLogger();
  const metrics = new MetricsRegistry();
  const rateLimiter = limited ? new TokenBucket({ clock }, { qps: 2, burst: 2 }) : undefined;
  const client = new RestClient(
    { transport, clock, logger, metrics, rateLimiter },
    { host: 'api:6443', userAgent: 'kubelet/v1' },
  );
  return { clock, transport, lines, client, metrics };
}

const lease = { metadata: { name: 'a', namespace: 'kube-node-lease' }, spec: { holderIdentity: 'a' } };
const status = { status: { phase: 'Running' } };

test('each method sends the right HTTP method, path, media type and body', async () => {
  const { client, transport } = setUp();
  for (let i = 0; i < 11; i++) transport.script({ json: { metadata: {}, items: [] } });
  await client.create(resources.leases, lease, { fieldManager: 'kubelet', dryRun: true });
  await client.update(resources.leases, lease);
  await client.update(resources.leases, lease, { subresource: 'status' });
  const pod = { namespace: 'ns', name: 'a' };
  await client.patch(resources.pods, { type: 'strategic', body: status }, { ...pod, subresource: 'status' });
  await client.patch(resources.pods, { type: 'merge', body: status }, pod);
  await client.patch(resources.pods, { type: 'json', body: [{ op: 'test', path: '/metadata/uid', value: 'u' }] }, pod);
  await client.patch(resources.pods, { type: 'apply', body: lease, fieldManager: 'kubelet', force: true }, pod);
  await client.delete(resources.pods, { ...pod, preconditions: { uid: 'u' }, gracePeriodSeconds: 0 });
  await client.createSubresource(
    resources.serviceAccounts,
    { ...pod, subresource: 'token' },
    { spec: { audiences: [] } },
  );
  await client.list(resources.pods, { fieldSelector: 'spec.nodeName=a', limit: 5 });
  await client.deleteCollection(resources.leases, { namespace: 'ns', labelSelector: 'a=b' });
  expect(
    transport.requests.map(({ method, path, headers, body }) => [method, path, headers['content-type'], body]),
  ).toEqual([
    [
      'POST',
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?dryRun=All&fieldManager=kubelet',
      'application/json',
      JSON.stringify({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...lease }),
    ],
    [
      'PUT',
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a',
      'application/json',
      JSON.stringify(lease),
    ],
    [
      'PUT',
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a/status',
      'application/json',
      JSON.stringify(lease),
    ],
    ['PATCH', '/api/v1/namespaces/ns/pods/a/status', 'application/strategic-merge-patch+json', JSON.stringify(status)],
    ['PATCH', '/api/v1/namespaces/ns/pods/a', 'application/merge-patch+json', JSON.stringify(status)],
    [
      'PATCH',
      '/api/v1/namespaces/ns/pods/a',
      'application/json-patch+json',
      '[{"op":"test","path":"/metadata/uid","value":"u"}]',
    ],
    [
      'PATCH',
      '/api/v1/namespaces/ns/pods/a?fieldManager=kubelet&force=true',
      'application/apply-patch+yaml',
      JSON.stringify(lease),
    ],
    [
      'DELETE',
      '/api/v1/namespaces/ns/pods/a',
      'application/json',
      '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"},"gracePeriodSeconds":0}',
    ],
    ['POST', '/api/v1/namespaces/ns/serviceaccounts/a/token', 'application/json', '{"spec":{"audiences":[]}}'],
    ['GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Da&limit=5', undefined, undefined],
    ['DELETE', '/apis/coordination.k8s.io/v1/namespaces/ns/leases?labelSelector=a%3Db', undefined, undefined],
  ]);
  expect(transport.requests[0]?.headers).toMatchObject({ accept: 'application/json', 'user-agent': 'kubelet/v1' });
});

/** Returns calls with an incomplete key, as callers without types could make them. */
function nameless(key: object): readonly (readonly [string, (client: RestClient) => Promise<unknown>])[] {
  const place = key as { readonly namespace: string; readonly name: string };
  const patch = { type: 'merge', body: status } as const;
  return [
    ['get', (client) => client.get(resources.pods, place)],
    ['delete', (client) => client.delete(resources.pods, place)],
    ['patch', (client) => client.patch(resources.pods, patch, place)],
    ['patch of a subresource', (client) => client.patch(resources.pods, patch, { ...place, subresource: 'status' })],
    ['update', (client) => client.update(resources.pods, { metadata: place } as never)],
    [
      'createSubresource',
      (client) => client.createSubresource(resources.serviceAccounts, { ...place, subresource: 'token' }, {}),
    ],
  ];
}

describe.each([
  { namespace: 'default', name: undefined },
  { namespace: 'default', name: '' },
  { namespace: 'default', name: null },
  { namespace: 'default' },
  { namespace: undefined, name: 'web' },
  { namespace: '', name: 'web' },
  { name: 'web' },
])('W3: requests for a pod with the incomplete key %j', (key) => {
  test.each(nameless(key))(
    'W3: %s with an incomplete key is rejected as InvalidRequest, and nothing is sent',
    async (_, call) => {
      const { client, transport } = setUp();
      transport.script({ json: {} });
      await expect(call(client)).rejects.toMatchObject({ code: 'InvalidRequest' });
      expect(transport.requests).toEqual([]);
    },
  );
});

test('W3: delete of a cluster-scoped object without a name is rejected and nothing is sent', async () => {
  const { client, transport } = setUp();
  transport.script({ json: {} });
  const named = client.delete(resources.nodes, { name: undefined } as never);
  await expect(named).rejects.toMatchObject({ code: 'InvalidRequest', message: 'nodes: a name is missing' });
  expect(transport.requests).toEqual([]);
});

test('W3: deleteCollection without a selector is rejected and nothing is sent', async () => {
  const { client, transport } = setUp();
  transport.script({ json: {} });
  const message = 'delete leases: fieldSelector or labelSelector is required';
  const all = client.deleteCollection(resources.leases, { namespace: 'ns', fieldSelector: '' });
  await expect(all).rejects.toMatchObject({ code: 'InvalidRequest', message });
  expect(transport.requests).toEqual([]);
});

test('W3: createSubresource without a subresource is rejected and nothing is sent', async () => {
  const { client, transport } = setUp();
  transport.script({ json: {} });
  const place = { namespace: 'default', name: 'a', subresource: undefined } as never;
  const posted = client.createSubresource(resources.serviceAccounts, place, {});
  await expect(posted).rejects.toMatchObject({ code: 'InvalidRequest' });
  expect(transport.requests).toEqual([]);
});

test('list() adds kind and apiVersion to the items of a list', async () => {
  const { client, transport } = setUp();
  transport.script({
    json: { metadata: { resourceVersion: '5', continue: 'c' }, items: [{ metadata: { name: 'a' }, 'x-new': 1 }] },
  });
  expect(await client.list(resources.nodes)).toEqual({
    items: [{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' }, 'x-new': 1 }],
    resourceVersion: '5',
    continue: 'c',
  });
});

test('integers beyond 2^53 are rounded in lists and watches, and exact in objects that may be written back', async () => {
  const { client, transport } = setUp();
  const pod =
    '{"metadata":{"name":"a","resourceVersion":"5"},"spec":{"terminationGracePeriodSeconds":9223372036854775807}}';
  const stream = new Stream();
  transport.script({ text: `{"metadata":{},"items":[${pod}]}` }, { stream }, { text: pod });
  const { items } = await client.list(resources.pods);
  const watched = (await client.watch(resources.pods))[Symbol.asyncIterator]();
  stream.write(`{"type":"ADDED","object":${pod}}\n`);
  const { value: event } = await watched.next();
  for (const { spec } of [items[0], event.object])
    expect(Math.max(1, spec.terminationGracePeriodSeconds)).toBe(2 ** 63);
  expect(JSON.stringify(await client.get(resources.pods, { name: 'a', namespace: 'b' }))).toBe(pod);
  await watched.return?.();
});

test('a request to a busy server is retried up to ten times, each after the wait in Retry-After', async () => {
  const { client, transport, clock, metrics } = setUp();
  const busy = { ...failure(429, 'TooManyRequests'), headers: { 'retry-after': '3' } };
  transport.script(busy, busy, { json: {} });
  const done = client.create(resources.leases, lease);
  await clock.advance(5999);
  expect(transport.requests.length).toBe(2);
  await clock.advance(1);
  await done;
  expect(metrics.text()).toContain('rest_client_request_retries_total{code="429",verb="POST",host="api:6443"} 2');
  expect(metrics.text()).toContain('rest_client_requests_total{code="200",method="POST",host="api:6443"} 1');

  for (let i = 0; i < 11; i++) transport.script(busy);
  const given = client.create(resources.leases, lease).catch((error: unknown) => error);
  await clock.advance(30_000);
  expect(await given).toMatchObject({ code: 'TooManyRequests', retryAfterMs: 3000, httpStatus: 429 });
  expect(transport.requests.length).toBe(14);
});

test('metrics include sizes of requests without a body and of failed responses', async () => {
  const { client, transport, metrics } = setUp();
  transport.script(
    { json: {} },
    failure(404, 'NotFound'),
    { status: 500, text: '' },
    { fail: systemError('ECONNREFUSED') },
  );
  for (let i = 0; i < 4; i++) await client.get(resources.nodes, { name: 'a' }).catch(() => undefined);
  expect(metrics.text()).toContain('rest_client_request_size_bytes_count{verb="GET",host="api:6443"} 4');
  expect(metrics.text()).toContain('rest_client_request_size_bytes_sum{verb="GET",host="api:6443"} 0');
  expect(metrics.text()).toContain('rest_client_response_size_bytes_count{verb="GET",host="api:6443"} 2');
});

test('the error of a refused connection contains the request, and the request is not retried', async () => {
  const { client, transport } = setUp();
  transport.script({ fail: systemError('ECONNREFUSED') });
  await expect(client.get(resources.nodes, { name: 'a' })).rejects.toMatchObject({
    code: 'ConnectionFailed',
    httpStatus: undefined,
    message: 'get /api/v1/nodes/a: connect ECONNREFUSED 127.0.0.1:6443',
  });
});

test('a truncated response and a response that is not an object fail as InvalidResponse', async () => {
  const { client, transport } = setUp();
  transport.script({ text: '{"metadata":{"na' }, { text: '[]' }, { json: { kind: 'Pod' } });
  await expect(client.get(resources.nodes, { name: 'a' })).rejects.toMatchObject({ code: 'InvalidResponse' });
  await expect(client.get(resources.nodes, { name: 'a' })).rejects.toThrow('the response must be an object');
  await expect(client.list(resources.nodes)).rejects.toThrow('list nodes: the response must be a list');
});

test('a warning of the server is logged only once', async () => {
  const { client, transport, lines } = setUp();
  const headers = { warning: '299 - "spec.x is deprecated"' };
  transport.script({ json: {}, headers }, { json: {}, headers });
  await client.get(resources.nodes, { name: 'a' });
  await client.get(resources.nodes, { name: 'a' });
  expect(lines).toEqual([
    { level: 'warn', fields: { warning: 'spec.x is deprecated' }, message: 'API server returned a warning' },
  ]);
});

test('the rate limit allows a burst, then requests at a fixed rate in order of arrival; a watch does not wait', async () => {
  const { client, transport, clock } = setUp({ limited: true });
  for (let i = 0; i < 8; i++) transport.script({ json: {} });
  const done: number[] = [];
  const all = [0, 1, 2, 3, 4].map(async (i) => {
    await client.get(resources.nodes, { name: String(i) });
    done.push(i);
  });
  await clock.settle();
  expect(done).toEqual([0, 1]);
  await client.watch(resources.nodes);
  await clock.advance(500);
  expect(done).toEqual([0, 1, 2]);
  await clock.advance(1000);
  expect(done).toEqual([0, 1, 2, 3, 4]);
  await Promise.all(all);
});

test('a request that is aborted while it waits for the rate limit does not use up a token of the limit', async () => {
  const { client, transport, clock } = setUp({ limited: true });
  for (let i = 0; i < 3; i++) transport.script({ json: {} });
  await client.get(resources.nodes, { name: 'a' });
  await client.get(resources.nodes, { name: 'a' });
  const controller = new AbortController();
  const given = client.get(resources.nodes, { name: 'a' }, controller.signal).catch((error: unknown) => error);
  await clock.settle();
  controller.abort();
  expect(await given).toMatchObject({ code: 'Aborted' });
  const next = client.get(resources.nodes, { name: 'a' });
  await clock.advance(500);
  await next;
  expect(transport.requests.length).toBe(3);
  expect(clock.pendingTimers).toBe(0);
});

test("Discovery chooses the first version that the server serves, and caches the server's responses", async () => {
  const { client, transport } = setUp();
  transport.script(failure(404, 'NotFound'), { json: { resources: [{ name: 'clustertrustbundles' }] } });
  transport.script({ json: { gitVersion: 'v1.36.3+x', major: '1', minor: '36+' } });
  const discovery = new Discovery({ client });
  const v1 = { ...resources.clusterTrustBundles, version: 'v1' };
  expect(await discovery.choose([v1, resources.clusterTrustBundles])).toBe(resources.clusterTrustBundles);
  expect(await discovery.choose([v1])).toBeUndefined();
  expect(await discovery.serverVersion()).toEqual({ gitVersion: 'v1.36.3+x', major: 1, minor: 36 });
  expect(transport.paths).toEqual(['/apis/certificates.k8s.io/v1', '/apis/certificates.k8s.io/v1beta1', '/version']);
});

test('create() needs no UID and, with generateName, no name, but a namespace', async () => {
  const { client, transport } = setUp();
  const made = { metadata: { name: 'web-x1', namespace: 'ns', uid: 'u1' }, spec: { containers: [] } };
  transport.script({ json: made });
  const created = await client.create(resources.pods, {
    metadata: { generateName: 'web-', namespace: 'ns' },
    spec: { containers: [] },
  });
  expect(created.metadata.uid).toBe('u1');
  expect(transport.requests[0]).toMatchObject({ method: 'POST', path: '/api/v1/namespaces/ns/pods' });
  const nowhere = client.create(resources.pods, { metadata: { name: 'web' }, spec: { containers: [] } });
  await expect(nowhere).rejects.toMatchObject({ code: 'InvalidRequest' });
});
