import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeChanges, type ObjectChange } from '../src/change-feed.ts';
import { KubeError } from '../src/errors.ts';
import { parseJson } from '../src/json.ts';
import { lines } from '../src/lines.ts';
import { proxyFor, proxyUrlProblem } from '../src/proxy.ts';
import { fieldSelector, withQuery } from '../src/query.ts';
import * as rules from '../src/reflector-rules.ts';
import { apiVersionOf, collectionPath, objectPath } from '../src/resource.ts';
import { compareResourceVersions } from '../src/resource-version.ts';
import { resources } from '../src/resources.ts';
import { parseRetryAfter, retryDelayMs } from '../src/retry.ts';
import { errorOfResponse, errorOfStatus } from '../src/status.ts';
import { parseWarnings } from '../src/warnings.ts';
import { parseWatchEvent } from '../src/watch-events.ts';

const NOW_MS = Date.UTC(2026, 0, 1);

test("parsing and writing JSON keeps unknown fields, and integers beyond JavaScript's number precision", () => {
  const text =
    '{"a":9007199254740993,"b":[-123456789012345678901234567890,1],"c":"1234567890123456789","d":{"x-unknown":null},"e":9007199254740991}';
  const value = parseJson(text);
  expect(JSON.stringify(value)).toBe(text);
  expect(value).toMatchObject({ c: '1234567890123456789', e: 9007199254740991 });
});

test('any JSON value survives parsing and writing', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
    }),
  );
});

test('the error for invalid JSON quotes the beginning of the text', () => {
  expect(() => parseJson(`<html>${'x'.repeat(200)}`)).toThrow(/^not JSON: "<html>x+\.\.\."$/);
});

test('W4: the error for invalid JSON that may contain a secret quotes nothing, and neither does its cause', () => {
  for (const text of ['{"data":{"password": hunter2hunter2}}', 'hunter2hunter2']) {
    expect(String(thrownBy(() => parseJson(text)))).toBe(`KubeError: not JSON: ${text.length} characters`);
    expect(JSON.stringify(causesOf(thrownBy(() => parseJson(text))))).not.toContain('hunter2');
  }
  const line = '["hunter2hunter2"]';
  expect(String(thrownBy(() => parseWatchEvent(line)))).not.toContain('hunter2');
});

function thrownBy(step: () => unknown): unknown {
  try {
    step();
  } catch (error) {
    return error;
  }
  throw new Error('it does not throw');
}

/** Returns the messages of an error and of all its causes. */
function causesOf(error: unknown): readonly string[] {
  return error instanceof Error ? [error.message, ...causesOf(error.cause)] : [];
}

test('lines are reassembled from arbitrary chunks, including split UTF-8 characters', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc
          .string({ unit: 'grapheme' })
          .map((text) => text.replace(/[\r\n]/g, '').trim())
          .filter((text) => text !== ''),
      ),
      fc.array(fc.nat(7)),
      async (wanted, cuts) => {
        const bytes = new TextEncoder().encode(wanted.map((line) => `${line}\n`).join(''));
        async function* chunks(): AsyncGenerator<Uint8Array> {
          let at = 0;
          for (const cut of cuts) {
            yield bytes.subarray(at, at + cut);
            at += cut;
          }
          yield bytes.subarray(at);
        }
        const got: string[] = [];
        for await (const line of lines(chunks())) got.push(line);
        expect(got).toEqual(wanted);
      },
    ),
  );
});

test.each([
  ['12', '7', 1],
  ['7', '12', -1],
  ['900', '1000', -1],
  ['18446744073709551616', '18446744073709551615', 1],
  ['5', '5', 0],
  ['', '5', undefined],
  ['0', '5', undefined],
  ['05', '5', undefined],
  ['abc', '5', undefined],
])('compareResourceVersions(%j, %j) has the sign %j', (a, b, expected) => {
  const result = compareResourceVersions(a, b);
  expect(result === undefined ? undefined : Math.sign(result)).toBe(expected);
});

