import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { ContainerState, type MessageType, messages } from '../src/index.ts';
import { allMessages, loadProto } from './proto.ts';

const types = allMessages(loadProto({ keepCase: false }));
const ours = (type: protobuf.Type): MessageType<object> => {
  const name = type.fullName.replace('.runtime.v1.', '').replace('.', '');
  const found = Object.entries(messages).find(([key]) => key === name)?.[1];
  if (found === undefined) throw new Error(`no generated code for ${name}`);
  return found as MessageType<object>;
};

const scalars: Record<string, fc.Arbitrary<unknown>> = {
  string: fc.string({ unit: 'grapheme', maxLength: 12 }),
  bool: fc.boolean(),
  bytes: fc.uint8Array({ maxLength: 12 }),
  int32: fc.integer(),
  uint32: fc.integer({ min: 0, max: 0xffff_ffff }),
  int64: fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.constantFrom(1.7e18, -(2 ** 63), 2 ** 62)),
  uint64: fc.oneof(fc.maxSafeNat(), fc.constantFrom(2 ** 63, 1.7e18)),
  double: fc.double({ noNaN: true }).filter((value) => !Object.is(value, -0)),
};

/** Messages with every field there, some at their defaults: what a decoder gives. */
function arbitrary(type: protobuf.Type, depth = 0): fc.Arbitrary<object> {
  const fields = type.fieldsArray.map((field): [string, fc.Arbitrary<unknown>] => {
    if (field instanceof protobuf.MapField)
      return [field.name, fc.dictionary(fc.string(), fc.string(), { maxKeys: 3, noNullPrototype: true })];
    const one =
      field.resolvedType instanceof protobuf.Type
        ? arbitrary(field.resolvedType, depth + 1)
        : (scalars[field.resolvedType instanceof protobuf.Enum ? 'int32' : field.type] ?? fc.constant(undefined));
    if (field.repeated) return [field.name, fc.array(one, { maxLength: depth > 1 ? 1 : 3 })];
    return [field.name, field.resolvedType instanceof protobuf.Type ? fc.option(one, { freq: 2 }) : one];
  });
  return fc.record(Object.fromEntries(fields));
}

const withoutNulls = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(withoutNulls)
    : typeof value === 'object' && value !== null && !(value instanceof Uint8Array)
      ? Object.fromEntries(Object.entries(value).flatMap(([k, v]) => (v === null ? [] : [[k, withoutNulls(v)]])))
      : value;

describe('every message', () => {
  it.each(types.map((type) => [type.name, type] as const))(
    '%s goes over the wire as protobufjs writes and reads it',
    (_, type) => {
      const codec = ours(type);
      fc.assert(
        fc.property(arbitrary(type), (message) => {
          const bytes = codec.encode(message);
          const theirs = type.encode(type.fromObject(withoutNulls(message) as object)).finish();
          expect(Buffer.from(bytes).equals(Buffer.from(theirs))).toBe(true);
          expect(codec.decode(Uint8Array.from(theirs))).toEqual(message);
        }),
        { numRuns: 20 },
      );
    },
  );

  it.each(types.map((type) => [type.name, type] as const))(
    '%s is created as a peer would decode it, and shares nothing with what it was made from',
    (_, type) => {
      const codec = ours(type);
      fc.assert(
        fc.property(arbitrary(type), fc.boolean(), (message, isPartial) => {
          const init = isPartial ? (withoutNulls(message) as object) : message;
          const created = codec.create(init);
          expect(created).toEqual(codec.decode(codec.encode(init)));
          for (const [name, value] of Object.entries(created)) {
            if (typeof value === 'object' && value !== null) {
              expect(value, name).not.toBe((init as Readonly<Record<string, unknown>>)[name]);
            }
          }
        }),
        { numRuns: 20 },
      );
    },
  );

  it('is created of what is odd as a peer would decode it', () => {
    const odd = [{ version: '\ud800a' }, { runtimeName: null }, {}];
    for (const init of odd) {
      expect(messages.VersionResponse.create(init)).toEqual(
        messages.VersionResponse.decode(messages.VersionResponse.encode(init)),
      );
    }
    const labels = JSON.parse('{"__proto__": "x", "b\\ud800": "y"}') as Record<string, string>;
    const container = { id: 'a', labels, createdAt: -0, state: -0 };
    expect(messages.Container.create(container)).toStrictEqual(
      messages.Container.decode(messages.Container.encode(container)),
    );
    expect(messages.Int64Value.create({ value: 2 ** 63 })).toEqual({ value: 2 ** 63 });
    expect(Object.keys(messages.Container.create({ labels }).labels)).toContain('__proto__');
    for (const value of [0.5, 2 ** 70, Number.NaN, '1' as unknown as number]) {
      expect(() => messages.Int64Value.create({ value })).toThrow('Int64Value.value: expected a 64-bit integer');
    }
    expect(() => messages.VersionResponse.create({ version: 1 as unknown as string })).toThrow(
      'VersionResponse.version: expected a string',
    );
  });

  it('decodes bytes of any content to a message or an error, and reads no further than their end', () => {
    const codec = messages.ContainerStatusResponse;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          expect(codec.decode(bytes)).toHaveProperty('status');
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
      { numRuns: 2000 },
    );
    const whole = codec.encode({ status: { id: 'abc', labels: { a: 'b' } } });
    for (let length = 3; length < whole.length; length++) {
      expect(() => codec.decode(whole.subarray(0, length)), `cut to ${length} bytes`).toThrow(Error);
    }
  });
});

