import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { MessageType } from '../src/index.ts';
import { loadProto } from './load-shapes.ts';

const run = promisify(execFile);
const local = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** The output is below the package, so that the generated code finds `@node-agent/grpc/wire`. */
const OUTPUT = local('../.reports/generated');

type AnyMessage = Record<string, unknown>;
interface Generated {
  readonly messages: Readonly<Record<'Choice' | 'Leaf' | 'Timestamp' | 'BoolValue', MessageType<AnyMessage>>>;
}

async function generate(proto: string, output: string, ...flags: readonly string[]): Promise<Generated> {
  await run(process.execPath, [local('../scripts/generate.mjs'), proto, 'shapes.v1', output, ...flags]);
  return await import(/* @vite-ignore */ `${output}/codec.ts`);
}

async function failureOf(text: string, ...flags: readonly string[]): Promise<string> {
  const proto = `${OUTPUT}/refused.proto`;
  await writeFile(proto, `syntax = "proto3"; package shapes.v1; ${text}`);
  try {
    await generate(proto, `${OUTPUT}/refused`, ...flags);
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string };
    return /Error: (.*)/.exec(stderr)?.[1] ?? String(error);
  }
  return 'accepted';
}

let messages: Generated['messages'];
let plain: Generated['messages'];
beforeAll(async () => {
  await rm(OUTPUT, { recursive: true, force: true });
  ({ messages } = await generate(local('./shapes.proto'), `${OUTPUT}/shapes`, '--strict', '--bigint'));
  ({ messages: plain } = await generate(local('./shapes.proto'), `${OUTPUT}/plain`));
});

const MEMBERS = ['text', 'flag', 'raw', 'share', 'small', 'large', 'size', 'color', 'inner'];
const unset = (): AnyMessage => Object.fromEntries(MEMBERS.map((name) => [name, null]));
const choice = (more: AnyMessage = {}): AnyMessage => ({ ...unset(), leaf: null, name: '', ...more });
const leaf = (more: AnyMessage = {}): AnyMessage => ({
  choices: {},
  time: null,
  ready: null,
  limit: null,
  note: '',
  ...more,
});
const bytesOf = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const lengthOf = (text: string): string => bytesOf(text).length.toString(16).padStart(2, '0');
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/**
 * Random integers are limited to 2^53, beyond which protobufjs rounds. The table of oneof members below has the largest
 * values.
 */
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const int64 = fc.bigInt({ min: -SAFE, max: SAFE });
const uint64 = fc.bigInt({ min: 0n, max: SAFE });

/** Generates messages as a decoder returns them. */
function choices(depth: number): fc.Arbitrary<AnyMessage> {
  const text = fc.string({ unit: 'grapheme', maxLength: 5 });
  const member = fc.oneof(
    ...[
      fc.record({ text }),
      fc.record({ flag: fc.boolean() }),
      fc.record({ raw: fc.uint8Array({ maxLength: 4 }) }),
      fc.record({ share: fc.double({ noNaN: true }) }),
      fc.record({ small: fc.integer() }),
      fc.record({ large: int64 }),
      fc.record({ size: uint64 }),
      fc.record({ color: fc.constantFrom(0, 1, 7) }),
      fc.constant({}),
      ...(depth > 0 ? [fc.record({ inner: choices(depth - 1) })] : []),
    ],
  );
  const leaves = depth > 0 ? fc.option(leavesOf(depth - 1)) : fc.constant(null);
  return fc.tuple(member, leaves, text).map(([picked, found, name]) => choice({ ...picked, leaf: found, name }));
}

function leavesOf(depth: number): fc.Arbitrary<AnyMessage> {
  return fc
    .record({
      choices: fc.dictionary(fc.string({ maxLength: 3 }), choices(depth), { maxKeys: 2, noNullPrototype: true }),
      time: fc.option(fc.record({ seconds: int64, nanos: fc.integer() })),
      ready: fc.option(fc.record({ value: fc.boolean() })),
      limit: fc.option(fc.record({ value: int64 })),
      note: fc.string({ maxLength: 3 }),
    })
    .map(leaf);
}

/** Converts a message to the form that protobufjs expects: without nulls, and with long integers as text. */
function theirForm(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null);
  // A field is never named "__proto__": only map keys are random, and protobufjs drops this key.
  return Object.fromEntries(entries.map(([name, inner]) => [name, theirForm(inner)]));
}

