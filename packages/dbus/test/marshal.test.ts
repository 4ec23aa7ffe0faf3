import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DbusError } from '../src/errors.ts';
import { marshal } from '../src/marshal.ts';
import { type DbusMessage, decodeMessage, encodeMessage, lengthsOf } from '../src/message.ts';
import { Unmarshaller } from '../src/unmarshal.ts';
import { type DbusValue, Variant } from '../src/values.ts';
import { typed } from './arbitrary.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('D-Bus values as bytes', () => {
  test('D-Bus values are decoded to what was encoded, for any values', () => {
    fc.assert(
      fc.property(fc.array(typed, { maxLength: 4 }), (all) => {
        const signature = all.map(([one]) => one).join('');
        fc.pre(signature.length < 255);
        const values = all.map(([, value]) => value);
        const reader = new Unmarshaller(marshal(signature, values), true);
        expect(reader.values(signature)).toEqual(values);
      }),
    );
  });

  // The examples of the D-Bus specification, and the output of dbus-send.
  test.each<[string, DbusValue[], string]>([
    ['s', ['foo'], '03000000666f6f00'],
    ['yu', [1, 2], '0100000002000000'],
    ['ai', [[5, -1]], '0800000005000000ffffffff'],
    ['ax', [[]], '0000000000000000'],
    ['v', [new Variant('t', 1n)], '01740000000000000100000000000000'],
    ['a{sv}', [[['k', new Variant('b', true)]]], '1000000000000000010000006b0001620000000001000000'],
    ['(ayq)', [[Uint8Array.of(9), 258]], '0100000009000201'],
    ['g', ['a{sv}'], '05617b73767d00'],
  ])('the type %s is encoded as in the specification (%#)', (signature, values, expected) => {
    expect(hex(marshal(signature, values))).toBe(expected);
  });

  test.each<[string, DbusValue[]]>([
    ['y', [256]],
    ['i', [2 ** 31]],
    ['u', [-1]],
    ['u', [1.5]],
    ['t', [1]],
    ['t', [1n << 64n]],
    ['x', [-(1n << 63n) - 1n]],
    ['b', [1]],
    ['s', [7]],
    ['s', ['a\0b']],
    ['s', ['\ud800']],
    ['o', ['no/path']],
    ['o', ['/a//b']],
    ['g', ['{']],
    ['v', ['bare']],
    ['as', ['no list']],
    ['(ss)', [['one']]],
    ['ss', ['one']],
    ['h', [0]],
    ['a{vs}', [[]]],
    ['()', [[]]],
    ['(s', [['x']]],
    ['{ss}', [['a', 'b']]],
  ])('the type %s rejects a value that does not fit (%#)', (signature, values) => {
    expect(() => marshal(signature, values)).toThrow(DbusError);
  });

  test('decodes big-endian D-Bus numbers', () => {
    const bytes = Buffer.from('0000000100020003' + '0000000000000004' + '3ff0000000000000', 'hex');
    expect(new Unmarshaller(bytes, false).values('uqqtd')).toEqual([1, 2, 3, 4n, 1]);
  });
});

describe('decoding of untrusted bytes', () => {
  test('untrusted bytes are decoded or rejected, and no bytes beyond their end are read', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), typed, fc.boolean(), (bytes, [signature], little) => {
        try {
          new Unmarshaller(bytes, little).values(signature);
        } catch (err) {
          if (!DbusError.is(err)) throw err;
        }
      }),
    );
  });

  test('a message with any one byte changed is decoded, or rejected with a DbusError', () => {
    const whole = encodeMessage({
      type: 'signal',
      serial: 9,
      path: '/a',
      interface: 'b.c',
      member: 'd',
      signature: 'a{sv}',
      body: [[['k', new Variant('as', ['x'])]]],
    });
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 }), (at, byte) => {
        const bytes = Buffer.from(whole);
        bytes[at] = byte;
        try {
          const length = lengthsOf(bytes)?.message;
          if (length !== undefined && length <= bytes.length) decodeMessage(bytes.subarray(0, length));
        } catch (err) {
          if (!DbusError.is(err)) throw err;
        }
      }),
    );
  });

  test.each([
    ['an array longer than the message', 'as', 'ff000000'],
    ['an array that ends within an item', 'au', '0300000001000000'],
    ['a text without its terminating zero', 's', '0100000041'],
    ['an invalid boolean', 'b', '02000000'],
    ['padding that is not 0', 'yu', '01ff000001000000'],
    ['deeply nested variants', 'v', '017600'.repeat(40)],
  ])('decoding rejects %s', (_name, signature, bytes) => {
    const read = () => new Unmarshaller(Buffer.from(bytes, 'hex'), true).values(signature);
    expect(read).toThrow(DbusError);
  });
});

