import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type HttpGetRequest, httpGetRequest } from '../src/http-request.ts';
import { redirectOf } from '../src/redirect.ts';
import { requestFields, type SentRequest } from '../src/request-head.ts';

const first: HttpGetRequest = { scheme: 'http', host: '10.0.0.5', port: 80, target: '/a', headers: [] };
const ask = (status: number, location: string | undefined, request: Partial<SentRequest> = {}, sent = 1) =>
  redirectOf({ ...first, ...request }, first, status, location, sent);

describe('redirectOf', () => {
  test.each([
    ['a response that is no redirect', 200, '/b'],
    ['a response with status 304', 304, '/b'],
    ['a response without Location', 302, undefined],
    ['R3: a redirect to another host', 302, 'http://10.0.0.6/'],
    ['R3: a redirect to another host without a scheme', 302, '//example.com/'],
    ["R3: a redirect to another host whose user name is the pod's address", 302, 'http://10.0.0.5@10.0.0.6/'],
  ])('does not follow %s', (_, status, location) => expect(ask(status, location)).toEqual({ kind: 'none' }));

  test.each([
    ['/b?c=d', { scheme: 'http', port: 80, target: '/b?c=d' }],
    ['b', { scheme: 'http', port: 80, target: '/b' }],
    ['http://10.0.0.5:8080/x', { scheme: 'http', port: 8080, target: '/x' }],
    ['https://10.0.0.5/x', { scheme: 'https', port: 443, target: '/x' }],
    ['http://10.0.0.5:80/x', { scheme: 'http', port: 80, target: '/x' }],
    ['http://10.0.0.5/x', { scheme: 'http', port: 80, target: '/x' }],
    ['ftp://10.0.0.5/x', { scheme: 'ftp', port: 0, target: '/x' }],
  ])('follows a redirect to the location %s with the request %j', (location, wanted) => {
    const next = ask(307, location);
    expect(next).toMatchObject({ kind: 'follow', request: { host: '10.0.0.5', ...wanted } });
  });

  test.each([300, 301, 302, 303, 304, 305, 306, 307, 308, 309])(
    'follows a redirect with status %i only if Go does',
    (status) => {
      const leads = [301, 302, 303, 307, 308].includes(status);
      expect(ask(status, '/b').kind).toBe(leads ? 'follow' : 'none');
    },
  );

  test('follows a redirect to the same name that is not ASCII, but not to its Punycode form', () => {
    const action = { host: 'bücher.example', port: 80 };
    const original = httpGetRequest(action, {}, { podIp: '10.0.0.5', userAgent: 'a' });
    const there = redirectOf(original, original, 302, 'http://b\xc3\xbccher.example/x', 1);
    expect(there).toMatchObject({ kind: 'follow', request: { host: 'xn--bcher-kva.example', target: '/x' } });
    expect(redirectOf(original, original, 302, 'http://xn--bcher-kva.example/x', 1).kind).toBe('none');
  });

  test('R3: follows a redirect location of 16 KiB and reports the beginning of a longer one', () => {
    expect(ask(302, `/${'a'.repeat(16_383)}`).kind).toBe('follow');
    expect(ask(302, `/${'a'.repeat(16_384)}`)).toMatchObject({
      message: `failed to parse Location header of 16385 bytes that begin with "/${'a'.repeat(63)}"`,
    });
  });

  test('R3: rejects a very long redirect location and does not quote all of it', () => {
    const next = ask(302, `/${'\u00e9'.repeat(20_000)}`);
    expect(next).toMatchObject({
      kind: 'fault',
      message: expect.stringMatching(/^failed to parse Location header of 20001 bytes/),
    });
    expect(JSON.stringify(next).length).toBeLessThan(1000);
  });

  /** Returns the header fields of the next request by name. */
  function fields(location: string, request: Partial<SentRequest> = {}, status = 301) {
    const from = { ...first, ...request };
    const next = redirectOf(
      from,
      { ...from, ...(request.headers && { headers: request.headers }) },
      status,
      location,
      1,
    );
    if (next.kind !== 'follow') throw new Error(JSON.stringify(next));
    const sent = requestFields(next.request);
    if ('fault' in sent) throw new Error(sent.fault);
    const all: Readonly<Record<string, string>> = { host: sent.host, ...Object.fromEntries(sent.others) };
    return all;
  }

  test('a redirected request has a Referer without the user, and none from https to http', () => {
    expect(fields('/b')).toEqual({ host: '10.0.0.5:80', Referer: 'http://10.0.0.5:80/a' });
    expect(fields('http://10.0.0.5/b', { scheme: 'https', port: 443 })).toEqual({ host: '10.0.0.5' });
    expect(fields('/b', { url: 'http://u:p@10.0.0.5:80/a#x' })).toEqual({
      host: '10.0.0.5:80',
      Authorization: `Basic ${btoa('u:p')}`,
      Referer: 'http://10.0.0.5:80/a#x',
    });
  });

  test('a redirected request keeps the first Referer header of the action', () => {
    const headers = [
      ['Referer', 'http://mine/'],
      ['Referer', 'http://other/'],
    ] as const;
    expect(fields('/b', { headers }).Referer).toBe('http://mine/');
  });

  test('a user in a redirect location sets basic authentication unless the action has an Authorization header', () => {
    expect(fields('http://u:p@10.0.0.5/b').Authorization).toBe(`Basic ${btoa('u:p')}`);
    expect(fields('http://u@10.0.0.5/b').Authorization).toBe(`Basic ${btoa('u:')}`);
    const own = { headers: [['Authorization', 'Bearer x']] as const };
    expect(fields('http://u:p@10.0.0.5/b', own).Authorization).toBe('Bearer x');
  });

  test('a redirected request keeps body headers only for statuses 307 and 308', () => {
    const ofBody = ['Content-Encoding', 'Content-Language', 'Content-Location', 'Content-Type'];
    const headers = [...ofBody, 'X-A'].map((name) => [name, 'x'] as const);
    const kept = (status: number, more: Partial<SentRequest> = {}): readonly string[] =>
      Object.keys(fields('/b', { headers, ...more }, status)).filter((name) => name !== 'host' && name !== 'Referer');
    for (const status of [301, 302, 303]) expect(kept(status)).toEqual(['X-A']);
    for (const status of [307, 308]) {
      expect(kept(status)).toEqual([...ofBody, 'X-A']);
      expect(kept(status, { keepsBodyHeaders: false })).toEqual(['X-A']);
    }
  });

  test.each([
    ['/a\\b', '/a%5Cb'],
    ['\\\\10.0.0.6/x', '/%5C%5C10.0.0.6/x'],
    ['/\xff\xc3\xbc', '/%FF%C3%BC'],
    ['/x?\xff', '/x?\xff'],
    ['/x y?a b', '/x%20y?a b'],
    ['/%41%2f%c3', '/%41%2f%c3'],
    ['../../b/./c/..', '/b/'],
    ['?x', '/a?x'],
    ['#f', '/a'],
    ['//10.0.0.5:80/a//..//b', '/a//b'],
    ['', '/a'],
  ])('follows the redirect location %j to the target %j', (location, target) => {
    const next = ask(302, location);
    expect(next.kind === 'follow' ? next.request.target : next.kind).toBe(location === '' ? 'none' : target);
  });

  test.each([
    ['HTTP://10.0.0.5/', 'follow'],
    ['http:/b', 'none'],
    ['http:b', 'none'],
    ['http:///b', 'none'],
    ['mailto:10.0.0.5', 'none'],
    ['http://10.0.0.5:/b', 'follow'],
    ['http://10.0.0.05/b', 'none'],
  ])('the redirect location %j leads to: %s', (location, kind) => expect(ask(302, location).kind).toBe(kind));

  test('a redirected request keeps a custom Host header only for a relative location', () => {
    expect(ask(301, '/b', { hostHeader: 'a.example' })).toMatchObject({ request: { hostHeader: 'a.example' } });
    const away = ask(301, 'http://10.0.0.5/b', { hostHeader: 'a.example' });
    expect(away.kind === 'follow' && away.request.hostHeader).toBeUndefined();
  });

  test('R3: sends at most ten requests while following redirects', () => {
    expect(ask(302, '/b', {}, 9).kind).toBe('follow');
    expect(ask(302, '/b', {}, 10)).toEqual({
      kind: 'fault',
      url: '/b',
      message: 'stopped after 10 redirects',
      readsBody: true,
    });
  });

  test.each([
    ['http://%zz/', 'failed to parse Location header "http://%zz/": parse "http://%zz/": invalid URL escape "%zz"'],
    ['/%zz', 'failed to parse Location header "/%zz": parse "/%zz": invalid URL escape "%zz"'],
    ['/a#%z', 'failed to parse Location header "/a#%z": parse "/a#%z": invalid URL escape "%z"'],
    [':80/', 'failed to parse Location header ":80/": parse ":80/": missing protocol scheme'],
    ['1:2/', 'failed to parse Location header "1:2/": parse "1:2/": first path segment in URL cannot contain colon'],
    [
      'http://10.0.0.5:x/',
      'failed to parse Location header "http://10.0.0.5:x/": parse "http://10.0.0.5:x/": invalid port ":x" after host',
    ],
    [
      'http://a b/',
      'failed to parse Location header "http://a b/": parse "http://a b/": invalid character " " in host name',
    ],
    [
      'http://a\\b/',
      'failed to parse Location header "http://a\\\\b/": parse "http://a\\\\b/": invalid character "\\\\" in host name',
    ],
    ['http://a@b@10.0.0.5/\xff', 'follow'],
    [
      'http://\xff@10.0.0.5/',
      'failed to parse Location header "http://\\xff@10.0.0.5/": parse "http://\\xff@10.0.0.5/": net/url: invalid userinfo',
    ],
    ['http://[::1/', `failed to parse Location header "http://[::1/": parse "http://[::1/": missing ']' in host`],
  ])('the redirect location %s results in: %s', (location, message) => {
    const next = ask(302, location);
    expect(next.kind === 'fault' ? next.message : next.kind).toBe(message);
  });

  test('removes the password from the URL in a redirect error', () => {
    const next = ask(302, '/%zz', { url: 'http://u:p@10.0.0.5:80/a' });
    expect(next).toMatchObject({ kind: 'fault', url: 'http://u:***@10.0.0.5:80/a' });
  });

  test('R3: any redirect location leads to the same host, is not followed, or is an error', () => {
    const piece = fc.constantFrom(
      '/',
      '.',
      '..',
      ':',
      '@',
      '[',
      ']',
      '%',
      '%41',
      '?',
      '#',
      'http:',
      '10.0.0.5',
      '\xff',
      '\\',
      '*',
      'a',
    );
    const location = fc.oneof(
      fc.string({ unit: 'binary-ascii' }),
      fc.array(piece, { maxLength: 12 }).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(location, (text) => {
        const next = ask(302, text);
        if (next.kind !== 'follow') return;
        expect(next.request.host).toBe('10.0.0.5');
        const again = ask(302, '?', next.request);
        expect(again.kind).toBe('follow');
      }),
      { numRuns: 2000 },
    );
  });
});
