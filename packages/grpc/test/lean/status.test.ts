import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { responseHeaders } from '../../src/lean/response-headers.ts';
import type { HeaderField } from '../../src/lean/static-table.ts';
import { grpcTimeout, percentDecode, statusOfHttp, statusOfReset, statusOfTrailers } from '../../src/lean/status.ts';

test.each([
  [{ 'grpc-status': '0' }, undefined, ''],
  [{ 'grpc-status': '5', 'grpc-message': 'not%20found' }, 'NOT_FOUND', 'not found'],
  [{ 'grpc-status': '5', 'grpc-message': 'a, b: caf%C3%A9' }, 'NOT_FOUND', 'a, b: café'],
  [{ 'grpc-status': '99' }, 'UNKNOWN', ''],
  [{ 'grpc-status': 'x' }, 'UNKNOWN', ''],
  [{}, 'UNKNOWN', 'Received HTTP status code 200'],
])('the trailers %j are read as the code %s', (trailers, code, details) => {
  expect(statusOfTrailers(Object.entries(trailers), 200)).toEqual({ code, details });
});

test.each([
  [400, 'INTERNAL'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'UNIMPLEMENTED'],
  [429, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [500, 'UNKNOWN'],
])('HTTP status %i without a gRPC status is read as the code %s', (httpStatus, code) => {
  expect(statusOfHttp(httpStatus).code).toBe(code);
});

test.each([
  [7, 'UNAVAILABLE'],
  [8, 'CANCELLED'],
  [11, 'RESOURCE_EXHAUSTED'],
  [12, 'PERMISSION_DENIED'],
  [2, 'INTERNAL'],
])('a stream reset with error code %i is read as the code %s', (errorCode, code) => {
  expect(statusOfReset(errorCode).code).toBe(code);
});

describe('grpc-message', () => {
  test('decodes any percent-encoded grpc-message', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(percentDecode(encodeURIComponent(text))).toBe(text);
      }),
    );
  });

  test.each([
    ['100%', '100%'],
    ['%zz%4', '%zz%4'],
    ['%ff', '\ufffd'],
  ])('%s, which is not correct percent-encoding, is decoded to %s', (text, shown) => {
    expect(percentDecode(text)).toBe(shown);
  });
});

test.each([
  [0, '1m'],
  [0.2, '1m'],
  [120_000, '120000m'],
  [99_999_999, '99999999m'],
  [100_000_001, '100001S'],
  [99_999_999_001, '1666667M'],
  [Number.MAX_SAFE_INTEGER, '99999999H'],
])('a timeout of %d ms is sent as %s, which is never less', (timeoutMs, value) => {
  expect(grpcTimeout(timeoutMs)).toBe(value);
});

describe('response headers', () => {
  const status = [':status', '200'] as const;

  test.each([
    ['no status', [['a', 'b']]],
    ['two statuses', [status, status]],
    ['a status after other headers', [['a', 'b'], status]],
    ['a status that is no number', [[':status', '20']]],
    ['a pseudo header of requests', [status, [':path', '/']]],
    ['a name in upper case', [status, ['X-a', 'b']]],
    ['a header of connections', [status, ['connection', 'close']]],
    ['two lengths', [status, ['content-length', '1'], ['content-length', '1']]],
    ['a length that is no number', [status, ['content-length', '-1']]],
  ] as const)('gRPC responses with %s are malformed', (_, fields) => {
    expect(responseHeaders(fields, false)).toBe('malformed');
  });

  const many = (count: number): HeaderField[] => Array.from({ length: count }, (_, index) => [`x-${index}`, '']);
  const ofBytes = (bytes: number): HeaderField[] => [['a', 'x'.repeat(bytes - 1 - 32)]];

  test.each([
    ['128 fields', many(128), 128],
    ['129 fields', many(129), 'too large'],
    ['65,535 bytes, including 32 bytes a field', ofBytes(65_535), 1],
    ['65,536 bytes, including 32 bytes a field', ofBytes(65_536), 'too large'],
    ['200 fields that are left out', Array.from({ length: 200 }, () => ['', ''] as const), 0],
    ['200 fields that are left out, and then a malformed one', [...many(200).fill(['', '']), status], 'malformed'],
    ['too many fields, and then a malformed one', [...many(129), status], 'too large'],
    ['a malformed field, and then too many', [status, ...many(129)], 'malformed'],
  ] as const)('trailers with %s are %3$j: the first problem counts', (_, fields, expected) => {
    const read = responseHeaders(fields, true);
    expect(typeof read === 'string' ? read : read.fields.length).toBe(expected);
  });

  test('response headers are returned without fields that contain characters that HTTP does not allow', () => {
    const fields = [status, ['bad name', 'x'], ['x-control', 'a\u0001'], ['x-ok', 'y']] as const;
    expect(responseHeaders(fields, false)).toEqual({
      fields: [status, ['x-ok', 'y']],
      httpStatus: 200,
      contentLength: undefined,
    });
  });

  test('response headers that precede trailers need no gRPC status, and are malformed if they have one', () => {
    expect(responseHeaders([['grpc-status', '0']], true)).toMatchObject({ httpStatus: undefined });
    expect(responseHeaders([status], true)).toBe('malformed');
  });
});