describe('generated code of oneofs, maps of messages and imported messages', () => {
  const theirs = loadProto(local('./shapes.proto')).lookupType('shapes.v1.Choice');

  it('generated code encodes messages that protobufjs decodes and decodes them unchanged, and create() returns the message that decoding would return', () => {
    fc.assert(
      fc.property(choices(2), (message) => {
        const bytes = messages.Choice.encode(message);
        expect(messages.Choice.decode(bytes)).toEqual(message);
        expect(messages.Choice.create(message)).toEqual(message);
        const again = theirs.encode(theirs.decode(bytes)).finish();
        expect(messages.Choice.decode(again)).toEqual(message);
        expect(messages.Choice.decode(theirs.encode(theirs.fromObject(theirForm(message) as object)).finish())).toEqual(
          message,
        );
      }),
    );
  });

  it('generated code skips unknown fields, also inside map entries', () => {
    const unknown = 'a03e 01 a93e 0000000000000000 b23e 01 78 b53e 00000000';
    const entry = `0a 01 6b ${unknown} 12 ${lengthOf(`28 05 ${unknown}`)} 28 05 ${unknown}`;
    const bytes = bytesOf(`${unknown} 0a ${(bytesOf(entry).length).toString(16)} ${entry} ${unknown}`);
    expect(messages.Leaf.decode(bytes)).toEqual(leaf({ choices: { k: choice({ small: 5 }) } }));
  });

  it('generated code decodes any bytes to a message, or throws a RangeError', () => {
    const tags = fc.constantFrom(10, 16, 26, 33, 40, 48, 56, 64, 74, 82, 90, 18, 34, 42, 0, 1, 2, 4, 255);
    const hostile = fc.array(fc.oneof(tags, fc.integer({ min: 0, max: 255 })), { maxLength: 40 });
    let decoded = 0;
    fc.assert(
      fc.property(hostile, (bytes) => {
        for (const type of [messages.Choice, messages.Leaf]) {
          try {
            const message = type.decode(Uint8Array.from(bytes));
            expect(MEMBERS.filter((name) => (message[name] ?? null) !== null).length).toBeLessThan(2);
            decoded++;
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError);
          }
        }
      }),
      { numRuns: 2000 },
    );
    expect(decoded).toBeGreaterThan(20);
  });

  it('generated code rejects a truncated message at every position', () => {
    const message = choice({ inner: choice({ text: 'a' }), leaf: leaf({ choices: { k: choice({ size: 9n }) } }) });
    const bytes = messages.Choice.encode({ inner: message });
    for (let length = 1; length < bytes.length; length++) {
      expect(() => messages.Choice.decode(bytes.subarray(0, length)), `${length}`).toThrow(RangeError);
    }
  });
});

describe('encoding and decoding of a oneof', () => {
  it.each([
    ['an empty text', { text: '' }, '0a 00'],
    ['the value false', { flag: false }, '10 00'],
    ['an empty byte array', { raw: new Uint8Array(0) }, '1a 00'],
    ['the fraction 0', { share: 0 }, '21 0000000000000000'],
    ['the number 0', { small: 0 }, '28 00'],
    ['the bigint 0', { large: 0n }, '30 00'],
    ['the least bigint', { large: -(2n ** 63n) }, '30 80808080808080808001'],
    ['the largest bigint', { size: 2n ** 64n - 1n }, '38 ffffffffffffffffff01'],
    ['the enum value 0', { color: 0 }, '40 00'],
    ['an empty message', { inner: choice() }, '4a 00'],
  ])('an encoded oneof contains %s if set', (_, message, bytes) => {
    expect(hex(messages.Choice.encode(message))).toBe(bytes.replaceAll(' ', ''));
    expect(messages.Choice.decode(bytesOf(bytes))).toEqual(choice(message));
  });

  it('a decoded oneof has the member that comes last, and merges a message that comes twice', () => {
    expect(messages.Choice.decode(bytesOf('0a 01 61 28 05'))).toEqual(choice({ small: 5 }));
    expect(messages.Choice.decode(bytesOf('4a 02 28 05 0a 01 61'))).toEqual(choice({ text: 'a' }));
    const merged = choice({ inner: choice({ small: 5, name: 'n' }) });
    expect(messages.Choice.decode(bytesOf('4a 02 28 05 4a 03 5a 01 6e'))).toEqual(merged);
  });

  it('encoding rejects a message in which two members of one oneof are set', () => {
    const failure = new TypeError('Choice.picked: only one of text and flag may be set');
    expect(() => messages.Choice.encode({ text: '', flag: false })).toThrow(failure);
    expect(() => messages.Choice.create({ text: '', flag: false })).toThrow(failure);
    expect(hex(messages.Choice.encode({ text: null, flag: true, small: undefined }))).toBe('1001');
  });

  it.each<[AnyMessage, string]>([
    [{ large: 1 }, 'Choice.large: expected a 64-bit bigint, got 1'],
    [{ large: 2n ** 63n }, 'Choice.large: expected a 64-bit bigint, got 9223372036854775808n'],
    [{ size: -1n }, 'Choice.size: expected an unsigned 64-bit bigint, got -1n'],
    [{ inner: 'x' }, 'Choice.inner: expected an object, got string'],
    [{ leaf: { choices: { k: 1 } } }, 'Leaf.choices["k"]: expected an object, got 1'],
  ])('encoding rejects %o with an error that names the field', (message, failure) => {
    expect(() => messages.Choice.encode(message)).toThrow(new TypeError(failure));
    expect(() => messages.Choice.create(message)).toThrow(new TypeError(failure));
  });
});

