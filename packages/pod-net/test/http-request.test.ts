import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type HttpGetAction, httpGetRequest, urlOf, withScheme } from '../src/http-request.ts';
import { requestHead } from '../src/request-head.ts';
import { resolvePort } from '../src/resolve-port.ts';

const options = { podIp: '10.0.0.5', userAgent: 'kube-probe/1.36' };
const container = { ports: [{ name: 'web', containerPort: 8080 }] };
const request = (action: Partial<HttpGetAction>) => httpGetRequest({ port: 80, ...action }, container, options);

describe('httpGetRequest with a path', () => {
  test.each([
    ['', '/'],
    ['/', '/'],
    ['healthz', '/healthz'],
    ['/a%20b/../c?x=y#frag', '/a%20b/../c?x=y'],
    ['/a b', '/a%20b'],
    ['/ü', '/%C3%BC'],
    ['/x?q=%zz', '/x?q=%zz'],
    ['/x?q=y z', '/x?q=y z'],
    ['/100%', '/100%25'],
    ['/a?b=1', '/a?b=1'],
    ['/a?', '/a?'],
    ['http://other/path?q', '/path?q'],
    ['//other/path', '/path'],
    ['/a\nb', '/a%0Ab'],
    ["/it's(fine)*!", "/it's(fine)*!"],
    ["/it's(fine)%zz", '/it%27s%28fine%29%25zz'],
    ['*', '/*'],
  ])('an httpGet action with the path %j sends the path %j', (path, target) =>
    expect(request({ path }).target).toBe(target),
  );

  test('an httpGet path with another scheme makes a URL without a host, which cannot be sent', async () => {
    const made = request({ path: 'foo:bar' });
    expect(urlOf(made)).toBe('http:bar');
    expect(requestHead(made)).toEqual({ fault: 'http: no Host in request URL' });
  });

  test('a user in the httpGet path sets basic authentication unless the action has an Authorization header', () => {
    const made = request({ path: '//us%65r:p%C3%BC@elsewhere/x' });
    expect(urlOf(made)).toBe('http://user:p%C3%BC@10.0.0.5:80/x');
    expect(requestHead(made)).toContain(`\r\nAuthorization: Basic ${btoa('user:p\xc3\xbc')}\r\n`);
    const own = request({ path: '//user@elsewhere/x', httpHeaders: [{ name: 'authorization', value: 'Bearer x' }] });
    expect(requestHead(own)).toContain('\r\nAuthorization: Bearer x\r\n');
  });

  test('any httpGet path makes exactly one request line or is rejected', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webPath(), fc.webUrl()), (path) => {
        const head = requestHead(request({ path }));
        expect(typeof head === 'string' ? head.split('\r\n')[0] : 'GET /x HTTP/1.1').toMatch(
          // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what may not be there
          /^GET [/][^\0-\x1f\x7f]* HTTP\/1\.1$/,
        );
      }),
    );
  });
});

test.each([
  ['a host', 'parse "http://a%20host:80/x": invalid URL escape "%20"'],
  ['a/b', 'parse "http://a%2Fb:80/x": invalid URL escape "%2F"'],
  ['user@host', 'parse "http://user%40host:80/x": invalid URL escape "%40"'],
])('rejects an httpGet action with the host %j: %s', (host, message) =>
  expect(() => request({ host, path: '/x' })).toThrow(expect.objectContaining({ code: 'InvalidUrl', message })),
);

describe('httpGetRequest', () => {
  test("an httpGet request goes to the pod IP over HTTP with a probe's default headers", () => {
    expect(request({ path: '/healthz' })).toEqual({
      scheme: 'http',
      host: '10.0.0.5',
      port: 80,
      target: '/healthz',
      headers: [
        ['User-Agent', 'kube-probe/1.36'],
        ['Accept', '*/*'],
      ],
    });
  });

  test('an httpGet request takes host, scheme and port from the action', () => {
    expect(urlOf(request({ host: '::1', scheme: 'HTTPS', port: 'web', path: '/x' }))).toBe('https://[::1]:8080/x');
  });

  test.each([
    ['of the action', ['curl/8'], ['User-Agent: curl/8']],
    ['with an empty value', [''], []],
    ['that occurs twice', [' curl/8 ', 'curl/9'], ['User-Agent: curl/8']],
    ['whose first value is empty', ['', 'curl/9'], []],
  ])('a User-Agent header %s replaces the default: the request has the lines $2', (_, values, lines) => {
    const head = requestHead(request({ httpHeaders: values.map((value) => ({ name: 'user-agent', value })) }));
    expect((head as string).split('\r\n').filter((line) => line.startsWith('User-Agent'))).toEqual(lines);
  });

  test("does not send Accept if the action's Accept header is empty", () => {
    const made = request({ httpHeaders: ['', 'a/b'].map((value) => ({ name: 'accept', value })) });
    expect(requestHead(made)).not.toContain('Accept');
  });

  test("sends the action's own Accept header", () => {
    expect(request({ httpHeaders: [{ name: 'accept', value: 'a/b' }] }).headers).toContainEqual(['Accept', 'a/b']);
  });

  test('sends an empty value for a header without a value, and keeps the case of invalid header names', () => {
    const httpHeaders = [{ name: 'x-a' }, { name: 'x y', value: '1' }] as never;
    expect(request({ httpHeaders }).headers.slice(2)).toEqual([
      ['X-A', ''],
      ['x y', '1'],
    ]);
  });

  test.each([
    ['bücher.example', 'xn--bcher-kva.example'],
    ['A.Example', 'A.Example'],
    ['xn--ü', 'xn--ü'],
  ])('looks up the host %s as %s', (host, name) => expect(request({ host }).host).toBe(name));

  test.each([
    ['/x', 'https://10.0.0.5:80/x'],
    ['//u:p@other/x', 'https://u:p@10.0.0.5:80/x'],
  ])('withScheme changes the scheme and keeps the port: the path %s gives %s', (path, url) => {
    const made = withScheme(request({ path }), 'https');
    expect([urlOf(made), made.scheme, made.port]).toEqual([url, 'https', 80]);
    expect('url' in made).toBe(path !== '/x');
  });

  test('canonicalises header names as Go does and keeps repeated headers', () => {
    const httpHeaders = [
      { name: 'x-FOO', value: '1' },
      { name: 'X-Foo', value: '2' },
    ];
    expect(request({ httpHeaders }).headers.slice(2)).toEqual([
      ['X-Foo', '1'],
      ['X-Foo', '2'],
    ]);
  });

  test("sends the action's Host header, but not Content-Length and Transfer-Encoding", () => {
    const httpHeaders = ['Host', 'Content-Length', 'transfer-encoding'].map((name) => ({ name, value: 'a.example' }));
    const made = request({ httpHeaders });
    expect(made.hostHeader).toBe('a.example');
    expect(requestHead(made)).toBe(
      'GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\nConnection: close\r\n\r\n',
    );
  });
});

describe('resolvePort', () => {
  test.each([
    [80, 80],
    ['web', 8080],
    ['443', 443],
  ])('resolves the probe port %j to %i', (port, number) => expect(resolvePort(port, container)).toBe(number));

  test.each([
    [0, 'invalid port number: 0'],
    [65_536, 'invalid port number: 65536'],
    ['0', 'invalid port number: 0'],
    ['nope', 'strconv.Atoi: parsing "nope": invalid syntax'],
    [undefined, 'invalid port number: -1'],
  ])('rejects the probe port %j: %s', (port, message) =>
    expect(() => resolvePort(port, container)).toThrow(expect.objectContaining({ code: 'InvalidPort', message })),
  );
});
