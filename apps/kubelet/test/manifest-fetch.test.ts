import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@node-agent/async';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, describe, expect, test } from 'vitest';
import { headersFor, manifestFetch } from '../src/node/manifest-fetch.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Starts a server on the loopback and records its requests. */
async function serve(answer: RequestListener): Promise<{ readonly port: number; readonly asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

async function get(url: string, environment = {}, headers: [string, string][] = []) {
  const controller = new AbortController();
  ends.push(() => controller.abort(new Error('done')));
  const fetch = manifestFetch({ clock: systemClock, logger: silentLogger }, environment);
  const { status, headers: answered, body } = await fetch(url, { headers, signal: controller.signal });
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  return { status, etag: answered.get('ETag'), text: Buffer.concat(chunks).toString() };
}

describe('fetching a manifest', () => {
  test('a request for the manifest URL sends all values of a header and returns the response', async () => {
    const { port, asked } = await serve((_request, response) => response.setHeader('etag', '"1"').end('pods'));
    const headers: [string, string][] = [
      ['X-Part', 'a'],
      ['x-part', 'b'],
    ];
    expect(await get(`http://127.0.0.1:${port}/web?of=me`, {}, headers)).toEqual({
      status: 200,
      etag: '"1"',
      text: 'pods',
    });
    expect([asked[0]?.url, asked[0]?.headersDistinct['x-part']]).toEqual(['/web?of=me', ['a', 'b']]);
  });

  test("a request for the manifest URL uses the proxy of the environment, like Go's client", async () => {
    const { port, asked } = await serve((_request, response) => response.end('by proxy'));
    const environment = { HTTP_PROXY: `127.0.0.1:${port}`, NO_PROXY: 'other.example' };
    expect((await get('http://manifests.example:10080/web', environment)).text).toBe('by proxy');
    expect(asked.map(({ url }) => url)).toEqual(['http://manifests.example:10080/web']);
  });

  test('a request for the manifest URL follows up to ten redirects and sends credentials to no other host', async () => {
    const other = await serve((_request, response) => response.end('there'));
    const { port, asked } = await serve((request, response) => {
      const location = request.url === '/far' ? `http://localhost:${other.port}/web` : '/far';
      response.writeHead(302, { location: request.url === '/loop' ? '/loop' : location }).end();
    });
    const headers: [string, string][] = [
      ['Authorization', 'Bearer x'],
      ['X-Mine', 'y'],
    ];
    expect((await get(`http://127.0.0.1:${port}/near`, {}, headers)).text).toBe('there');
    expect(asked.map(({ url, headers: { authorization } }) => [url, authorization])).toEqual([
      ['/near', 'Bearer x'],
      ['/far', 'Bearer x'],
    ]);
    expect([other.asked[0]?.headers.authorization, other.asked[0]?.headers['x-mine']]).toEqual([undefined, 'y']);
    await expect(get(`http://127.0.0.1:${port}/loop`)).rejects.toThrow('stopped after 10 redirects');
    expect(asked).toHaveLength(2 + 11);
  });

  test('a request for the manifest URL does not follow a redirect to a URL that is not HTTP', async () => {
    const { port } = await serve((_request, response) => response.writeHead(302, { location: 'file:///etc/x' }).end());
    await expect(get(`http://127.0.0.1:${port}/`)).rejects.toThrow(
      'redirected to a URL that is neither http nor https',
    );
  });

  test('a hanging request for the manifest URL is aborted with its signal', async () => {
    const { port } = await serve(() => {});
    const controller = new AbortController();
    const fetch = manifestFetch({ clock: systemClock, logger: silentLogger }, {});
    const answer = fetch(`http://127.0.0.1:${port}/`, { headers: [], signal: controller.signal });
    controller.abort(new Error('no whole answer'));
    await expect(answer).rejects.toThrow('no whole answer');
  });
});

test.each([
  ['http://a.example/', 'https://a.example/', true],
  ['http://a.example/', 'http://b.a.example/', true],
  ['http://a.example/', 'http://ba.example/', false],
  ['http://a.example/', 'http://example/', false],
])('a secret header is sent after a redirect from %s to %s: %s', (from, to, goes) => {
  const headers = [['Cookie', 'c']] as const;
  expect(headersFor(new URL(from), new URL(to), headers)).toEqual(goes ? headers : []);
});
