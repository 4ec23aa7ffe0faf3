import { describe, expect, test } from 'vitest';
import { DbusError } from '../src/errors.ts';
import { decodeMessage, encodeMessage, lengthsOf } from '../src/message.ts';
import { alignmentOf, parseSignature, parseSingleType } from '../src/signature.ts';

describe('signatures', () => {
  const refused = (signature: string): void => expect(() => parseSignature(signature)).toThrow(DbusError);
  const nested = (open: string, close: string, times: number): string => `${open.repeat(times)}y${close.repeat(times)}`;

  test.each([
    ['arrays', 'a', '', 64],
    ['structs', '(', ')', 64],
    ['entries', 'a{s', '}', 32],
  ])('%s in one another, to a depth', (_title, open, close, times) => {
    expect(parseSignature(nested(open, close, times))).toHaveLength(1);
    refused(nested(open, close, times + 1));
  });

  test.each(['{sv}', '({sv})', 'a{s{sv}}', 'a{{sv}s}', 'a{vs}', 'a{s}', 'a{svs}', '()', '(', 'a', 'h'])(
    '%s is none',
    (signature) => refused(signature),
  );

  test('a long one is refused, and not told whole', () => {
    const parse = (): unknown => parseSignature(`${'y'.repeat(5000)}`);
    expect(parse).toThrow(/"y{255}"$/);
    expect(parseSignature('y'.repeat(255))).toHaveLength(255);
    refused('y'.repeat(256));
  });

  test.each([
    ['y', 1],
    ['v', 1],
    ['q', 2],
    ['as', 4],
    ['s', 4],
    ['t', 8],
    ['(y)', 8],
  ])('a value of type %s begins at a multiple of %i', (signature, alignment) => {
    expect(alignmentOf(parseSingleType(signature))).toBe(alignment);
  });
});

describe('messages of others', () => {
  /** A method call without fields and body, as a machine of the other byte order writes it. */
  const foreign = (order: number, type: number): Buffer =>
    Buffer.from([order, type, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0]);

  test('are read in their byte order, and refused in one that there is not', () => {
    expect(decodeMessage(foreign(0x42, 1))).toMatchObject({ type: 'call', serial: 7, body: [] });
    expect(lengthsOf(foreign(0x42, 1))).toEqual({ header: 16, message: 16 });
    expect(decodeMessage(encodeMessage({ type: 'call', serial: 7, body: [] })).serial).toBe(7);
    for (const read of [decodeMessage, lengthsOf]) expect(() => read(foreign(0x41, 1))).toThrow('byte order 65');
  });

  test('of a kind that is not known are of none', () => {
    expect(decodeMessage(foreign(0x42, 9)).type).toBe('invalid');
  });
});
