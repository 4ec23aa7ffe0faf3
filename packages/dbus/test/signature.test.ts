import { describe, expect, test } from 'vitest';
import { DbusError } from '../src/errors.ts';
import { decodeMessage, encodeMessage, lengthsOf } from '../src/message.ts';
import { alignmentOf, parseSignature, parseSingleType } from '../src/signature.ts';

describe('D-Bus signatures', () => {
  const refused = (signature: string): void => expect(() => parseSignature(signature)).toThrow(DbusError);
  const nested = (open: string, close: string, times: number): string => `${open.repeat(times)}y${close.repeat(times)}`;

  test.each([
    ['arrays', 'a', '', 64],
    ['structs', '(', ')', 64],
    ['entries', 'a{s', '}', 32],
  ])('a D-Bus signature may nest %s up to the maximum depth', (_title, open, close, times) => {
    expect(parseSignature(nested(open, close, times))).toHaveLength(1);
    refused(nested(open, close, times + 1));
  });

  test.each(['{sv}', '({sv})', 'a{s{sv}}', 'a{{sv}s}', 'a{vs}', 'a{s}', 'a{svs}', '()', '(', 'a', 'h'])(
    '%s is not a D-Bus signature',
    (signature) => refused(signature),
  );

  test('rejects a long D-Bus signature and quotes only its start', () => {
    const parse = (): unknown => parseSignature(`${'y'.repeat(5000)}`);
    expect(parse).toThrow(/"y{255}"$/);
    expect(parseSignature('y'.repeat(255))).toHaveLength(255);
    refused('y'.repeat(256));
  });

  // The table "Summary of D-Bus marshalling" of the specification.
  test.each([
    ...(['y', 'g', 'v'] as const).map((type) => [type, 1] as const),
    ...(['n', 'q'] as const).map((type) => [type, 2] as const),
    ...(['b', 'i', 'u', 's', 'o', 'as', 'a(t)'] as const).map((type) => [type, 4] as const),
    ...(['x', 't', 'd', '(y)'] as const).map((type) => [type, 8] as const),
  ])('a value of type %s begins at a multiple of %i', (signature, alignment) => {
    expect(alignmentOf(parseSingleType(signature))).toBe(alignment);
  });
});

test('a variant has exactly one type', () => {
  expect(parseSingleType('as')).toEqual({ kind: 'array', item: { kind: 'basic', code: 's' } });
  for (const signature of ['', 'yy', 'asv']) expect(() => parseSingleType(signature)).toThrow(DbusError);
});

test('a dictionary entry is aligned to 8 bytes', () => {
  expect(parseSingleType('a{yy}')).toMatchObject({ item: { kind: 'entry' } });
  expect(alignmentOf({ kind: 'entry', fields: [parseSingleType('y'), parseSingleType('y')] })).toBe(8);
});

describe('untrusted D-Bus messages', () => {
  /** Returns a method call without fields and body, with `order` as its byte order. */
  const foreign = (order: number, type: number): Buffer =>
    Buffer.from([order, type, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0]);

  test('untrusted messages are decoded in their byte order, and rejected if the byte order is unknown', () => {
    expect(decodeMessage(foreign(0x42, 1))).toMatchObject({ type: 'call', serial: 7, body: [] });
    expect(lengthsOf(foreign(0x42, 1))).toEqual({ header: 16, message: 16 });
    expect(decodeMessage(encodeMessage({ type: 'call', serial: 7, body: [] })).serial).toBe(7);
    for (const read of [decodeMessage, lengthsOf]) expect(() => read(foreign(0x41, 1))).toThrow('byte order 65');
  });

  test('an untrusted message may have the maximum length of the standard, and no more', () => {
    const announcing = (bytes: number): Buffer => {
      const message = foreign(0x42, 1);
      message.writeUInt32BE(bytes, 4);
      return message;
    };
    expect(lengthsOf(announcing(2 ** 27 - 16))).toEqual({ header: 16, message: 2 ** 27 });
    expect(() => lengthsOf(announcing(2 ** 27 - 15))).toThrow('a D-Bus message of 134217729 bytes');
  });

  test('an untrusted message of another protocol version is rejected', () => {
    const message = foreign(0x42, 1);
    message[3] = 2;
    expect(() => decodeMessage(message)).toThrow('D-Bus of version 2');
  });

  test('an untrusted message of an unknown type has the type invalid', () => {
    expect(decodeMessage(foreign(0x42, 9)).type).toBe('invalid');
    expect(decodeMessage(foreign(0x42, 0)).type).toBe('invalid');
  });
});
