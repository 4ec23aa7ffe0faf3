import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { list, noBytes, Reader, Writer } from '../src/wire-format.ts';
import { type All, all, none, strictAll, theirs } from './all-types.ts';

const UINT64_MAX = 2n ** 64n - 1n;

/** Generates messages as a decoder returns them: every field is present, and some have their default values. */
function messages(depth = 0): fc.Arbitrary<All> {
  const text = fc.string({ unit: 'grapheme', maxLength: 12 });
  const int32 = fc.oneof(fc.integer(), fc.constantFrom(0, -1, 127, 128, -0x8000_0000, 0x7fff_ffff));
  const int64 = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(2 ** 32, -(2 ** 32), 2 ** 32 - 1, -(2 ** 63), 2 ** 62));
  return fc.record({
    text,
    texts: fc.array(text, { maxLength: 3 }),
    flag: fc.boolean(),
    raw: fc.uint8Array({ maxLength: 6 }),
    share: fc.double({ noNaN: true }),
    small: int32,
    count: fc.oneof(fc.integer({ min: 0, max: 0xffff_ffff }), fc.constantFrom(0x8000_0000, 0xffff_ffff)),
    large: int64,
    size: fc.oneof(fc.maxSafeNat(), fc.constantFrom(2 ** 32, 2 ** 63)),
    smalls: fc.array(int32, { maxLength: 3 }),
    larges: fc.array(int64, { maxLength: 3 }),
    labels: fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: true }),
    inner:
      depth > 1
        ? fc.constant(null)
        : fc.option(
            fc.constant(null).chain(() => messages(depth + 1)),
            { freq: 2 },
          ),
    inners: depth > 1 ? fc.constant([]) : fc.array(messages(depth + 2), { maxLength: 2 }),
  });
}

/** Null fields are removed, because protobufjs distinguishes absent fields from null fields. */
const withoutNulls = ({ inner, inners, ...rest }: All): object => ({
  ...rest,
  ...(inner && { inner: withoutNulls(inner) }),
  inners: inners.map(withoutNulls),
});
const one = (more: Partial<All>): All => ({ ...none(), ...more });
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytesOf = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const wrong = (value: unknown): never => value as never;

