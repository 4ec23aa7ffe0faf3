import { describe, expect, test } from 'vitest';
import type { HttpGetRequest } from '../src/http-request.ts';
import { redirectOf } from '../src/redirect.ts';

const first: HttpGetRequest = { scheme: 'http', host: '10.0.0.5', port: 80, target: '/a', headers: [] };
const ask = (status: number, location: string | undefined, request: Partial<HttpGetRequest> = {}, sent = 1) =>
  redirectOf({ ...first, ...request }, first, status, location, sent);

describe('redirectOf', () => {
  test.each([
    ['an answer that is no redirect', 200, '/b'],
    ['a status that has no place to go to', 304, '/b'],
    ['no location', 302, undefined],
    ['R3: another host', 302, 'http://10.0.0.6/'],
    ['R3: another host without a scheme', 302, '//example.com/'],
    ['R3: an address that only looks alike', 302, 'http://10.0.0.5@10.0.0.6/'],
  ])('%s leads nowhere', (_, status, location) => expect(ask(status, location)).toEqual({ kind: 'none' }));

  test.each([
    ['/b?c=d', { scheme: 'http', port: 80, target: '/b?c=d' }],
    ['b', { scheme: 'http', port: 80, target: '/b' }],
    ['http://10.0.0.5:8080/x', { scheme: 'http', port: 8080, target: '/x' }],
    ['https://10.0.0.5/x', { scheme: 'https', port: 443, target: '/x' }],
    ['http://10.0.0.5:80/x', { scheme: 'http', port: 80, target: '/x' }],
  ])('%s is followed', (location, wanted) => {
    const next = ask(307, location);
    expect(next).toMatchObject({ kind: 'follow', request: { host: '10.0.0.5', ...wanted } });
  });

  test('R3: a place that is named at great length is not looked at, nor told whole', () => {
    const next = ask(302, `/${'\u00e9'.repeat(20_000)}`);
    expect(next).toMatchObject({
      kind: 'fault',
      message: expect.stringMatching(/^failed to parse Location header: 20001 characters/),
    });
    expect(JSON.stringify(next).length).toBeLessThan(1000);
  });

  test('tells where it comes from, but not from https to http', () => {
    expect(ask(301, '/b')).toMatchObject({ request: { headers: [['Referer', 'http://10.0.0.5:80/a']] } });
    expect(ask(301, 'http://10.0.0.5/b', { scheme: 'https', port: 443 })).toMatchObject({ request: { headers: [] } });
  });

  test('a Host header of its own is kept for a relative location alone', () => {
    expect(ask(301, '/b', { hostHeader: 'a.example' })).toMatchObject({ request: { hostHeader: 'a.example' } });
    const away = ask(301, 'http://10.0.0.5/b', { hostHeader: 'a.example' });
    expect(away.kind === 'follow' && away.request.hostHeader).toBeUndefined();
  });

  test('R3: the eleventh request is not sent', () => {
    expect(ask(302, '/b', {}, 9).kind).toBe('follow');
    expect(ask(302, '/b', {}, 10)).toEqual({
      kind: 'fault',
      url: 'http://10.0.0.5/b',
      message: 'stopped after 10 redirects',
    });
  });

  test.each([
    ['http://%zz/', 'failed to parse Location header "http://%zz/"'],
    ['ftp://10.0.0.5/', 'unsupported protocol scheme "ftp"'],
  ])('%s is a fault', (location, message) => {
    const next = ask(302, location);
    // The port of ftp is known to nobody here; the host is the same one.
    expect(next.kind === 'fault' ? next.message : next.kind).toBe(message);
  });
});