test.each([
  [resources.pods, undefined, '/api/v1/pods'],
  [resources.pods, 'ns', '/api/v1/namespaces/ns/pods'],
  [resources.nodes, undefined, '/api/v1/nodes'],
])('the collection path of %j in namespace %j is %j', (resource, namespace, expected) => {
  expect(collectionPath(resource, namespace)).toBe(expected);
});

test.each([
  [resources.pods, { namespace: 'ns', name: 'a', subresource: 'status' }, '/api/v1/namespaces/ns/pods/a/status'],
  [resources.nodes, { name: 'a' }, '/api/v1/nodes/a'],
  [
    resources.leases,
    { namespace: 'kube-node-lease', name: 'a b' },
    '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a%20b',
  ],
])('the object path of %j is %j', (resource, place, expected) => {
  expect(objectPath(resource, place)).toBe(expected);
});

test.each([
  [resources.pods, { namespace: '..', name: 'a' }, /namespace/],
  [resources.pods, { namespace: 'ns', name: 'a/../../secrets/b' }, /name/],
  [resources.pods, { namespace: 'ns', name: '%2e%2e' }, /name/],
  [resources.pods, { namespace: 'ns', name: '' }, /name/],
  [resources.pods, { namespace: 'ns', name: '.' }, /name/],
  [resources.pods, { namespace: '', name: 'a' }, /namespace/],
  [resources.pods, { namespace: 'ns', name: 'a', subresource: 'proxy/..' }, /subresource/],
  [resources.pods, { name: 'a' }, /a namespace is missing/],
  [resources.nodes, { namespace: 'ns', name: 'a' }, /are not namespaced/],
  [resources.pods, { namespace: 'ns', subresource: 'status' } as never, /a name is missing/],
  [resources.pods, { namespace: 'ns', name: undefined } as never, /a name is missing/],
  [resources.nodes, {} as never, /a name is missing/],
  [resources.pods, { namespace: 'ns', name: null } as never, /null is not a name/],
  [resources.pods, { namespace: 'ns', name: 7 } as never, /7 is not a name/],
  [resources.pods, { namespace: 'ns', name: 'a\ud800' }, /"a\\ud800" is not a name: it must be valid Unicode/],
  [resources.pods, { namespace: null, name: 'a' } as never, /null is not a namespace/],
])('W3: objectPath rejects %j %j', (resource, place, message) => {
  expect(() => objectPath(resource, place)).toThrow(message);
  expect(() => objectPath(resource, place)).toThrow(expect.objectContaining({ code: 'InvalidRequest' }));
});

test('the apiVersion of the core group has no group name', () => {
  expect([apiVersionOf(resources.pods), apiVersionOf(resources.leases)]).toEqual(['v1', 'coordination.k8s.io/v1']);
});

test('query strings omit absent and empty values and escape present ones', () => {
  const selector = fieldSelector({ 'spec.nodeName': 'a', 'metadata.name': 'x,y=z\\' });
  expect(selector).toBe('spec.nodeName=a,metadata.name=x\\,y\\=z\\\\');
  expect(withQuery('/p', { a: undefined, b: '', c: 0, d: false, e: 'x&y=z' })).toBe('/p?c=0&d=false&e=x%26y%3Dz');
  expect(withQuery('/p', {})).toBe('/p');
});

test.each([
  [
    429,
    '',
    'TooManyRequests',
    'the server has received too many requests and has asked us to try again later (get /x)',
  ],
  [
    404,
    '404 page not found',
    'NotFound',
    'the server could not find the requested resource: 404 page not found (get /x)',
  ],
  [500, 'boom', 'InternalError', 'an error on the server ("boom") has prevented the request from succeeding (get /x)'],
  [
    502,
    '{"kind":"Sta',
    'InternalError',
    'an error on the server ("{\\"kind\\":\\"Sta") has prevented the request from succeeding (get /x)',
  ],
  [403, 'no way', 'Forbidden', 'no way (get /x)'],
  [418, '', 'Unknown', 'the server responded with the status code 418 but did not return more information (get /x)'],
  [503, '', 'ServiceUnavailable', 'the server is currently unable to handle the request (get /x)'],
])(
  'a response with status %i and body %j without a Status becomes an error with the code %s',
  (status, text, code, message) => {
    expect(errorOfResponse({ status, text }, 'get /x')).toMatchObject({ code, message, httpStatus: status });
  },
);

