import { errorCode } from '@node-agent/host';
import { describe, expect, test } from 'vitest';
import { KubeError } from '../src/errors.ts';
import { parseJson } from '../src/json.ts';
import { objectKey } from '../src/object-key.ts';
import { patchContentType } from '../src/patch.ts';
import { retryDelayMs } from '../src/retry.ts';
import { errorOfResponse, errorOfStatus } from '../src/status.ts';
import { systemErrorOf, toError } from '../src/system-errors.ts';
import { parseWatchEvent } from '../src/watch-events.ts';

describe('errors for responses without a Status', () => {
  const nothingMore = (status: number): string =>
    `the server responded with the status code ${status} but did not return more information`;

  test.each([
    [400, 'BadRequest', 'the server rejected our request for an unknown reason'],
    [401, 'Unauthorized', 'the server has asked for the client to provide credentials'],
    [402, 'Unknown', nothingMore(402)],
    [403, 'Forbidden', nothingMore(403)],
    [404, 'NotFound', 'the server could not find the requested resource'],
    [405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource'],
    [406, 'NotAcceptable', nothingMore(406)],
    [409, 'Conflict', 'the server reported a conflict'],
    [410, 'Gone', nothingMore(410)],
    [413, 'RequestEntityTooLarge', nothingMore(413)],
    [415, 'UnsupportedMediaType', nothingMore(415)],
    [422, 'Invalid', 'the server rejected our request due to an error in our request'],
    [429, 'TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
    [499, 'Unknown', nothingMore(499)],
    [500, 'InternalError', 'an error on the server ("") has prevented the request from succeeding'],
    [501, 'InternalError', 'an error on the server ("") has prevented the request from succeeding'],
    [503, 'ServiceUnavailable', 'the server is currently unable to handle the request'],
    [
      504,
      'Timeout',
      'the server was unable to return a response in the time allotted, but may still be processing the request',
    ],
  ])('a response with status code %d becomes an error with the code %s', (status, code, message) => {
    const error = errorOfResponse({ status, text: '' }, 'get /x');
    expect(error).toMatchObject({ code, httpStatus: status, message: `${message} (get /x)` });
  });

  test.each([
    ['a', 'a'],
    [' a\n', 'a'],
    ['x'.repeat(2048), 'x'.repeat(2048)],
    ['x'.repeat(2049), `${'x'.repeat(2048)}...`],
    ['{"kind":"Other","status":"Failure","message":"m"}', '{"kind":"Other","status":"Failure","message":"m"}'],
    ['{"kind":"Status","status":"Success","message":"m"}', '{"kind":"Status","status":"Success","message":"m"}'],
    ['[{"kind":"Status"}]', '[{"kind":"Status"}]'],
  ])('an error quotes the text of a response without a Status, up to 2048 characters (%#)', (text, said) => {
    expect(errorOfResponse({ status: 403, text }, 'x').message).toBe(`${said} (x)`);
  });
});

describe('errors for a Status', () => {
  test('details of a Status are ignored if they have the wrong types', () => {
    const causes = [{ reason: 'R', message: 'M', field: 'f', more: 1 }, { reason: 7 }, 'none'];
    const details = { name: 'a', group: 'g', kind: 'k', uid: 'u', causes, retryAfterSeconds: 2, more: 1 };
    expect(errorOfStatus({ details }).details).toEqual({
      ...{ name: 'a', group: 'g', kind: 'k', uid: 'u', retryAfterSeconds: 2 },
      causes: [{ reason: 'R', message: 'M', field: 'f' }, {}],
    });
    expect(errorOfStatus({ details: { name: 1, causes: 'none', retryAfterSeconds: '2' } }).details).toStrictEqual({});
    expect(errorOfStatus({ details: 'none' }).details).toBeUndefined();
  });

  test.each([
    [{ retryAfterSeconds: 2 }, undefined, 2000],
    [{ retryAfterSeconds: 2 }, 7, 7],
    [{ retryAfterSeconds: 1 }, undefined, 1000],
    [{ retryAfterSeconds: 0 }, undefined, undefined],
    [{}, undefined, undefined],
  ])(
    'a Status with details %j and a Retry-After header of %j ms requests a wait of %j ms',
    (details, retryAfterMs, expected) => {
      expect(errorOfStatus({ details }, { retryAfterMs }).retryAfterMs).toBe(expected);
    },
  );

  test('a body that is not a Status becomes the error Unknown without an HTTP status', () => {
    expect(errorOfStatus(null)).toMatchObject({ code: 'Unknown', httpStatus: undefined });
  });

  test('a Status may be preceded by whitespace', () => {
    const text = ' {"kind":"Status","status":"Failure","reason":"Gone","message":"m"}';
    expect(errorOfResponse({ status: 500, text }, 'x')).toMatchObject({ code: 'Gone', message: 'm' });
  });

  test("a Status without a code gets the response's code, and without a message it gets a default message", () => {
    expect(errorOfStatus({ code: '409', message: 7 }, { httpStatus: 404 })).toMatchObject({
      ...{ code: 'NotFound', httpStatus: 404, message: 'the server answered 404 and no message' },
    });
  });
});

describe('watch events', () => {
  const event = (type: string, metadata: unknown): string => JSON.stringify({ type, object: { metadata } });

  test.each(['ADDED', 'MODIFIED', 'DELETED'])(
    'a watch event of type %s is parsed with its object and resource version',
    (type) => {
      const metadata = { name: 'a', resourceVersion: '7' };
      expect(parseWatchEvent(event(type, metadata))).toEqual({ type, object: { metadata }, resourceVersion: '7' });
      expect(parseWatchEvent(event(type, { name: 'a', resourceVersion: 7 }))).toMatchObject({ resourceVersion: '' });
      const message = `a watch's ${type} has an object without a name`;
      const nameless = expect.objectContaining({ code: 'InvalidResponse', message });
      expect(() => parseWatchEvent(event(type, 'none'))).toThrow(nameless);
    },
  );

  test.each([
    [{ 'k8s.io/initial-events-end': 'true' }, true],
    [{ 'k8s.io/initial-events-end': 'false' }, false],
    ['none', false],
  ])('a bookmark with the annotations %j has initialEventsEnd: %j', (annotations, initialEventsEnd) => {
    expect(parseWatchEvent(event('BOOKMARK', { annotations }))).toEqual({
      ...{ type: 'BOOKMARK', resourceVersion: '', initialEventsEnd },
    });
  });

  test('parsing an ERROR event of a watch throws its Status as a KubeError', () => {
    const status = { reason: 'Expired', code: 410, message: 'too old' };
    expect(() => parseWatchEvent(JSON.stringify({ type: 'ERROR', object: status }))).toThrow(
      expect.objectContaining({ code: 'Expired', message: 'too old', httpStatus: 410 }),
    );
  });

  test.each(['{"object":{}}', '{"type":"ADDED"}', '{"type":7,"object":{}}', '{"type":"ADDED","object":[]}'])(
    'the watch line %s is rejected as InvalidResponse',
    (line) => {
      const message = `not a watch event: ${line.length} characters`;
      expect(() => parseWatchEvent(line)).toThrow(expect.objectContaining({ code: 'InvalidResponse', message }));
    },
  );
});

describe('retry delays of failed requests', () => {
  const failed = (code: 'ConnectionFailed' | 'Unknown', cause: unknown): KubeError =>
    new KubeError({ code, message: 'm', cause });
  const broken = (code: unknown): Error => Object.assign(new Error('m'), { code });

  test.each<[string, KubeError, number | undefined]>([
    ['EPIPE', failed('ConnectionFailed', broken('EPIPE')), 1000],
    ['ECONNABORTED', failed('ConnectionFailed', broken('ECONNABORTED')), 1000],
    ['a failed HTTP/2 stream', failed('ConnectionFailed', broken('ERR_HTTP2_STREAM_ERROR')), 1000],
    ['a failed HTTP/2 session', failed('ConnectionFailed', broken('ERR_HTTP2_SESSION_ERROR')), 1000],
    ['a failure other than ConnectionFailed', failed('Unknown', broken('EPIPE')), undefined],
    ['a cause without a code', failed('ConnectionFailed', new Error('m')), undefined],
    ['a cause that is not an Error', failed('ConnectionFailed', { code: 'EPIPE' }), undefined],
    ['no cause', failed('ConnectionFailed', undefined), undefined],
    ['status 499', new KubeError({ code: 'Unknown', message: 'm', httpStatus: 499, retryAfterMs: 5 }), undefined],
    ['status 500', new KubeError({ code: 'Unknown', message: 'm', httpStatus: 500, retryAfterMs: 5 }), 5],
  ])('the retry delay of a GET after %s is %j ms (undefined: no retry)', (_what, error, delayMs) => {
    expect(retryDelayMs({ method: 'GET', error, attempt: 1, maxRetries: 1 })).toBe(delayMs);
  });
});

describe('parsing of JSON responses', () => {
  test('a string that only looks like a long integer is parsed as JSON.parse does', () => {
    expect(parseJson('{"a":1234567890123456.5,"b":1234567890123456,"c":"1234567890123456"}')).toEqual({
      ...{ a: 1234567890123456.5, b: 1234567890123456, c: '1234567890123456' },
    });
  });

  test.each([
    [` <html>${'x'.repeat(73)}`, ` <html>${'x'.repeat(73)}`],
    [`<html>${'x'.repeat(75)}`, `<html>${'x'.repeat(74)}...`],
  ])('an HTML page in place of JSON is quoted up to 80 characters (%#)', (text, quoted) => {
    const message = `not JSON: ${JSON.stringify(quoted)}`;
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: 'InvalidResponse', message }));
  });
});

test('the key of an object is namespace/name, or only the name without a namespace, as in client-go', () => {
  const key = (metadata: object): string => objectKey({ metadata } as Parameters<typeof objectKey>[0]);
  expect([key({ namespace: 'ns', name: 'a' }), key({ namespace: '', name: 'a' }), key({ name: 'a' }), key({})]).toEqual(
    ['ns/a', 'a', 'a', ''],
  );
});

test('the patch types strategic, merge, json and apply have the media types of the Kubernetes API', () => {
  expect((['strategic', 'merge', 'json', 'apply'] as const).map(patchContentType)).toEqual([
    'application/strategic-merge-patch+json',
    'application/merge-patch+json',
    'application/json-patch+json',
    'application/apply-patch+yaml',
  ]);
});

test('a system error is converted by its error code', () => {
  const error = systemErrorOf('EPIPE', 'broken');
  expect([error.message, errorCode(error)]).toEqual(['broken', 'EPIPE']);
  expect([toError(error), toError('ended').message]).toEqual([error, 'ended']);
});
