import { expect, test } from 'vitest';
import { errorText } from '../src/index.ts';

test('whatever was thrown says something', () => {
  const said = [new Error('no room'), new TypeError('bad'), 'aborted', undefined, { code: 7 }].map(errorText);
  expect(said).toEqual(['no room', 'bad', 'aborted', 'undefined', '[object Object]']);
});

test("a runtime's error is told as its whole status", () => {
  const error = Object.assign(new Error('PullImage: NOT_FOUND: none'), {
    statusMessage: 'rpc error: code = NotFound desc = none',
  });
  expect(errorText(error)).toBe('rpc error: code = NotFound desc = none');
});