test('a Status in a response becomes an error with its message, code and details', () => {
  const status = {
    kind: 'Status',
    status: 'Failure',
    reason: 'Invalid',
    code: 422,
    message: 'Pod "a" is invalid: spec: Required value',
    details: {
      name: 'a',
      kind: 'Pod',
      retryAfterSeconds: 3,
      causes: [{ reason: 'FieldValueRequired', message: 'Required value', field: 'spec' }],
    },
  };
  expect(errorOfResponse({ status: 422, text: JSON.stringify(status) }, 'x')).toMatchObject({
    code: 'Invalid',
    httpStatus: 422,
    message: status.message,
    details: status.details,
    retryAfterMs: 3000,
  });
  expect(errorOfStatus({ reason: 'SomethingNew', code: 409, message: 'm' }).code).toBe('Conflict');
  expect(errorOfStatus('nonsense')).toMatchObject({
    code: 'Unknown',
    message: 'the server answered with a failure and no message',
  });
});

test.each([
  [new TypeError('x'), 'Unknown'],
  ['text', 'Unknown'],
  [new DOMException('stop', 'AbortError'), 'Aborted'],
  [Object.assign(new Error('e'), { code: 'ECONNREFUSED' }), 'ConnectionFailed'],
  [Object.assign(new Error('e'), { code: 'CERT_HAS_EXPIRED' }), 'ConnectionFailed'],
  [Object.assign(new Error('e'), { code: 'Timeout' }), 'DeadlineExceeded'],
])('KubeError.from(%j) has the code %s', (error, code) => {
  expect(KubeError.from(error)).toMatchObject({ code, cause: error });
});

test.each([
  ['120', 120_000],
  [' 0 ', 0],
  ['Thu, 01 Jan 2026 00:00:07 GMT', 7000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['soon', undefined],
  [undefined, undefined],
])('Retry-After %j is parsed as %j ms', (header, expected) => {
  expect(parseRetryAfter(header, NOW_MS)).toBe(expected);
});

const error = (code: ConstructorParameters<typeof KubeError>[0]['code'], more: object = {}): KubeError =>
  new KubeError({ code, message: code, ...more });
const tooLarge = error('Timeout', { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] }, retryAfterMs: 1000 });
const reset = new KubeError({
  code: 'ConnectionFailed',
  message: 'm',
  cause: Object.assign(new Error('m'), { code: 'ECONNRESET' }),
});
const refused = new KubeError({
  code: 'ConnectionFailed',
  message: 'm',
  cause: Object.assign(new Error('m'), { code: 'ECONNREFUSED' }),
});
const answer = (httpStatus: number, retryAfterMs?: number): KubeError =>
  new KubeError({ code: 'Unknown', message: 'm', httpStatus, retryAfterMs });

test.each([
  ['GET', answer(429, 2000), 1, 2000],
  ['PATCH', answer(429, 2000), 10, 2000],
  ['PATCH', answer(429, 2000), 11, undefined],
  ['POST', answer(503, 0), 1, 0],
  ['POST', answer(503), 1, undefined],
  ['GET', answer(404, 2000), 1, undefined],
  ['GET', tooLarge, 1, undefined],
  ['GET', reset, 1, 1000],
  ['PUT', reset, 1, undefined],
  ['GET', refused, 1, undefined],
])(
  'the delay before %s is retried after %s, attempt %i, is %j ms (undefined: no retry)',
  (method, error, attempt, expected) => {
    expect(retryDelayMs({ method, error, attempt, maxRetries: 10 })).toBe(expected);
  },
);