describe('any message', () => {
  it('any message is encoded with the same bytes as by protobufjs and decoded unchanged, and create() returns the message that decoding would return', () => {
    fc.assert(
      fc.property(messages(), (message) => {
        const bytes = all.encode(message);
        expect(hex(bytes)).toBe(hex(theirs.encode(theirs.fromObject(withoutNulls(message))).finish()));
        expect(all.decode(bytes)).toEqual(message);
        expect(strictAll.decode(bytes)).toEqual(message);
        expect(all.create(message)).toEqual(message);
      }),
    );
  });

  it('a message that is truncated at any position is rejected', () => {
    fc.assert(
      fc.property(messages(2), (message) => {
        const bytes = all.encode({ inner: message });
        for (let length = 1; length < bytes.length; length++) {
          expect(() => all.decode(bytes.subarray(0, length)), `${length} of ${hex(bytes)}`).toThrow(RangeError);
        }
      }),
    );
  });

  it('any bytes decode to a message or throw a RangeError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          expect(Object.keys(all.decode(bytes))).toEqual(Object.keys(none()));
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('unknown fields of a message are not encoded', () => {
    const unknown = protobuf.Writer.create();
    unknown.uint32(999 * 8).uint64('18446744073709551615' as never);
    unknown.uint32(998 * 8 + 1).double(1);
    unknown.uint32(997 * 8 + 2).string('x');
    unknown.uint32(996 * 8 + 5).fixed32(1);
    const strange = unknown.finish();
    fc.assert(
      fc.property(messages(2), (message) => {
        const bytes = all.encode(message);
        expect(all.decode(Buffer.concat([strange, bytes, strange]))).toEqual(message);
      }),
    );
  });
});

describe('a field', () => {
  it.each<[string, Partial<All>, string]>([
    ['a text', { text: 'aé' }, '0a 03 61c3a9'],
    ['a list of texts, including an empty one', { texts: ['a', ''] }, '12 01 61 12 00'],
    ['the value true', { flag: true }, '18 01'],
    ['bytes', { raw: Uint8Array.of(0, 255) }, '22 02 00ff'],
    ['a fraction', { share: 1 }, '29 000000000000f03f'],
    ['a negative zero', { share: -0 }, '29 0000000000000080'],
    ['a number', { small: 300 }, '30 ac02'],
    ['a negative number, in ten bytes', { small: -1 }, '30 ffffffffffffffffff01'],
    ['the smallest 32-bit number', { small: -0x8000_0000 }, '30 80808080f8ffffffff01'],
    ['the largest 32-bit number', { small: 0x7fff_ffff }, '30 ffffffff07'],
    ['the largest unsigned 32-bit number', { count: 0xffff_ffff }, '38 ffffffff0f'],
    ['a number of more than 32 bits', { large: 2 ** 32 }, '40 8080808010'],
    ['a negative number of more than 32 bits', { large: -(2 ** 32) }, '40 80808080f0ffffffff01'],
    ['the smallest 64-bit number', { large: -(2 ** 63) }, '40 80808080808080808001'],
    ['the number 1, in every integer type', { small: 1, count: 1, large: 1, size: 1 }, '30 01 38 01 40 01 48 01'],
    ['the unsigned 64-bit number 2^63', { size: 2 ** 63 }, '48 80808080808080808001'],
    ['numbers, which share a tag', { smalls: [1, -1, 0] }, '52 0c 01 ffffffffffffffffff01 00'],
    ['long numbers, which share a tag', { larges: [0, 2 ** 32] }, '5a 06 00 8080808010'],
    ['a map', { labels: { a: 'b', '': '' } }, '62 06 0a0161 120162 62 04 0a00 1200'],
    ['a message that is empty', { inner: none() }, '6a 00'],
    ['messages, an empty one too', { inners: [one({ small: 1 }), none()] }, 'a201 02 3001 a201 00'],
  ])('a field with %s is encoded as the bytes $2, and decoded and created unchanged', (_, fields, bytes) => {
    expect(hex(all.encode(fields))).toBe(bytes.replaceAll(' ', ''));
    expect(all.decode(bytesOf(bytes))).toEqual(one(fields));
    expect(all.create(fields)).toEqual(one(fields));
  });

  it.each<[string, { readonly [K in keyof All]?: unknown }]>([
    ['absent', {}],
    ['undefined', Object.fromEntries(Object.keys(none()).map((name) => [name, undefined]))],
    ['null', Object.fromEntries(Object.keys(none()).map((name) => [name, null]))],
    ['at its default', { ...none(), labels: { a: undefined, b: null } }],
  ])('a field that is %s is not encoded, and is decoded and created as its default', (_, fields) => {
    expect(hex(all.encode(fields as Partial<All>))).toBe('');
    expect(all.create(fields as Partial<All>)).toStrictEqual(none());
    expect(all.decode(new Uint8Array())).toStrictEqual(none());
  });

  it.each<[string, keyof All, readonly (readonly [value: unknown, got: string])[]]>([
    [
      'a string',
      'text',
      [
        [1, '1'],
        [true, 'boolean'],
        [{}, 'object'],
      ],
    ],
    [
      'a boolean',
      'flag',
      [
        [1, '1'],
        [0, '0'],
        ['', 'string'],
      ],
    ],
    [
      'a Uint8Array',
      'raw',
      [
        ['x', 'string'],
        [[1], 'object'],
      ],
    ],
    [
      'a number',
      'share',
      [
        ['1', 'string'],
        [false, 'boolean'],
      ],
    ],
    [
      'a 32-bit integer',
      'small',
      [
        [0x8000_0000, '2147483648'],
        [-0x8000_0001, '-2147483649'],
        [0.5, '0.5'],
        [Number.NaN, 'NaN'],
        ['1', 'string'],
      ],
    ],
    [
      'an unsigned 32-bit integer',
      'count',
      [
        [2 ** 32, '4294967296'],
        [-1, '-1'],
        [0.5, '0.5'],
        [true, 'boolean'],
      ],
    ],
    [
      'a 64-bit integer',
      'large',
      [
        [2 ** 64, '18446744073709552000'],
        [-(2 ** 64), '-18446744073709552000'],
        [0.5, '0.5'],
        [1n, '1n'],
      ],
    ],
    [
      'an unsigned 64-bit integer',
      'size',
      [
        [2 ** 65, '36893488147419103000'],
        [-1, '-1'],
        [0.5, '0.5'],
        ['1', 'string'],
      ],
    ],
    [
      'an object',
      'inner',
      [
        ['x', 'string'],
        [1, '1'],
      ],
    ],
  ])(
    'a value that is not %s is rejected for the field %s, and the error names the field',
    (expected, field, values) => {
      for (const [value, got] of values) {
        const refused = new TypeError(`All.${field}: expected ${expected}, got ${got}`);
        expect(() => all.encode({ [field]: value })).toThrow(refused);
        expect(() => all.create({ [field]: value })).toThrow(refused);
      }
    },
  );

  it.each<[keyof All, unknown, string]>([
    ['texts', [null], 'All.texts: expected a string, got null'],
    ['texts', 'sh', 'All.texts: expected an array, got string'],
    ['smalls', [0x8000_0000], 'All.smalls: expected a 32-bit integer, got 2147483648'],
    ['smalls', {}, 'All.smalls: expected an array, got object'],
    ['larges', [null], 'All.larges: expected a 64-bit integer, got null'],
    ['larges', 1, 'All.larges: expected an array, got 1'],
    ['labels', { a: 1 }, 'All.labels["a"]: expected a string, got 1'],
    ['inners', [null], 'All.inners: expected an object, got null'],
    ['inners', ['x'], 'All.inners: expected an object, got string'],
    ['inners', {}, 'All.inners: expected an array, got object'],
  ])('a field with an element of the wrong type is rejected: %s: %j: %s', (field, value, message) => {
    expect(() => all.encode({ [field]: value })).toThrow(new TypeError(message));
    expect(() => all.create({ [field]: value })).toThrow(new TypeError(message));
  });

  it('a repeated occurrence of a field replaces a scalar and merges lists, maps and messages', () => {
    const first = one({ text: 'a', texts: ['x'], labels: { a: '1', b: '1' }, inner: one({ small: 1, text: 'in' }) });
    const second = one({ text: 'b', texts: ['y'], labels: { b: '2' }, inner: one({ small: 2, texts: ['z'] }) });
    expect(all.decode(Buffer.concat([all.encode(first), all.encode(second)]))).toEqual(
      one({
        text: 'b',
        texts: ['x', 'y'],
        labels: { a: '1', b: '2' },
        inner: one({ small: 2, text: 'in', texts: ['z'] }),
      }),
    );
  });

  it('a decoded map entry may lack its key or value, or have unknown fields', () => {
    expect(all.decode(bytesOf('62 00')).labels).toEqual({ '': '' });
    expect(all.decode(bytesOf('62 03 0a0161')).labels).toEqual({ a: '' });
    expect(all.decode(bytesOf('62 03 120162')).labels).toEqual({ '': 'b' });
    expect(all.decode(bytesOf('62 08 0a0161 1812 120162')).labels).toEqual({ a: 'b' });
  });

  it('encodes -0 in an integer field as 0', () => {
    const zeros = { small: -0, count: -0, large: -0, size: -0 };
    expect(hex(all.encode(zeros))).toBe('');
    expect(all.create(zeros)).toStrictEqual(none());
    expect(all.create({ smalls: [-0], larges: [-0] })).toStrictEqual(one({ smalls: [0], larges: [0] }));
  });

  it('a 64-bit number that was rounded to 2^63 or 2^64 is encoded as the largest possible number', () => {
    const signed = bytesOf('40 ffffffffffffffff7f');
    expect(all.decode(signed).large).toBe(2 ** 63);
    expect(hex(all.encode({ large: 2 ** 63 }))).toBe(hex(signed));
    expect(hex(all.encode({ larges: [2 ** 63] }))).toBe('5a09ffffffffffffffff7f');
    const unsigned = bytesOf('48 ffffffffffffffffff01');
    expect(all.decode(unsigned).size).toBe(Number(UINT64_MAX));
    expect(hex(all.encode({ size: 2 ** 64 }))).toBe(hex(unsigned));
    expect(all.create({ large: 2 ** 63, size: 2 ** 64 })).toEqual(one({ large: 2 ** 63, size: 2 ** 64 }));
    expect(all.create({ large: -(2 ** 63) }).large).toBe(-(2 ** 63));
  });

  it('lone surrogates in a string are replaced, both when the message is created and when it is encoded', () => {
    const odd = { text: '\ud800a', texts: ['\udc00'], labels: { 'b\ud800': '\ud800' } };
    expect(all.create(odd)).toEqual(all.decode(all.encode(odd)));
    expect(all.create(odd).text).toBe('\ufffda');
  });

  it('any map key is stored as an entry and not as a prototype', () => {
    const labels = Object.fromEntries([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    for (const copy of [all.create({ labels }), all.decode(all.encode({ labels }))]) {
      expect(Object.entries(copy.labels)).toEqual(Object.entries(labels));
      expect(Object.getPrototypeOf(copy.labels)).toBe(Object.prototype);
      Reflect.set(copy.labels, '__proto__', 'z');
      expect(Object.entries(copy.labels)).toContainEqual(['__proto__', 'z']);
      expect(Object.entries({ ...copy.labels })).toContainEqual(['__proto__', 'z']);
      expect(Reflect.deleteProperty(copy.labels, '__proto__')).toBe(true);
    }
  });

  it('created and decoded messages share neither the input nor the receive buffer', () => {
    const message = one({ raw: Uint8Array.of(1), texts: ['a'], labels: { a: 'b' }, inner: none(), inners: [none()] });
    const created = all.create(message);
    for (const name of ['raw', 'texts', 'labels', 'inner', 'inners'] as const) {
      expect(created[name]).not.toBe(message[name]);
    }
    const bytes = all.encode(message);
    const { raw } = all.decode(bytes);
    bytes.fill(0);
    expect([...raw]).toEqual([1]);
    expect(raw.buffer.byteLength).toBe(1);
  });
});

describe('bytes that are not a message', () => {
  it.each([
    ['a field that reaches past the end of its message', '6a 02 0a05 68656c6c6f'],
    ['a number that reaches past the end of its message', '6a 02 30ff 01'],
    ['a map entry whose text reaches past its end', '62 02 0a05 68656c6c6f'],
    ['a map entry whose number reaches past its end', '62 02 18ff 01'],
    ['a list of numbers whose last reaches past its end', '52 01 ff 01'],
    ['a list of long numbers whose last reaches past its end', '5a 02 01ff 01'],
    ['a length without a value', '0a 01'],
    ['bytes that are too short', '22 02 00'],
    ['a fraction that is too short', '29 00000000000000'],
    ['a number without an end', '30 ff'],
    ['a number of eleven bytes', '30 ffffffffffffffffffff01'],
    ['a long number of eleven bytes', '40 ffffffffffffffffffff01'],
    ['the beginning of a group', '0b'],
    ['the end of a group', '0c'],
    ['an unknown wire type', '0e'],
    ['an unknown number of 32 bits that is too short', 'a53f 000000'],
    ['an unknown number of 64 bits that is too short', 'a13f 00000000000000'],
  ])('bytes are rejected with a RangeError if they contain %s', (_, bytes) => {
    expect(() => all.decode(bytesOf(bytes))).toThrow(RangeError);
  });

  it('the error for truncated bytes reports the position', () => {
    expect(() => all.decode(bytesOf('0a 05 68'))).toThrow('5 bytes at 2 reach past the end at 3');
    expect(() => all.decode(bytesOf('6a 02 30ff 01'))).toThrow('a field ends at 5, after the end of its message at 4');
  });

  it('a message inside a larger buffer is read only up to its end', () => {
    const whole = Buffer.from('\u0000\n\u0001ab');
    expect(all.decode(new Uint8Array(whole.buffer, whole.byteOffset + 1, 3))).toEqual(one({ text: 'a' }));
    expect(() => all.decode(new Uint8Array(whole.buffer, whole.byteOffset + 1, 2))).toThrow(RangeError);
  });

  it('text that is not UTF-8 is rejected if the type is strict', () => {
    const bytes = bytesOf('0a 02 61ff');
    expect(all.decode(bytes).text).toBe('a\ufffd');
    expect(() => strictAll.decode(bytes)).toThrow(new RangeError('a text that ends at 4 is not UTF-8'));
    expect(strictAll.decode(bytesOf('0a 04 efbbbf61')).text).toBe('\ufefFa');
  });
});

describe('Reader of the wire format', () => {
  it('the reader drops the higher bits of a number longer than 32 bits', () => {
    expect(new Reader(bytesOf('ffffffffffffffffff01')).int32()).toBe(-1);
    expect(new Reader(bytesOf('808080801001')).uint32()).toBe(0);
    expect(new Reader(bytesOf('ffffffffff01')).uint32()).toBe(0xffff_ffff);
  });

  it('the reader reads any non-zero number as true', () => {
    for (const [bytes, yes] of [
      ['00', false],
      ['8000', false],
      ['02', true],
      ['808080808001', true],
    ] as const) {
      expect(new Reader(bytesOf(bytes)).bool(), bytes).toBe(yes);
    }
  });

  it('the reader rounds 64-bit numbers to the nearest double', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: UINT64_MAX }), (value) => {
        const bytes: number[] = [];
        for (let rest = value; ; rest >>= 7n) {
          bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
          if (rest <= 0x7fn) break;
        }
        expect(new Reader(Uint8Array.from(bytes)).uint64()).toBe(Number(value));
        expect(new Reader(Uint8Array.from(bytes)).int64()).toBe(Number(BigInt.asIntN(64, value)));
      }),
    );
  });
});