it('a decoded map entry without a value has an empty message, and the key __proto__ is stored like any other key', () => {
  expect(messages.Leaf.decode(bytesOf('0a 03 0a 01 6b'))).toEqual(leaf({ choices: { k: choice() } }));
  const { choices: map } = messages.Leaf.decode(bytesOf('0a 0b 0a 09 5f5f70726f746f5f5f'));
  expect(Object.keys(map as object)).toEqual(['__proto__']);
});

it('generated 64-bit integers are numbers without --bigint', () => {
  expect(plain.Choice.decode(bytesOf('30 05'))).toEqual(choice({ large: 5 }));
  expect(hex(plain.Choice.encode({ large: 0 }))).toBe('3000');
});

it('generated types of imported messages keep their name and their full name', () => {
  expect([messages.Timestamp.name, messages.BoolValue.name]).toEqual([
    'google.protobuf.Timestamp',
    'google.protobuf.BoolValue',
  ]);
});

it('the generator with --services generates only the named services and the messages that these services use', async () => {
  const proto = `${OUTPUT}/services.proto`;
  const text = `message A { B b = 1; map<string, C> c = 2; } message B { E e = 1; } message C {} message D { F f = 1; }
    enum E { X = 0; } enum F { Y = 0; } service S { rpc R (A) returns (C); } service T { rpc R (D) returns (C); }`;
  await writeFile(proto, `syntax = "proto3"; package shapes.v1; ${text}`);
  const generated = await generate(proto, `${OUTPUT}/services`, '--services', 'S');
  expect(Object.keys(generated.messages)).toEqual(['A', 'B', 'C']);
  const [types, services] = await Promise.all(
    ['types', 'services'].map((name) => readFile(`${OUTPUT}/services/${name}.ts`, 'utf8')),
  );
  expect(types).toContain('export const E =');
  expect(types).not.toContain('export const F =');
  expect([...(services ?? '').matchAll(/export interface (\w+)/g)].map(([, name]) => name)).toEqual(['S']);
  expect(await failureOf('message M {}', '--services', 'S')).toBe('no service S');
});

describe('the generator rejects', () => {
  it.each([
    [
      'a map of numbers',
      'message M { map<string, int32> a = 1; }',
      '.shapes.v1.M.a: only map<string, string> and maps from string to a message are supported',
    ],
    [
      'a map by number',
      'message M { map<int32, string> a = 1; }',
      '.shapes.v1.M.a: only map<string, string> and maps from string to a message are supported',
    ],
    [
      'a type of number that no contract uses',
      'message M { oneof o { fixed64 a = 1; } }',
      '.shapes.v1.M.a: fixed64 is not supported',
    ],
    [
      'a stream of requests',
      'message M {} service S { rpc R (stream M) returns (M); }',
      '.shapes.v1.S.R: a stream of requests is not supported',
    ],
    [
      'two messages of one name',
      'message A { message B {} } message AB {}',
      'two messages or enums would both be named AB',
    ],
    ['a list of bigint', 'message M { repeated int64 a = 1; }', '.shapes.v1.M.a: a list of bigint is not supported'],
    [
      'an extension of a message',
      'message M { extensions 100 to 199; } extend M { string a = 100; }',
      '.shapes.v1.M..shapes.v1.a: an extension of a message is not supported',
    ],
  ])('the generator rejects %s', async (_, text, failure) => {
    expect(await failureOf(text, '--bigint')).toBe(failure);
  });

  it('the generator rejects an import of another file', async () => {
    expect(await failureOf('import "other.proto";')).toMatch(
      /refused\.proto: import of other\.proto is not supported$/,
    );
  });
});
