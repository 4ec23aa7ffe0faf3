import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { AsyncError, brand, hasBrand } from '../src/index.ts';

/** Returns a class with the same brand, as in a second installed copy of the package. */
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

describe('brand and hasBrand', () => {
  test('an error is recognised by another copy of its class, because the brand is shared', () => {
    const [One, Other] = [copy(), copy()];
    const error = new Other('of the other');
    expect(error).not.toBeInstanceOf(One);
    expect(One.is(error)).toBe(true);
    expect(Other.is(new One())).toBe(true);
  });

  test('a branded class keeps its name although a bundler renamed it', () => {
    const bundled = class _ExampleError extends Error {};
    brand(bundled, '@node-agent/example.ExampleError');
    expect(bundled.name).toBe('ExampleError');
    expect(inspect(new bundled('lost'))).toMatch(/^ExampleError: lost/);
    expect(new bundled('lost').name).toBe('Error');
  });

  test('a class can have two brands at the same time', () => {
    const both = class extends Error {};
    brand(both, '@node-agent/one.OneError');
    brand(both, '@node-agent/other.OtherError');
    expect(both.name).toBe('OtherError');
    expect([
      hasBrand(new both(), '@node-agent/one.OneError'),
      hasBrand(new both(), '@node-agent/other.OtherError'),
    ]).toEqual([true, true]);
  });

  test('a brand appears in no key, JSON or text of an instance', () => {
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
  ])('the value %s does not have the brand of a class', (value) => expect(copy().is(value)).toBe(false));
});

test('an AsyncError of another copy of the package is recognised', () => {
  const foreign = new (class AsyncError extends Error {})('timed out');
  expect(AsyncError.is(foreign)).toBe(false);
  brand(foreign.constructor as never, '@node-agent/async.AsyncError');
  expect(AsyncError.is(foreign)).toBe(true);
});
