import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HttpGetRequest } from '../src/http-request.ts';
import { requestHead } from '../src/request-head.ts';

type Headers = HttpGetRequest['headers'];

const to = (headers: Headers, more: Partial<HttpGetRequest> = {}): HttpGetRequest => ({
  ...{ scheme: 'http', host: '10.0.0.5', port: 80, target: '/', headers },
  ...more,
});

const lines = (headers: Headers, more: Partial<HttpGetRequest> = {}): readonly string[] => {
  const head = requestHead(to(headers, more));
  return typeof head === 'string' ? head.split('\r\n').slice(1, -2) : [head.fault];
};
const HOST = 'Host: 10.0.0.5:80';
const CLOSE = 'Connection: close';

describe('requestHead', () => {
  test.each<[string, Headers, readonly string[]]>([
    ['the default fields', [], [HOST, CLOSE]],
    [
      'User-Agent first, then fields sorted and grouped by name',
      [
        ['X-B', '2'],
        ['X-A', '1'],
        ['x-b', '3'],
        ['Accept', '*/*'],
        ['User-Agent', 'a/1'],
        ['User-Agent', 'b/2'],
      ],
      [HOST, 'User-Agent: a/1', 'Accept: */*', 'X-A: 1', 'X-B: 2', 'X-B: 3', CLOSE],
    ],
    [
      'an empty value, and a value without its surrounding spaces',
      [
        ['X-A', ''],
        ['X-B', ' b \t'],
      ],
      [HOST, 'X-A: ', 'X-B: b', CLOSE],
    ],
    [
      "Connection: close after the action's own Connection header",
      [['Connection', 'keep-alive']],
      [HOST, 'Connection: keep-alive', CLOSE],
    ],
    ['Connection: close although another header has the value close', [['X-A', 'close']], [HOST, 'X-A: close', CLOSE]],
    [
      'Connection: close if Connection: upgrade has no Upgrade header',
      [['Connection', 'upgrade']],
      [HOST, 'Connection: upgrade', CLOSE],
    ],
    [
      'Connection: close if the Upgrade header is empty',
      [
        ['Connection', 'upgrade'],
        ['Upgrade', ''],
      ],
      [HOST, 'Connection: upgrade', 'Upgrade: ', CLOSE],
    ],
    ['Connection: close if Upgrade comes without Connection', [['Upgrade', 'h2c']], [HOST, 'Upgrade: h2c', CLOSE]],
    [
      'no Connection: close if the second Connection header upgrades',
      [
        ['Connection', 'keep-alive'],
        ['Connection', 'upgrade'],
        ['Upgrade', 'h2c'],
      ],
      [HOST, 'Connection: keep-alive', 'Connection: upgrade', 'Upgrade: h2c'],
    ],
    [
      'no second close if the action closes the connection',
      [['Connection', 'x, Close']],
      [HOST, 'Connection: x, Close'],
    ],
    [
      'an upgrade without Connection: close',
      [
        ['Connection', 'keep-alive, upgrade'],
        ['Upgrade', 'h2c'],
      ],
      [HOST, 'Connection: keep-alive, upgrade', 'Upgrade: h2c'],
    ],
    [
      'each cookie in its own field',
      [
        ['Cookie', 'a=1'],
        ['Cookie', 'b=2'],
      ],
      [HOST, 'Cookie: a=1', 'Cookie: b=2', CLOSE],
    ],
    ['non-ASCII text as UTF-8', [['X-A', 'ü€😀']], [HOST, `X-A: ${Buffer.from('ü€😀').toString('latin1')}`, CLOSE]],
    [
      'no Content-Length and Transfer-Encoding of the action',
      [
        ['Host', 'a'],
        ['Content-Length', '5'],
        ['transfer-encoding', 'chunked'],
        ['Trailer', 'X'],
      ],
      [HOST, CLOSE],
    ],
  ])('an HTTP request head has %s', (_, headers, wanted) => expect(lines(headers)).toEqual(wanted));

  test.each([
    ['a.example', 'a.example'],
    ['BÜCHER.example:8', 'xn--bcher-kva.example:8'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['a b', ''],
    ['[fe80::1%eth0]:80', '[fe80::1]:80'],
    ['a/b', ''],
  ])('sends the Host header %j as %j', (hostHeader, host) =>
    expect(lines([], { hostHeader })[0]).toBe(`Host: ${host}`),
  );

  test('the Host header puts an IPv6 address in brackets, unless the action sets it', () => {
    expect(requestHead(to([], { host: '::1' }))).toMatch(/\r\nHost: \[::1\]:80\r\n/);
    expect(requestHead(to([], { hostHeader: 'a.example' }))).toMatch(/\r\nHost: a\.example\r\n/);
  });

  test('the request head ends with an empty line, with and without a Connection header of the action', () => {
    const ends = 'GET / HTTP/1.1\r\nHost: 10.0.0.5:80\r\nConnection: close\r\n\r\n';
    expect([requestHead(to([])), requestHead(to([['Connection', 'close']]))]).toEqual([ends, ends]);
  });

  test.each<[string, Partial<HttpGetRequest>]>([
    ['idna: invalid label "xn--ü"', { hostHeader: 'xn--ü:80' }],
    ['net/http: invalid header field name "a b"', { headers: [['a b', '1']] }],
    ['net/http: invalid header field name ""', { headers: [['', '1']] }],
    ['net/http: invalid header field name "ü\\n"', { headers: [['ü\n', '1']] }],
    ['net/http: invalid header field value for "X-A"', { headers: [['X-A', 'a\r\nb']] }],
    ['net/http: invalid header field value for "X-A"', { headers: [['X-A', '\x7f']] }],
    ['net/http: invalid header field value for "Host"', { hostHeader: 'a\r\nX: 1' }],
    [
      'parse "http://10.0.0.5:80/ HTTP/1.1\\r\\nX: 1": net/url: invalid control character in URL',
      { target: '/ HTTP/1.1\r\nX: 1' },
    ],
    [
      "net/http: can't write control character in Request.URL",
      { target: '/ HTTP/1.1\r\nX: 1', url: 'http://10.0.0.5:80/' },
    ],
    ['net/http: invalid header field value for "Content-Length"', { headers: [['Content-Length', 'a\rb']] }],
  ])('rejects the request with: %s', (fault, request) => expect(requestHead(to([], request))).toEqual({ fault }));

  test('any path and headers write at most one request head', () => {
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
