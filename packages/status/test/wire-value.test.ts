import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normalized, sameOnWire } from '../src/wire-value.ts';

const names = fc.constantFrom('state', 'lastState', 'observedGeneration', 'signal', 'phase', 'running');
const leaf = fc.constantFrom(undefined, null, '', 'x', 0, 1, true, false);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, leaf, tie('list'), tie('record')),
  list: fc.array(tie('value'), { maxLength: 2 }),
  record: fc.dictionary(names, tie('value'), { maxKeys: 3 }),
}));

test.each<[string, unknown, string, unknown]>([
  ['a zero that Go omits', 0, 'observedGeneration', undefined],
  ['a zero signal', 0, 'signal', undefined],
  ['another zero', 0, 'exitCode', 0],
  ['a number other than 0', 1, 'observedGeneration', 1],
  ['an empty text', '', 'reason', undefined],
  ['null', null, 'startedAt', undefined],
  ['an empty list', [], 'conditions', undefined],
  ['an empty state', {}, 'state', undefined],
  ['an empty last state', { waiting: null }, 'lastState', undefined],
  ['a running state without a start time', { running: { startedAt: null } }, 'state', { running: {} }],
  ['another empty object', {}, 'resources', {}],
  ['false', false, 'ready', false],
  ['nested values', [{ a: '', signal: 0, b: [{ state: {} }] }], 'list', [{ b: [{}] }]],
])('normalized returns for %s: $3', (_what, value, name, expected) => {
  expect(normalized(value, name)).toStrictEqual(expected);
});

test('sameOnWire returns true if the normalized values are equal', () => {
  fc.assert(
    fc.property(value, value, names, (one, other, name) => {
      const same = isDeepStrictEqual(normalized(one, name), normalized(other, name));
      expect(sameOnWire(one, other, name)).toBe(same);
      expect(sameOnWire(one, normalized(one, name), name)).toBe(true);
    }),
    { numRuns: 5000 },
  );
});