test('parseWarnings returns the unquoted texts of Warning headers with code 299, and ignores other codes', () => {
  expect(parseWarnings('299 - "a \\"b\\", c", 110 other "stale" , 299 k8s "d"')).toEqual(['a "b", c', 'd']);
  expect(parseWarnings('nonsense')).toEqual([]);
  expect(parseWarnings(undefined)).toEqual([]);
});

test('an unknown watch event type is skipped; an invalid watch event throws', () => {
  expect(parseWatchEvent('{"type":"NEWER","object":{}}')).toBeUndefined();
  expect(() => parseWatchEvent('[1]')).toThrow('not a watch event: 3 characters');
  expect(() => parseWatchEvent('{"type":"ADDED","object":{"metadata":{}}}')).toThrow('has an object without a name');
  expect(parseWatchEvent('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}')).toEqual({
    type: 'BOOKMARK',
    resourceVersion: '7',
    initialEventsEnd: false,
  });
});

test.each([
  ['https://api:6443', undefined, { HTTPS_PROXY: 'http://p:1' }, 'http://p:1'],
  ['https://api:6443', undefined, { https_proxy: 'p:1' }, 'http://p:1'],
  ['http://api', undefined, { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['https://api', 'socks5://own:2', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '*' }, 'socks5://own:2'],
  ['https://127.0.0.1:6443', undefined, { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['https://localhost', undefined, { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['https://[::1]:6443', undefined, { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['https://10.1.2.3:6443', undefined, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'a,10.0.0.0/8' }, undefined],
  [
    'https://11.1.2.3:6443',
    undefined,
    { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'a,10.0.0.0/8,10.0.0.0/99' },
    'http://p:1',
  ],
  ['https://[fd00::1]', undefined, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'fd00::/8' }, undefined],
  ['https://[fd00::1]', undefined, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'fd00::1' }, undefined],
  ['https://api.example.com', undefined, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'example.com' }, undefined],
  ['https://example.com', undefined, { HTTPS_PROXY: 'http://p:1', NO_PROXY: '.example.com' }, 'http://p:1'],
  ['https://badexample.com', undefined, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'example.com' }, 'http://p:1'],
  ['https://api.example.com:6443', undefined, { HTTPS_PROXY: 'http://p:1', no_proxy: 'example.com:6443' }, undefined],
  [
    'https://api.example.com:6444',
    undefined,
    { HTTPS_PROXY: 'http://p:1', no_proxy: 'example.com:6443' },
    'http://p:1',
  ],
  ['https://api', undefined, { HTTPS_PROXY: 'http://p:1', NO_PROXY: '*' }, undefined],
  ['http://api', undefined, { HTTP_PROXY: 'p:1' }, 'http://p:1'],
  ['http://api', undefined, { HTTP_PROXY: 'p:1', NO_PROXY: 'api:80' }, undefined],
  ['http://api', undefined, { HTTP_PROXY: 'p:1', NO_PROXY: 'api:443' }, 'http://p:1'],
  ['https://api', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: 'api:443' }, undefined],
  ['https://api.example.com.', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: ' ,EXAMPLE.com ' }, undefined],
  ['https://api.example.com', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: '.example.com' }, undefined],
  ['https://api.example.com', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: '*.example.com' }, undefined],
  ['https://api.example.org', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: '.example.com' }, 'http://p:1'],
  ['https://127.example.com', undefined, { HTTPS_PROXY: 'p:1' }, 'http://p:1'],
  ['https://128.0.0.1', undefined, { HTTPS_PROXY: 'p:1' }, 'http://p:1'],
  ['https://10.1.2.3', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: '10.1.2.3' }, undefined],
  ['https://10.1.2.3', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: '10.1.2.4' }, 'http://p:1'],
  ['https://10.1.2.3', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: '10.1.2.3/32' }, undefined],
  ['https://10.1.2.3', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: '10.1.2.3/33' }, 'http://p:1'],
  ['https://10.1.2.3', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: '10.1.2.3/,fd00::/8' }, 'http://p:1'],
  ['https://[fd00::1]', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: 'fd00::1/128' }, undefined],
  ['https://[fd00::1]', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: 'fd00::1/129' }, 'http://p:1'],
  ['https://[fd00::1]:6443', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: '[fd00::1]:6443' }, undefined],
  ['https://[fd00::1]:6443', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: '[fd00::1]:6444' }, 'http://p:1'],
  ['https://api', undefined, { HTTPS_PROXY: 'http://' }, undefined],
  ['https://api', undefined, { HTTPS_PROXY: 'p:1', NO_PROXY: 'a/8,a]b,,' }, 'http://p:1'],
])('the proxy for %s (configured: %j, environment: %j) is %j', (server, own, environment, expected) => {
  const proxy = proxyFor(new URL(server), own, environment);
  expect(proxy?.href).toBe(expected === undefined ? undefined : new URL(expected).href);
});

