import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type HttpGetAction, httpGetRequest, urlOf } from '../src/http-request.ts';
import { requestTarget } from '../src/request-target.ts';
import { resolvePort } from '../src/resolve-port.ts';

const options = { podIp: '10.0.0.5', userAgent: 'kube-probe/1.36' };
const container = { ports: [{ name: 'web', containerPort: 8080 }] };
const request = (action: Partial<HttpGetAction>) => httpGetRequest({ port: 80, ...action }, container, options);

describe('requestTarget', () => {
  test.each([
    ['', '/'],
    ['/', '/'],
    ['healthz', '/healthz'],
    ['/a%20b/../c?x=y z#frag', '/a%20b/../c?x=y%20z'],
    ['/a b', '/a%20b'],
    ['/ü', '/%C3%BC'],
    ['/x?q=%zz', '/x?q=%zz'],
    ['/100%', '/100%25'],
    ['/a?b=1', '/a?b=1'],
    ['http://other/path?q', '/path?q'],
    ['//other/path', '/path'],
    ['/a\nb', '/a%0Ab'],
    ["/it's(fine)*!", "/it's(fine)*!"],
  ])('%j is sent as %j', (path, target) => expect(requestTarget(path)).toBe(target));

  test('whatever the path is, what is sent is one line of visible ASCII that begins with a slash', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (path) => /^\/[!-~]*$/.test(requestTarget(path))));
  });
});

describe('httpGetRequest', () => {
  test('goes to the pod over http, with the headers that a probe has', () => {
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

  test('takes host, scheme and port from the action', () => {
    expect(urlOf(request({ host: '::1', scheme: 'HTTPS', port: 'web', path: '/x' }))).toBe('https://[::1]:8080/x');
  });

  test.each([
    ['of its own', 'curl/8', [['User-Agent', 'curl/8']]],
    ['that is empty', '', []],
  ])('a User-Agent %s takes the place of the usual one', (_, value, headers) => {
    const sent = request({ httpHeaders: [{ name: 'user-agent', value }] }).headers;
    expect(sent.filter(([name]) => name === 'User-Agent')).toEqual(headers);
  });

  test('an empty Accept is not sent', () => {
    const names = request({ httpHeaders: [{ name: 'accept', value: '' }] }).headers.map(([name]) => name);
    expect(names).not.toContain('Accept');
  });

  test('names are written as Go writes them, and one may come twice', () => {
    const httpHeaders = [
      { name: 'x-FOO', value: '1' },
      { name: 'X-Foo', value: '2' },
    ];
    expect(request({ httpHeaders }).headers.slice(2)).toEqual([
      ['X-Foo', '1'],
      ['X-Foo', '2'],
    ]);
  });

  test('Host is what the action says; lengths and encodings of a body are not sent', () => {
    const httpHeaders = ['Host', 'Content-Length', 'transfer-encoding'].map((name) => ({ name, value: 'a.example' }));
    const made = request({ httpHeaders });
    expect(made.hostHeader).toBe('a.example');
    expect(made.headers.map(([name]) => name)).toEqual(['User-Agent', 'Accept']);
  });
});

describe('resolvePort', () => {
  test.each([
    [80, 80],
    ['web', 8080],
    ['443', 443],
  ])('%j is port %i', (port, number) => expect(resolvePort(port, container)).toBe(number));

  test.each([
    [0, 'invalid port number: 0'],
    [65_536, 'invalid port number: 65536'],
    ['0', 'invalid port number: 0'],
    ['nope', 'strconv.Atoi: parsing "nope": invalid syntax'],
    [undefined, 'invalid port number: -1'],
  ])('%j is refused', (port, message) =>
    expect(() => resolvePort(port, container)).toThrow(expect.objectContaining({ code: 'InvalidPort', message })),
  );
});