describe('Writer of the wire format', () => {
  it('the writer writes strings of any length, ASCII or not, as UTF-8 preceded by the length in bytes', () => {
    const writer = new Writer();
    for (const length of [0, 1, 39, 40, 41, 127, 128, 200, 1023, 1024, 20_000, 70_000]) {
      for (const text of ['a'.repeat(length), `${'a'.repeat(length)}é`, 'é'.repeat(length)]) {
        writer.reset();
        const reader = new Reader(writer.string(text).string('end').finish());
        expect([reader.string(), reader.string(), reader.pos]).toEqual([text, 'end', reader.end]);
      }
    }
  });

  it('the writer writes the length before a value of any size', () => {
    for (const length of [0, 127, 128, 16_383, 16_384, 2 ** 21 - 1, 2 ** 21]) {
      const writer = new Writer();
      const content = Buffer.alloc(length, 7);
      const start = writer.fork();
      for (let at = 0; at < length; at += 2 ** 20) writer.double(0);
      const doubles = 8 * Math.ceil(length / 2 ** 20);
      writer.join(start);
      writer.bytes(content);
      const reader = new Reader(writer.finish());
      expect(reader.bytes()).toHaveLength(doubles);
      expect(Buffer.from(reader.bytes()).equals(content)).toBe(true);
    }
  });

  it('the writer nests messages whose lengths take one byte or more', () => {
    for (const length of [1, 125, 126, 127, 128, 129, 16_380, 16_384, 2 ** 21]) {
      const message = one({ text: 'b', inner: one({ text: 'x'.repeat(length) }), inners: [one({ text: 'after' })] });
      expect(all.decode(all.encode(message))).toEqual(message);
    }
  });

  it('the writer returns copies, and starts empty for each message', () => {
    const first = all.encode({ text: 'first' });
    all.encode({ text: 'other' });
    expect(all.decode(first).text).toBe('first');
    expect(() => all.encode({ text: 'half', small: 0.5 })).toThrow(TypeError);
    expect(hex(all.encode({ flag: true }))).toBe('1801');
  });
});

it('an absent list is encoded as empty', () => {
  expect([list(undefined, 'f'), list(null, 'f'), list([1], 'f')]).toEqual([[], [], [1]]);
  expect(() => list(wrong('x'), 'f')).toThrow(new TypeError('f: expected an array, got string'));
  expect(noBytes).toHaveLength(0);
});