test('proxyUrlProblem accepts http, https and SOCKS 5 URLs and rejects others', () => {
  expect(proxyUrlProblem('ftp://p')).toBe('expected http, https or socks5, got ftp://');
  expect(proxyUrlProblem('p p')).toBe('is no URL');
  for (const scheme of ['http', 'https', 'socks5', 'socks5h']) {
    expect(proxyUrlProblem(`${scheme}://p:1`)).toBeUndefined();
  }
});

type Change = ObjectChange<string>;
const changed = (object: string, previous?: string): Change => ({ type: 'changed', key: 'k', object, previous });
const deleted = (object: string): Change => ({ type: 'deleted', key: 'k', object });

test.each<[Change, Change, Change | undefined]>([
  [changed('b', 'a'), changed('c', 'b'), changed('c', 'a')],
  [changed('b'), changed('c', 'b'), changed('c')],
  [changed('b'), deleted('b'), undefined],
  [changed('b', 'a'), deleted('b'), deleted('b')],
  [deleted('a'), changed('b'), changed('b', 'a')],
  [{ type: 'synced' }, { type: 'synced' }, { type: 'synced' }],
])('merging the changes %j and %j yields %j', (waiting, next, expected) => {
  expect(mergeChanges(waiting, next)).toEqual(expected);
});

