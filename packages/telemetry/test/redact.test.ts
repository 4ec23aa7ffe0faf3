import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLogger, type Logger } from '../src/index.ts';
import { redact, redactFields } from '../src/redact.ts';

const SECRET = 'hunter2hunter2';

type Format = 'text' | 'json';

async function logged(format: Format, write: (logger: Logger) => void): Promise<string> {
  const lines: string[] = [];
  write(await createLogger({ format, level: 'trace', now: () => 0, write: (line) => void lines.push(line) }));
  return lines.join('');
}

describe.each<Format>(['text', 'json'])('W4: redaction by the logger of the format %s', (format) => {
  it.each([
    'authorization',
    'Authorization',
    'Proxy-Authorization',
    'token',
    'id_token',
    'bearerToken',
    'password',
    'client-key-data',
    'Set-Cookie',
    'identitytoken',
    '.dockerconfigjson'.slice(1),
    ...['access_token', 'auth', 'client-key', 'clientSecret', 'Cookie', 'key-data', 'passwd', 'private_key'],
    ...['refresh_token', 'registryToken', 'secret'],
  ])('W4: the logger redacts the field %s at any depth, in lists, in children and in errors', async (field) => {
    const deep = { a: { b: { c: [{ [field]: SECRET }] } } };
    const text = await logged(format, (logger) => {
      logger.info({ [field]: SECRET }, 'flat');
      logger.info({ request: deep }, 'deep');
      logger.child({ request: deep, [field]: SECRET }).info({}, 'child');
      logger.error({ err: Object.assign(new Error('failed'), { request: deep }) }, 'error');
    });
    expect(text).not.toContain(SECRET);
    expect(text.split('\n')).toHaveLength(5);
    expect(text).toContain('[redacted]');
  });

  it.each([
    [`Authorization: Bearer ${SECRET}`, 'Authorization: Bearer [redacted]'],
    [`basic ${SECRET}= failed`, 'basic [redacted] failed'],
    [`https://user:${SECRET}@registry.example/v2/`, 'https://user:[redacted]@registry.example/v2/'],
    [`got eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.${SECRET} here`, 'got [redacted] here'],
  ])('W4: the logger redacts the secret within the text: %s', async (text, expected) => {
    expect(redact(text)).toBe(expected);
    expect(redact({ list: [text] })).toEqual({ list: [expected] });
    expect(await logged(format, (logger) => logger.error({ err: new Error(text) }, 'x'))).not.toContain(SECRET);
  });

  it('W4: redact replaces each signed JWT in a text, and no similar text', () => {
    const token = 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0';
    expect(redact(`a.b-${token}.${SECRET}.c, ${token}.${SECRET}`)).toBe('a.b-[redacted].c, [redacted]');
    expect(redact(`${token}.`)).toBe('[redacted]');
    for (const other of [token, `${token.replace('.', '..')}.x`, `x${token}.x`, 'eyJhbGciO.x.x', '.eyJ.x.x']) {
      expect(redact(other)).toBe(other);
    }
  });

  // Quadratic time would exceed the test's timeout.
  it('W5: redact takes linear time for a text that starts like a token again and again', () => {
    const text = '-eyJ'.repeat(50_000);
    expect(redact(text)).toBe(text);
  });

  it('redact replaces values nested deeper than seven levels', () => {
    const nested = (value: unknown, depth: number): unknown => (depth === 0 ? value : { a: nested(value, depth - 1) });
    const listed = (value: unknown, depth: number): unknown => (depth === 0 ? value : [listed(value, depth - 1)]);
    expect(redact(nested({ b: 'c' }, 7))).toEqual(nested({ b: 'c' }, 7));
    expect(redact(nested({ b: 'c' }, 8))).toEqual(nested('[redacted]', 8));
    expect(redactFields({ x: nested({ b: 'c' }, 7) })).toEqual({ x: nested({ b: 'c' }, 7) });
    expect(redact(listed(['c'], 7))).toEqual(listed(['c'], 7));
    expect(redact(listed(['c'], 8))).toEqual(listed('[redacted]', 8));
    expect(redact(listed('c', 8))).toEqual(listed('c', 8));
  });

  it('the logger marks the omitted part of a cyclic object as redacted', async () => {
    const cyclic: Record<string, unknown> = { name: 'a' };
    cyclic.self = cyclic;
    expect(await logged(format, (logger) => logger.info({ cyclic }, 'x'))).toContain('[redacted]');
  });
});

describe('values that the logger does not redact', () => {
  it.each<[string, unknown]>([
    ['names of secrets', { secretName: 'my-token', tokenPath: '/var/run/token', secretRef: { name: 'x' } }],
    ["an object in a field with a secret's name", { secret: { name: 'x', namespace: 'y' } }],
    ['empty values', { token: '', password: null, secret: undefined }],
    ['null and plain values in a list', [null, 1, true]],
    ['numbers, booleans, dates', { a: 1, b: true, c: null, d: new Date(0) }],
    ['texts that are similar to credentials', { a: 'the bearer of this', b: 'http://host:8080/path', c: 'a@b' }],
  ])('redact keeps %s', (_, value) => {
    expect(redact(value)).toEqual(value);
  });

  it('redact keeps all ordinary fields, and does not modify its argument', () => {
    fc.assert(
      fc.property(
        fc.object({
          key: fc.stringMatching(/^x[a-z]{0,5}$/),
          values: [fc.integer(), fc.stringMatching(/^[a-z ]*$/)],
          maxDepth: 4,
        }),
        (value) => {
          const before = structuredClone(value);
          expect(redact(value)).toEqual(before);
          expect(value).toEqual(before);
        },
      ),
    );
  });
});