describe('D-Bus messages as bytes', () => {
  const message: DbusMessage = {
    ...{ type: 'call', serial: 7, path: '/org/x', interface: 'org.x.Y', member: 'Do', destination: 'org.x' },
    ...{ signature: 'sa(sv)', body: ['unit', [['P', new Variant('t', 3n)]]] },
  };

  test('a message is unchanged after encoding and decoding', () => {
    const bytes = Buffer.from(encodeMessage(message));
    expect(lengthsOf(bytes)?.message).toBe(bytes.length);
    expect(decodeMessage(bytes)).toEqual(message);
    expect(lengthsOf(bytes.subarray(0, 15))).toBeUndefined();
  });

  test('a message is encoded byte for byte as in the specification', () => {
    const field = (code: number, type: string, value: string): string => {
      const length = Buffer.alloc(type === 'g' ? 1 : 4);
      length[0] = value.length;
      const head = Buffer.concat([Buffer.from([code, 1]), Buffer.from(`${type}\0`), length]);
      const bytes = Buffer.concat([head, Buffer.from(`${value}\0`)]);
      return hex(Buffer.concat([bytes, Buffer.alloc(-bytes.length & 7)]));
    };
    const all: DbusMessage = {
      ...{ type: 'error', serial: 7, path: '/a', interface: 'a.B', member: 'Do', errorName: 'a.E', replySerial: 5 },
      ...{ destination: 'a.D', sender: ':1.2', signature: 'y', body: [9] },
    };
    const fields = [
      ...[field(1, 'o', '/a'), field(2, 's', 'a.B'), field(3, 's', 'Do'), field(4, 's', 'a.E')],
      ...['0501750005000000', field(6, 's', 'a.D'), field(7, 's', ':1.2'), field(8, 'g', 'y')],
    ].join('');
    // Little-endian, type error, no flags, version 1. The padding after the last header field does not count towards
    // the length of the fields.
    const fixed = `6c030001${'01000000'}${'07000000'}`;
    const counted = Buffer.alloc(4);
    counted[0] = fields.length / 2 - 1;
    expect(hex(encodeMessage(all))).toBe(`${fixed}${hex(counted)}${fields}09`);
    expect(decodeMessage(encodeMessage(all))).toEqual(all);
  });

  test('an encoded message omits empty header fields, such as the destination of a peer without a name', () => {
    const call: DbusMessage = { type: 'call', serial: 1, path: '/a', member: 'Do', body: [] };
    expect(hex(encodeMessage({ ...call, destination: '', signature: '' }))).toBe(hex(encodeMessage(call)));
  });

  test.each([
    ['call', 1],
    ['return', 2],
    ['error', 3],
    ['signal', 4],
  ] as const)('a message of type %s has the type number %i', (type, number) => {
    expect(encodeMessage({ type, serial: 1, body: [] })[1]).toBe(number);
  });

  test('rejects a message of excessive length before waiting for it', () => {
    const bytes = Buffer.from(encodeMessage(message));
    bytes.writeUInt32LE(0xffff_fff0, 4);
    expect(() => lengthsOf(bytes)).toThrow(/bytes/);
  });

  test('decoding ignores unknown header fields and rejects known ones of a wrong type', () => {
    const bytes = Buffer.from(encodeMessage({ type: 'signal', serial: 1, path: '/a', member: 'm', body: [] }));
    const unknown = Buffer.from(bytes);
    unknown[16] = 99;
    expect(decodeMessage(unknown).path).toBeUndefined();
    const other = Buffer.from(bytes);
    other[16] = 5;
    expect(() => decodeMessage(other)).toThrow(/replySerial of type o/);
  });

  test('rejects a body that is longer than its signature', () => {
    const bytes = Buffer.from(encodeMessage({ type: 'signal', serial: 1, signature: 'uu', body: [1, 2] }));
    const at = bytes.indexOf('uu\0');
    // The header ends with the signature: its length, its text and a zero byte.
    bytes[at - 1] = 1;
    bytes[at + 1] = 0;
    bytes.writeUInt32LE(bytes.readUInt32LE(12) - 1, 12);
    expect(() => decodeMessage(bytes)).toThrow(/longer than its signature/);
    const without = Buffer.concat([encodeMessage({ type: 'signal', serial: 1, body: [] }), Buffer.alloc(4)]);
    without.writeUInt32LE(4, 4);
    expect(() => decodeMessage(without)).toThrow(/longer than its signature/);
  });
});
