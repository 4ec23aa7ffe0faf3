import fc from 'fast-check';
import { type DbusValue, Variant } from '../src/values.ts';

/** A signature of one type, and a value of this type. */
export type Typed = readonly [signature: string, value: DbusValue];

const text = fc
  .string({ unit: 'binary', maxLength: 40 })
  .filter((value) => !value.includes('\0') && value.isWellFormed());
const part = fc.stringMatching(/^[A-Za-z0-9_]{1,8}$/);
const basic: fc.Arbitrary<Typed> = fc.oneof(
  fc.integer({ min: 0, max: 255 }).map((value) => ['y', value] as const),
  fc.boolean().map((value) => ['b', value] as const),
  fc.integer({ min: -32_768, max: 32_767 }).map((value) => ['n', value] as const),
  fc.integer({ min: 0, max: 65_535 }).map((value) => ['q', value] as const),
  fc.integer().map((value) => ['i', value] as const),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }).map((value) => ['u', value] as const),
  fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }).map((value) => ['x', value] as const),
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }).map((value) => ['t', value] as const),
  fc.double({ noNaN: true }).map((value) => ['d', value] as const),
  text.map((value) => ['s', value] as const),
  fc.array(part, { maxLength: 3 }).map((parts) => ['o', `/${parts.join('/')}`] as const),
  fc.constantFrom('', 'a{sv}', '(ii)', 'aas').map((value) => ['g', value] as const),
);

/** Generates values of all types, also nested. */
export const typed: fc.Arbitrary<Typed> = fc.letrec<{ any: Typed }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    basic,
    fc.uint8Array({ maxLength: 20 }).map((value) => ['ay', value] as const),
    tie('any').map(([signature, value]) => ['v', new Variant(signature, value)] as const),
    fc
      .array(tie('any'), { minLength: 1, maxLength: 3 })
      .map(
        (fields) => [`(${fields.map(([signature]) => signature).join('')})`, fields.map(([, value]) => value)] as const,
      ),
    fc
      .tuple(tie('any'), fc.nat(3))
      .filter(([[signature]]) => signature !== 'y')
      .map(([[signature, value], count]) => [`a${signature}`, Array.from({ length: count }, () => value)] as const),
    fc
      .tuple(fc.uniqueArray(text, { maxLength: 3 }), tie('any'))
      .map(([keys, [signature, value]]) => [`a{s${signature}}`, keys.map((key) => [key, value])] as const),
  ),
})).any;
