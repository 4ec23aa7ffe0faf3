import { request as httpRequest } from 'node:http';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HttpGetRequest } from '../src/http-request.ts';
import { requestHead } from '../src/request-head.ts';
import { LoopbackServer } from './fixtures.ts';

type Headers = HttpGetRequest['headers'];

const to = (headers: Headers, more: Partial<HttpGetRequest> = {}): HttpGetRequest => ({
  ...{ scheme: 'http', host: '10.0.0.5', port: 80, target: '/', headers },
  ...more,
});

/** The bytes that node:http sends for the same headers, one a character. */
async function nodesHead({ headers, target }: HttpGetRequest): Promise<string> {
  await using server = await new LoopbackServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n')).listening();
  const own = new Map<string, string[]>([['Host', []]]);
  for (const [name, value] of headers) own.set(name, [...(own.get(name) ?? []), Buffer.from(value).toString('latin1')]);
  const { port } = server;
  const options = { port, host: '127.0.0.1', path: target, agent: false, setHost: false };
  await new Promise((resolve, reject) => {
    const sent = httpRequest({ ...options, headers: { ...Object.fromEntries(own), Host: '10.0.0.5:80' } }, (message) =>
      message.resume(),
    );
    sent.on('close', resolve).on('error', reject).end();
  });
  return Buffer.from(server.requests.join('')).toString('latin1');
}

describe('requestHead', () => {
  test.each<[string, Headers]>([
    ['nothing of its own', []],
    [
      'those of a probe',
      [
        ['User-Agent', 'kube-probe/1.36'],
        ['Accept', '*/*'],
      ],
    ],
    [
      'a name that comes twice, apart',
      [
        ['X-A', '1'],
        ['X-B', '2'],
        ['X-A', '3'],
      ],
    ],
    [
      'an empty value, and one with spaces around it',
      [
        ['X-A', ''],
        ['X-B', ' b\t'],
      ],
    ],
    [
      'a Connection of its own',
      [
        ['Connection', 'keep-alive'],
        ['X-A', '1'],
      ],
    ],
    [
      'cookies',
      [
        ['Cookie', 'a=1'],
        ['Cookie', 'b=2'],
      ],
    ],
    ['text that is not ASCII', [['X-A', 'ü€😀']]],
  ])('writes what node:http writes: %s', async (_, headers) => {
    expect(requestHead(to(headers))).toBe(await nodesHead(to(headers)));
  });

  test('writes what node:http writes, whatever the headers are', async () => {
    const name = fc.stringMatching(/^X-[A-Z][a-z0-9!#$%&'*+.^_`|~]{0,9}$/);
    const value = fc.string({ unit: 'grapheme-ascii' });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 6 }), fc.webPath(), async (headers, path) => {
        const request = to(headers, { target: `/${path}` });
        expect(requestHead(request)).toBe(await nodesHead(request));
      }),
      { numRuns: 30 },
    );
  });

  test('a host that is an IPv6 address stands in brackets; a host header takes its place', () => {
    expect(requestHead(to([], { host: '::1' }))).toMatch(/\r\nHost: \[::1\]:80\r\n/);
    expect(requestHead(to([], { hostHeader: 'a.example' }))).toMatch(/\r\nHost: a\.example\r\n/);
  });

  test.each<[string, Partial<HttpGetRequest>]>([
    ['net/http: invalid header field name "a b"', { headers: [['a b', '1']] }],
    ['net/http: invalid header field name ""', { headers: [['', '1']] }],
    ['net/http: invalid header field name "ü\\n"', { headers: [['ü\n', '1']] }],
    ['net/http: invalid header field value for "X-A"', { headers: [['X-A', 'a\r\nb']] }],
    ['net/http: invalid header field value for "X-A"', { headers: [['X-A', '\x7f']] }],
    ['net/http: invalid header field value for "Host"', { hostHeader: 'a\r\nX: 1' }],
    ["net/http: can't write control character in Request.URL", { target: '/ HTTP/1.1\r\nX: 1' }],
  ])('%s', (fault, request) => expect(requestHead(to([], request))).toEqual({ fault }));

  test('no request is more than one', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text)), text, text, (headers, target, hostHeader) => {
        const head = requestHead(to(headers, { target, hostHeader }));
        if (typeof head !== 'string') return;
        expect(head.indexOf('\r\n\r\n')).toBe(head.length - 4);
        expect(head.replaceAll('\r\n', '')).not.toMatch(/[\r\n\0]/);
      }),
    );
  });
});
