import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { text } from '../src/http/reply.ts';
import { splitTarget } from '../src/http/request-path.ts';
import { requestProblem } from '../src/http/request-problem.ts';
import { alwaysAllow, HealthzServer } from '../src/index.ts';
import { hello, request, reset } from './http2-frames.ts';
import { Pki } from './pki.ts';
import { allOf, askHttp2, rawConnection, type Started, startSecured } from './secured-fixture.ts';

let pki: Pki;
let server: Started;
let identified = 0;
beforeAll(async () => {
  pki = await Pki.create();
  const serving = await pki.issue({ subject: '/CN=n1', usage: 'serverAuth' });
  const user = { name: 'u', groups: [] };
  const authentication = {
    identify: async () => {
      identified++;
      return { user };
    },
  };
  const endpoints = { pods: () => text(200, 'pods'), exec: () => text(200, 'exec') };
  server = await startSecured(serving, { authentication, authorization: alwaysAllow, endpoints });
});
afterAll(async () => {
  await server.end();
  await pki[Symbol.asyncDispose]();
});

describe('requestProblem', () => {
  const host = ['Host', 'a'];
  it.each([
    ['1.1', host, undefined],
    ['1.0', [], undefined],
    ['1.1', ['Accept', 'host', ...host], undefined],
    ['1.1', [...host, 'Accept', '*/*', 'HOST', 'a'], 400],
    ['2.0', host, 505],
    ['0.9', host, 505],
  ])('an HTTP/%s request with the headers %j gets the error status %s', (httpVersion, rawHeaders, status) => {
    const httpVersionMajor = Number(httpVersion.split('.')[0]);
    expect(requestProblem({ httpVersion, httpVersionMajor, rawHeaders })?.status).toBe(status);
  });
});

describe('splitTarget', () => {
  it.each([
    ['/pods?a=b', '/pods', 'a=b'],
    ['https://node:10250/pods?a=http://b/c', '/pods', 'a=http://b/c'],
    ['HTTP://[::1]:10250/logs/%2e%2e/x', '/logs/%2e%2e/x', ''],
    ['https://node', '/', ''],
    ['https://node?a=b', '/', 'a=b'],
    ['https:///pods', '/pods', ''],
    ['/https://node/pods', '/https://node/pods', ''],
    ['//node/pods', '//node/pods', ''],
    ['*', '*', ''],
    ['pods', 'pods', ''],
  ])('request target %s has path %s and query %s', (target, path, query) => {
    const split = splitTarget(target);
    expect([split.path, split.query.toString()]).toEqual([path, new URLSearchParams(query).toString()]);
  });
});

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n';
describe.each([
  ['a request', '/pods', '', 'pods'],
  ['a request to upgrade', '/exec/n/p/c', UPGRADE, 'exec'],
])('ambiguous forms of %s to SecuredServer', (_what, path, headers, body) => {
  it.each([
    ['two Host headers', `GET ${path} HTTP/1.1\r\nHost: x\r\nHost: y\r\n`, 400],
    ['HTTP/2.0 in HTTP/1 framing', `GET ${path} HTTP/2.0\r\nHost: x\r\n`, 505],
    ['a target in absolute form', `GET https://n1:10250${path} HTTP/1.1\r\nHost: x\r\n`, 200],
    ['a target in origin form', `GET ${path} HTTP/1.1\r\nHost: x\r\n`, 200],
  ])('W3: as by the Go kubelet, a request with %s is answered with $2', async (_form, head, status) => {
    const before = identified;
    const socket = await rawConnection(server.port, { ALPNProtocols: ['http/1.1'] });
    socket.write(`${head}${headers}${headers === '' && status === 200 ? 'Connection: close\r\n' : ''}\r\n`);
    const got = await allOf(socket);
    expect(got).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    // A request with an error status closes its connection before authentication.
    expect(got).toMatch(/\r\nconnection: close\r\n/i);
    expect(identified - before).toBe(status === 200 ? 1 : 0);
    if (status === 200) expect(got.endsWith(`\r\n\r\n${body}`)).toBe(true);
  });
});

it('W3: the health port refuses two Host headers and accepts an absolute-form target', async () => {
  const controller = new AbortController();
  const listening = Promise.withResolvers<number>();
  const healthz = new HealthzServer({ checks: [] }, { port: 0, onListening: ({ port }) => listening.resolve(port) });
  const ended = healthz.start(controller.signal);
  const port = await listening.promise;
  const status = async (head: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`${head}\r\nConnection: close\r\n\r\n`);
    const [line] = Buffer.concat(await socket.toArray())
      .toString()
      .split('\r\n');
    return line ?? '';
  };
  expect(await status('GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x')).toBe('HTTP/1.1 400 Bad Request');
  expect(await status('GET /healthz HTTP/2.0\r\nHost: x')).toBe('HTTP/1.1 505 HTTP Version Not Supported');
  expect(await status('GET http://x/healthz HTTP/1.1\r\nHost: x')).toBe('HTTP/1.1 200 OK');
  controller.abort();
  await ended;
});

it('a TLS 1.2 client cannot renegotiate', async () => {
  const socket = await rawConnection(server.port, { maxVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] });
  const renegotiated = new Promise((resolve) => socket.renegotiate({ rejectUnauthorized: false }, resolve));
  const refused = new Promise((resolve) => socket.on('error', resolve));
  expect(await Promise.race([renegotiated, refused])).toMatchObject({
    message: expect.stringContaining('no renegotiation'),
  });
  socket.destroy();
});

describe('HTTP/2 streams that are opened and reset in one write', () => {
  const openAndReset = (count: number): Buffer => {
    const pairs = Array.from({ length: count }, (_, n) => [request(2 * n + 1, '/pods'), reset(2 * n + 1)]);
    return Buffer.concat([hello(), ...pairs.flat()]);
  };

  it('W3: resets above the stream limit close an unauthenticated connection', async () => {
    const before = identified;
    const socket = await rawConnection(server.port, { ALPNProtocols: ['h2'] });
    const closed = once(socket.resume(), 'close');
    socket.write(openAndReset(1000));
    await closed;
    expect(identified).toBe(before);
    expect((await askHttp2(server.port, '/pods')).status).toBe(200);
  });

  it('resets up to the stream limit keep the connection open', async () => {
    const before = identified;
    const socket = await rawConnection(server.port, { ALPNProtocols: ['h2'] });
    socket.resume();
    socket.write(openAndReset(250));
    socket.write(request(9001, '/pods'));
    await vi.waitFor(() => expect(identified).toBe(before + 1));
    expect(socket.closed).toBe(false);
    socket.destroy();
  });
});
