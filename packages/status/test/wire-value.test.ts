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
  ['a zero is left out where Go leaves it out', 0, 'observedGeneration', undefined],
  ['so is a signal', 0, 'signal', undefined],
  ['any other zero says something', 0, 'exitCode', 0],
  ['another number always does', 1, 'observedGeneration', 1],
  ['an empty text', '', 'reason', undefined],
  ['null', null, 'startedAt', undefined],
  ['an empty list', [], 'conditions', undefined],
  ['a state of nothing', {}, 'state', undefined],
  ['an earlier state of nothing', { waiting: null }, 'lastState', undefined],
  ['that it runs, though nobody knows since when', { running: { startedAt: null } }, 'state', { running: {} }],
  ['an empty object elsewhere', {}, 'resources', {}],
  ['false', false, 'ready', false],
  ['what is within', [{ a: '', signal: 0, b: [{ state: {} }] }], 'list', [{ b: [{}] }]],
])('normalized omits values without meaning: %s', (_what, value, name, expected) => {
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
