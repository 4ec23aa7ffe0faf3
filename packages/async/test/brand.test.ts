import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { AsyncError, brand, hasBrand } from '../src/index.ts';

/** What another copy of a package has: another class of the same name. */
function copy() {
  const NAME = '@node-agent/example.ExampleError';
  return class ExampleError extends Error {
    static {
      brand(ExampleError, NAME);
    }
    static is(value: unknown): boolean {
      return hasBrand(value, NAME);
    }
  };
}

describe('a brand', () => {
  test('is shared by all copies of a class, which know nothing of each other', () => {
    const [One, Other] = [copy(), copy()];
    const error = new Other('of the other');
    expect(error).not.toBeInstanceOf(One);
    expect(One.is(error)).toBe(true);
    expect(Other.is(new One())).toBe(true);
  });

  test('gives a class the name that it has in its package, whatever a bundler calls it', () => {
    const bundled = class _ExampleError extends Error {};
    brand(bundled, '@node-agent/example.ExampleError');
    expect(bundled.name).toBe('ExampleError');
    expect(inspect(new bundled('lost'))).toMatch(/^ExampleError: lost/);
    expect(new bundled('lost').name).toBe('Error');
  });

  test('may stand beside another one', () => {
    const both = class extends Error {};
    brand(both, '@node-agent/one.OneError');
    brand(both, '@node-agent/other.OtherError');
    expect(both.name).toBe('OtherError');
    expect([
      hasBrand(new both(), '@node-agent/one.OneError'),
      hasBrand(new both(), '@node-agent/other.OtherError'),
    ]).toEqual([true, true]);
  });

  test('is seen in no instance: not in its keys, its JSON or its text', () => {
    const error = new (copy())('plain');
    expect(Reflect.ownKeys(error).filter((key) => typeof key === 'symbol')).toEqual([]);
    expect({ ...error }).toEqual({});
  });

  test.each([
    [new Error('x')],
    [{ name: 'ExampleError' }],
    [new AsyncError('Busy', 'x')],
    [null],
    [undefined],
    ['text'],
  ])('is not on %s', (value) => expect(copy().is(value)).toBe(false));
});

test('an AsyncError of another copy is known', () => {
  const foreign = new (class AsyncError extends Error {})('timed out');
  expect(AsyncError.is(foreign)).toBe(false);
  brand(foreign.constructor as never, '@node-agent/async.AsyncError');
  expect(AsyncError.is(foreign)).toBe(true);
});