describe('decoding', () => {
  it('refuses a field that reaches past the end of its message into what follows', () => {
    const bytes = Buffer.concat([Buffer.of(0x0a, 0x02, 0x0a, 0x05), Buffer.from('hello')]);
    expect(() => messages.ContainerStatusResponse.decode(bytes)).toThrow(RangeError);
  });

  it('refuses wire types that proto3 does not have, and numbers that do not end', () => {
    expect(() => messages.VersionRequest.decode(Buffer.of(0x0b))).toThrow(/wire type 3/);
    expect(() => messages.Int64Value.decode(Buffer.alloc(20, 0xff))).toThrow(/more than 10 bytes/);
  });

  it('gives each field its own property, so that a spread copies all of them', () => {
    expect({ ...messages.VersionResponse.decode(new Uint8Array()) }).toEqual({
      version: '',
      runtimeName: '',
      runtimeVersion: '',
      runtimeApiVersion: '',
    });
  });

  it('drops fields that the .proto does not know, of every wire type', () => {
    const w = protobuf.Writer.create();
    w.uint32(999 * 8)
      .uint64(1)
      .uint32(998 * 8 + 1)
      .double(1)
      .uint32(997 * 8 + 2)
      .string('x')
      .uint32(996 * 8 + 5)
      .fixed32(1);
    w.uint32(10).string('1.7');
    expect(messages.VersionRequest.decode(w.finish())).toEqual({ version: '1.7' });
  });

  it('takes the last of a scalar that comes twice, and merges a message that does', () => {
    const join = (...parts: Uint8Array[]): Uint8Array => Buffer.concat(parts);
    const { ContainerStatus } = messages;
    const bytes = join(
      ContainerStatus.encode({ id: 'a', metadata: { name: 'n' }, labels: { x: '1' } }),
      ContainerStatus.encode({ id: 'b', metadata: { attempt: 2 }, labels: { y: '2' } }),
    );
    expect(ContainerStatus.decode(bytes)).toMatchObject({
      id: 'b',
      metadata: { name: 'n', attempt: 2 },
      labels: { x: '1', y: '2' },
    });
  });

  it('reads a list of numbers whether it is packed or not', () => {
    const w = protobuf.Writer.create().uint32(26).fork().int64(1).int64(-2).ldelim().uint32(24).int64(3);
    expect(messages.LinuxContainerUser.decode(w.finish()).supplementalGroups).toEqual([1, -2, 3]);
  });

  it('gives 64-bit numbers as JavaScript numbers, exact to 2^53 and the nearest above', () => {
    const read = (value: string): number => {
      const bytes = [8];
      for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
        bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
        if (rest <= 0x7fn) return messages.Int64Value.decode(Uint8Array.from(bytes)).value;
      }
    };
    expect(read('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
    expect(read('1790000000123456789')).toBe(Number(1790000000123456789n));
    expect(read('-9007199254740991')).toBe(Number.MIN_SAFE_INTEGER);
    expect(read('-1')).toBe(-1);
    expect(read('9223372036854775807')).toBe(2 ** 63);
    expect(read('-9223372036854775808')).toBe(-(2 ** 63));
  });

  it('keeps the largest 64-bit numbers as they are over a round trip', () => {
    const max = Buffer.from('08ffffffffffffffff7f', 'hex');
    expect(Buffer.from(messages.Int64Value.encode(messages.Int64Value.decode(max)))).toEqual(max);
    const unsigned = Buffer.from('08ffffffffffffffffff01', 'hex');
    expect(Buffer.from(messages.UInt64Value.encode(messages.UInt64Value.decode(unsigned)))).toEqual(unsigned);
  });

  it('keeps the number of an enum that the .proto does not know', () => {
    const bytes = messages.ContainerStatus.encode({ state: 77 });
    expect(messages.ContainerStatus.decode(bytes).state).toBe(77);
    expect(ContainerState.CONTAINER_RUNNING).toBe(1);
  });

  it('takes any key of a map, and leaves the prototype of all objects alone', () => {
    const labels = Object.fromEntries([
      ['__proto__', 'x'],
      ['constructor', 'y'],
      ['', 'z'],
    ]);
    const decoded = messages.ContainerStatus.create({ labels }).labels;
    expect(Object.entries(decoded).toSorted()).toEqual([
      ['', 'z'],
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
  });

  it('copies bytes, so that a kept message does not keep the buffer that it came in', () => {
    const bytes = messages.ExecSyncResponse.encode({ stdout: Buffer.from('out') });
    const { stdout } = messages.ExecSyncResponse.decode(bytes);
    bytes.fill(0);
    expect(Buffer.from(stdout).toString()).toBe('out');
    expect(stdout.buffer.byteLength).toBeLessThan(64);
  });
});

describe('encoding', () => {
  it('leaves out what is absent, null or a default', () => {
    const { ContainerConfig } = messages;
    const message = {
      metadata: null,
      image: undefined,
      logPath: '',
      stdin: false,
      mounts: [],
      labels: { a: undefined },
    };
    expect(ContainerConfig.encode(message).length).toBe(0);
    expect(ContainerConfig.encode({ metadata: {} }).length).toBe(2);
  });

  const wrong = (value: unknown): never => value as never;
  it.each([
    ['VersionRequest.version: expected a string, got 1', () => messages.VersionRequest.encode({ version: wrong(1) })],
    [
      'StatusRequest.verbose: expected a boolean, got string',
      () => messages.StatusRequest.encode({ verbose: wrong('yes') }),
    ],
    [
      'PortMapping.hostPort: expected a 32-bit integer, got 3000000000',
      () => messages.PortMapping.encode({ hostPort: 3e9 }),
    ],
    ['IDMapping.length: expected an unsigned 32-bit integer, got -1', () => messages.IDMapping.encode({ length: -1 })],
    ['Int64Value.value: expected a 64-bit integer, got NaN', () => messages.Int64Value.encode({ value: Number.NaN })],
    [
      'UInt64Value.value: expected an unsigned 64-bit integer, got -1',
      () => messages.UInt64Value.encode({ value: -1 }),
    ],
    ['ExecRequest.cmd: expected an array, got string', () => messages.ExecRequest.encode({ cmd: wrong('sh') })],
    [
      'ExecRequest.cmd: expected a string, got undefined',
      () => messages.ExecRequest.encode({ cmd: [wrong(undefined)] }),
    ],
    [
      'ContainerConfig.labels["a"]: expected a string, got 1',
      () => messages.ContainerConfig.encode({ labels: { a: wrong(1) } }),
    ],
    [
      'ContainerConfig.image: expected an object, got string',
      () => messages.ContainerConfig.encode({ image: wrong('busybox') }),
    ],
    [
      'ContainerConfig.mounts: expected an object, got null',
      () => messages.ContainerConfig.encode({ mounts: [wrong(null)] }),
    ],
    ['KeyValue.value: expected a Uint8Array, got string', () => messages.KeyValue.encode({ value: wrong('x') })],
    ['PsiData.Avg10: expected a number, got string', () => messages.PsiData.encode({ Avg10: wrong('1') })],
  ])('refuses a wrong type: %s', (message, encode) => {
    expect(encode).toThrow(new TypeError(message));
  });
});
