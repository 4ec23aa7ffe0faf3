import { expect, test } from 'vitest';
import { EventSinkError } from '../src/sink-error.ts';

const failure = (fields: object): Error => Object.assign(new Error('no'), fields);

test.each([
  ['no response', failure({ code: 'ConnectionFailed' }), 'Unavailable'],
  ['no response in time', failure({ code: 'DeadlineExceeded' }), 'Unavailable'],
  ['a truncated JSON response', failure({ code: 'InvalidResponse' }), 'Unavailable'],
  ['a value that is no error', 'no', 'Unavailable'],
  ['an invalid request', failure({ code: 'InvalidRequest' }), 'Rejected'],
  ['401', failure({ httpStatus: 401, code: 'Unauthorized' }), 'Unavailable'],
  ['403', failure({ httpStatus: 403, code: 'Forbidden' }), 'Rejected'],
  ['404', failure({ httpStatus: 404, code: 'NotFound' }), 'NotFound'],
  ['409 on a name', failure({ httpStatus: 409, code: 'AlreadyExists' }), 'Exists'],
  ['409 on a version', failure({ httpStatus: 409, code: 'Conflict' }), 'Rejected'],
  ['413', failure({ httpStatus: 413 }), 'Rejected'],
  ['422', failure({ httpStatus: 422, code: 'Invalid' }), 'Rejected'],
  ['429', failure({ httpStatus: 429, code: 'TooManyRequests' }), 'Unavailable'],
  ['408', failure({ httpStatus: 408, code: 'Timeout' }), 'Unavailable'],
  ['500', failure({ httpStatus: 500, code: 'InternalError' }), 'Rejected'],
  ['501', failure({ httpStatus: 501 }), 'Rejected'],
  ['502', failure({ httpStatus: 502 }), 'Unavailable'],
  ['503', failure({ httpStatus: 503, code: 'ServiceUnavailable' }), 'Unavailable'],
  ['504', failure({ httpStatus: 504, code: 'Timeout' }), 'Unavailable'],
  ['507', failure({ httpStatus: 507 }), 'Rejected'],
  ['a redirection', failure({ httpStatus: 302 }), 'Rejected'],
  ['a 200 that cannot be read', failure({ httpStatus: 200, code: 'InvalidResponse' }), 'Unavailable'],
  [
    '403 for a terminating namespace',
    failure({ httpStatus: 403, details: { causes: [{ reason: 'NamespaceTerminating' }] } }),
    'NamespaceTerminating',
  ],
])('a failed write of an event with %s gets the error code $2', (_name, error, code) => {
  const known = EventSinkError.from(error);
  expect(known.code).toBe(code);
  expect(known.cause).toBe(error);
  expect(EventSinkError.from(known)).toBe(known);
});

test.each([
  [Number.NaN, undefined],
  [-1, undefined],
  [Number.POSITIVE_INFINITY, undefined],
  ['5', undefined],
  [0, 0],
  [600_001, 600_000],
])('W3: if the API server requests a wait of %s ms, the recorder waits %s ms', (retryAfterMs, expected) => {
  expect(EventSinkError.from(failure({ httpStatus: 429, retryAfterMs })).retryAfterMs).toBe(expected);
  const given = { retryAfterMs: retryAfterMs as number };
  expect(new EventSinkError('Unavailable', 'no', given).retryAfterMs).toBe(expected);
});

test('the error of a failed write has the delay that the API server requests', () => {
  expect(EventSinkError.from(failure({ httpStatus: 429, retryAfterMs: 7_000 })).retryAfterMs).toBe(7_000);
});
