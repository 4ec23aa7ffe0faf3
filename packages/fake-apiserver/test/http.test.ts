import { seededRandom, systemClock } from '@node-agent/async';
import { afterEach, describe, expect, test } from 'vitest';
import { type AuditEntry, FakeApiServer, FakeApiServerHttp, type FakeApiServerHttpOptions } from '../src/index.ts';
import { type Authority, authority } from './certificates.ts';
import { httpTransport } from './http-transport.ts';
import { call, listen, MAPS } from './support.ts';

const open: FakeApiServerHttp[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serve(
  options: FakeApiServerHttpOptions = {},
): Promise<{ api: FakeApiServer; server: FakeApiServerHttp }> {
  const api = new FakeApiServer({ clock: systemClock, random: seededRandom(1) });
  const server = new FakeApiServerHttp({ api }, options);
  await server.start();
  open.push(server);
  return { api, server };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.setTimer(ms, resolve));
}

async function eventually(check: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !check(); i++) await pause(10);
  expect(check()).toBe(true);
}

describe('a fake API server over HTTP', () => {
  test('while connections are refused the port is closed, and afterwards the same port serves again', async () => {
    const { api, server } = await serve();
    const transport = httpTransport(server.url);
    await call(transport, 'POST', MAPS, { metadata: { name: 'a' } });
    const watch = await listen(transport, `${MAPS}?watch=true`);
    api.refuseConnections();
    await server.settled();
    await eventually(() => watch.ended() !== undefined);
    expect(watch.ended()).toMatchObject({ error: { code: 'ECONNRESET' } });
    await expect(call(transport, 'GET', MAPS)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    api.acceptConnections();
    await server.settled();
    expect((await call(transport, 'GET', `${MAPS}/a`)).status).toBe(200);
  });

  test('a watch ends when its client disconnects', async () => {
    const { api, server } = await serve();
    const watch = await listen(httpTransport(server.url), `${MAPS}?watch=true`);
    expect(api.watchCount).toBe(1);
    watch.stop();
    await eventually(() => api.watchCount === 0);
  });

  test('answerLost and truncate break the connection of the client', async () => {
    const { api, server } = await serve();
    const transport = httpTransport(server.url);
    api.faults.add({ times: 1, fault: { kind: 'answerLost' } });
    api.faults.add({ times: 1, fault: { kind: 'truncate' } });
    await expect(call(transport, 'POST', MAPS, { metadata: { name: 'a' } })).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
    await expect(call(transport, 'GET', MAPS)).rejects.toThrow();
    expect((await call(transport, 'GET', `${MAPS}/a`)).status).toBe(200);
  });

  test('a body that is too large is rejected', async () => {
    const { server } = await serve();
    const data = { a: 'x'.repeat(3_200_000) };
    const answer = await call(httpTransport(server.url), 'POST', MAPS, { metadata: { name: 'a' }, data });
    expect(answer.body).toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' });
  });
});

describe('a fake API server over HTTPS', () => {
  async function secure(): Promise<{ api: FakeApiServer; url: string; ca: Authority; entries: AuditEntry[] }> {
    const ca = authority('test-ca');
    const { cert, key } = ca.issue({ commonName: '127.0.0.1' });
    const { api, server } = await serve({ tls: { cert, key, clientCa: ca.cert } });
    const entries: AuditEntry[] = [];
    api.onRequest((entry) => entries.push(entry));
    return { api, url: server.url, ca, entries };
  }

  test('a client certificate identifies the user', async () => {
    const { url, ca, entries } = await secure();
    const client = ca.issue({ commonName: 'system:node:n', organization: 'system:nodes' });
    const tls = {
      ca: ca.cert,
      cert: client.cert,
      key: client.key,
      servername: 'localhost',
      checkServerIdentity: () => undefined,
    };
    const self = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { body } = await call(httpTransport(url, tls), 'POST', self, {});
    expect(body.status).toEqual({
      userInfo: { username: 'system:node:n', groups: ['system:nodes', 'system:authenticated'] },
    });
    expect(entries.map(({ user }) => user)).toEqual(['system:node:n']);
  });

  test('a client certificate of another CA does not identify a user', async () => {
    const { url, ca, entries } = await secure();
    const stranger = authority('other-ca').issue({ commonName: 'system:node:n' });
    const tls = {
      ca: ca.cert,
      cert: stranger.cert,
      key: stranger.key,
      servername: 'localhost',
      checkServerIdentity: () => undefined,
    };
    await call(httpTransport(url, tls), 'GET', MAPS);
    expect(entries.map(({ user }) => user)).toEqual(['kubernetes-admin']);
  });
});
