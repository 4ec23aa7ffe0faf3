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

/** Generates messages as a decoder returns them: every field is present, and some have their default values. */
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

describe('codecs of all messages', () => {
  it.each(types.map((type) => [type.name, type] as const))(
    'the message %s is encoded and decoded as by protobufjs',
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
    'the message %s made by create equals the decoded encoding of its input, and shares no object with it',
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
});

describe('decoding of messages', () => {
  it('a decoded message has all fields as own properties, so that a spread copies them', () => {
    expect({ ...messages.VersionResponse.decode(new Uint8Array()) }).toEqual({
      version: '',
      runtimeName: '',
      runtimeVersion: '',
      runtimeApiVersion: '',
    });
  });

  it('decoding uses the last of repeated scalars, and merges repeated messages', () => {
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

  it('decodes a list of numbers whether it is packed or not', () => {
    const w = protobuf.Writer.create().uint32(26).fork().int64(1).int64(-2).ldelim().uint32(24).int64(3);
    expect(messages.LinuxContainerUser.decode(w.finish()).supplementalGroups).toEqual([1, -2, 3]);
    // The varint in this field continues beyond the length of the packed list.
    expect(() => messages.LinuxContainerUser.decode(Buffer.from('1a01ff01', 'hex'))).toThrow(RangeError);
  });

  it('decoding keeps the number of an unknown enum value', () => {
    const bytes = messages.ContainerStatus.encode({ state: 77 });
    expect(messages.ContainerStatus.decode(bytes).state).toBe(77);
    expect(ContainerState.CONTAINER_RUNNING).toBe(1);
  });
});

describe('encoding of messages', () => {
  it('encoding omits fields that are absent, null or a default', () => {
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
      'ContainerConfig.labels["a"]: expected a string, got 1',
      () => messages.ContainerConfig.encode({ labels: { a: wrong(1) } }),
    ],
  ])('encoding refuses a field of the wrong type: %s', (message, encode) => {
    expect(encode).toThrow(new TypeError(message));
  });
});
