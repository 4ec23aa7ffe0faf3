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

test('two values are the same on the wire where they are the same once normalized', () => {
  fc.assert(
    fc.property(value, value, names, (one, other, name) => {
      const same = isDeepStrictEqual(normalized(one, name), normalized(other, name));
      expect(sameOnWire(one, other, name)).toBe(same);
      expect(sameOnWire(one, normalized(one, name), name)).toBe(true);
    }),
    { numRuns: 5000 },
  );
});