const state: rules.ReflectorState = { ...rules.initialState(true), resourceVersion: '5' };
test.each<[rules.ReflectorPhase, number, KubeError, Partial<rules.ReflectorState>, object]>([
  ['watch', 5000, error('Expired'), {}, { next: 'list', backOff: false, state: { versionUnavailable: false } }],
  ['watch', 500, error('Gone'), {}, { next: 'list', backOff: true }],
  ['watch', 5000, tooLarge, {}, { next: 'list', backOff: false, state: { versionUnavailable: true } }],
  ['watch', 5000, error('TooManyRequests', { retryAfterMs: 9 }), {}, { next: 'watch', backOff: true, atLeastMs: 9 }],
  ['watch', 5000, error('DeadlineExceeded'), {}, { next: 'watch', backOff: true }],
  ['watch', 5000, error('ConnectionReplaced'), {}, { next: 'watch', backOff: false }],
  ['watch', 500, error('ConnectionReplaced'), {}, { next: 'watch', backOff: true }],
  ['watch', 5000, error('ConnectionFailed'), {}, { next: 'watch', backOff: false, state: { unheard: true } }],
  ['watch', 500, error('ConnectionFailed'), {}, { next: 'watch', backOff: true }],
  ['watch', 5000, error('ServiceUnavailable', { retryAfterMs: 9 }), {}, { next: 'watch', backOff: true, atLeastMs: 9 }],
  ['watch', 5000, error('ServerTimeout'), {}, { next: 'watch', backOff: true }],
  ['watch', 5000, error('CredentialsUnavailable'), {}, { next: 'watch', backOff: true }],
  ['watch', 5000, error('InvalidResponse'), {}, { next: 'list', backOff: true }],
  ['watch', 90_000, error('DeadlineExceeded'), { unheard: true }, { next: 'list', backOff: true }],
  ['watch', 5000, error('InternalError'), {}, { next: 'list', backOff: true }],
  ['list', 50, error('Expired'), {}, { next: 'list', backOff: false, state: { versionUnavailable: true } }],
  ['list', 50, error('Expired'), { versionUnavailable: true }, { next: 'list', backOff: true }],
  ['list', 50, error('Forbidden'), { streaming: 'off' }, { next: 'list', backOff: true, state: { streaming: 'off' } }],
  [
    'streamingList',
    50,
    tooLarge,
    {},
    { next: 'list', backOff: false, state: { versionUnavailable: true, streaming: 'on' } },
  ],
  ['streamingList', 50, error('Invalid'), {}, { next: 'list', backOff: false, state: { streaming: 'off' } }],
  ['streamingList', 50, error('InternalError'), {}, { next: 'list', backOff: false, state: { streaming: 'skip' } }],
  ['streamingList', 50, error('DeadlineExceeded'), {}, { next: 'list', backOff: false, state: { streaming: 'skip' } }],
  ['streamingList', 50, error('TooManyRequests'), {}, { next: 'list', backOff: true, state: { streaming: 'on' } }],
  ['streamingList', 50, error('Unauthorized'), {}, { next: 'list', backOff: true, state: { streaming: 'on' } }],
  [
    'list',
    50,
    error('ConnectionFailed'),
    { streaming: 'skip' },
    { next: 'list', backOff: true, state: { streaming: 'on' } },
  ],
])('after a %s of %i ms that failed with %s, the next step is $4', (phase, lastedMs, failure, more, expected) => {
  const end = { phase, opened: true, lastedMs, events: 0 };
  expect(rules.afterFailure(end, failure, { ...state, ...more })).toMatchObject(expected);
});

test('a watch without a response is retried after a back-off; a watch that ended is resumed without one', () => {
  const end = { phase: 'watch', opened: false, lastedMs: 30_000, events: 0 } as const;
  expect(rules.afterFailure(end, error('ConnectionFailed'), state)).toMatchObject({ next: 'watch', backOff: true });
  const ended = { ...end, opened: true };
  expect(rules.afterCleanEnd(ended, state)).toMatchObject({ next: 'watch', backOff: false });
  expect(rules.afterCleanEnd(ended, { ...state, unheard: true })).toMatchObject({ next: 'list' });
  expect(rules.afterCleanEnd({ ...ended, events: 1 }, { ...state, unheard: true })).toMatchObject({ next: 'watch' });
  expect(rules.afterCleanEnd({ ...ended, lastedMs: 10 }, state)).toMatchObject({ next: 'watch', backOff: true });
  expect(rules.afterEvent('6', true, { ...state, unheard: true })).toMatchObject({ unheard: false });
});

test('a wait that a server requests with Retry-After is limited to 10 minutes', () => {
  expect(parseRetryAfter('999999999', NOW_MS)).toBe(600_000);
  expect(parseRetryAfter('Fri, 01 Jan 2100 00:00:00 GMT', NOW_MS)).toBe(600_000);
  expect(errorOfStatus({ details: { retryAfterSeconds: 1e9 } }).retryAfterMs).toBe(600_000);
});

test('after a plain list that replaced a failed streaming list, streaming lists are used again', () => {
  expect(rules.afterListed('9', false, { ...state, streaming: 'skip' }).streaming).toBe('on');
  expect(rules.afterListed('9', false, { ...state, streaming: 'off' }).streaming).toBe('off');
  expect(rules.afterListed('9', true, { ...state, versionUnavailable: true })).toMatchObject({
    resourceVersion: '9',
    versionUnavailable: false,
    paginated: true,
  });
});
