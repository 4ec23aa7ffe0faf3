import { describe, expect, test } from 'vitest';
import { checkComponents, checkOptions, OptionsError } from '../src/index.ts';

interface Options {
  readonly directory: string;
  readonly mode: 'list' | 'watch';
  readonly periodMs?: number;
  readonly maxParallel?: number;
  readonly strategy?: 'Get' | 'Watch';
  readonly enabled?: boolean;
  readonly onChange?: () => void;
  readonly names?: readonly string[];
  readonly limits?: object;
  readonly bytes?: bigint;
  readonly anything?: unknown;
}

const valid: Options = { directory: '/d', mode: 'list' };
const check = (options: object): Options =>
  checkOptions('Thing', options as Options, {
    directory: 'string',
    mode: ['list', 'watch'],
    periodMs: 'positive?',
    maxParallel: 'limit?',
    strategy: [undefined, 'Get', 'Watch'],
    enabled: 'boolean?',
    onChange: 'function?',
    names: 'list?',
    limits: 'object?',
    bytes: 'bigint?',
    anything: 'any?',
  });

describe('checkOptions', () => {
  test.each<[object, string, string]>([
    [{ directory: undefined }, 'directory', 'directory is missing'],
    [{ directory: 5 }, 'directory', 'directory must be a string, not 5'],
    [{ mode: undefined }, 'mode', 'mode is missing'],
    [{ mode: 'lsit' }, 'mode', 'mode must be list or watch, not "lsit"'],
    [{ strategy: 'Wacth' }, 'strategy', 'strategy must be Get or Watch, not "Wacth"'],
    [{ periodMs: 'x' }, 'periodMs', 'periodMs must be above 0, not "x"'],
    [{ periodMs: '5' }, 'periodMs', 'periodMs must be above 0, not "5"'],
    [{ periodMs: Number.NaN }, 'periodMs', 'periodMs must be above 0, not NaN'],
    [{ periodMs: null }, 'periodMs', 'periodMs must be above 0, not null'],
    [{ maxParallel: 1.5 }, 'maxParallel', 'maxParallel must be a whole number of at least 1, not 1.5'],
    [{ enabled: 'no' }, 'enabled', 'enabled must be true or false, not "no"'],
    [{ onChange: {} }, 'onChange', 'onChange must be a function, not an object'],
    [{ names: 'a' }, 'names', 'names must be a list, not "a"'],
    [{ limits: 1 }, 'limits', 'limits must be an object, not 1'],
    [{ bytes: 1 }, 'bytes', 'bytes must be a bigint, not 1'],
  ])('checkOptions rejects %o with an error that names the option', (change, option, problem) => {
    expect(() => check({ ...valid, ...change })).toThrow(
      expect.objectContaining({ code: 'InvalidOptions', component: 'Thing', option, message: `Thing: ${problem}` }),
    );
  });

  test('checkOptions rejects a misspelt option and lists the known names', () => {
    expect(() => check({ ...valid, period: 5 })).toThrow(
      'Thing: unknown option period; the options are directory, mode, periodMs, maxParallel, strategy, enabled, onChange, names, limits, bytes, anything',
    );
  });

  test.each([[null], [undefined], [5], ['text']])('checkOptions rejects %o as options object', (options) => {
    expect(() => check(options as never)).toThrow(/^Thing: options must be an object, not /);
  });

  test('checkOptions returns the options without undefined ones, so that a spread keeps defaults', () => {
    expect({ periodMs: 10, ...check({ ...valid, periodMs: undefined, enabled: false }) }).toEqual({
      ...valid,
      periodMs: 10,
      enabled: false,
    });
  });
});

interface Components {
  readonly runtime: { list(): void; stop(): void };
  readonly onEnd: () => void;
  readonly checks: readonly string[];
  readonly logger?: object;
  readonly extra?: object;
}

describe('checkComponents', () => {
  const good = { runtime: { list() {}, stop() {} }, onEnd: () => {}, checks: [] };
  const checkAll = (components: object): void =>
    checkComponents('Thing', components as Components, {
      runtime: ['list', 'stop'],
      onEnd: 'function',
      checks: 'list',
    });

  test.each<[object, string, string]>([
    [{ runtime: undefined }, 'runtime', 'component runtime is missing'],
    [{ runtime: null }, 'runtime', 'component runtime is missing'],
    [{ runtime: 'x' }, 'runtime', 'component runtime must be an object, not "x"'],
    [{ runtime: { list() {} } }, 'runtime', 'component runtime has no method stop'],
    [{ runtime: { list: 1, stop() {} } }, 'runtime', 'component runtime has no method list'],
    [{ onEnd: 1 }, 'onEnd', 'component onEnd must be a function, not 1'],
    [{ checks: {} }, 'checks', 'component checks must be a list, not an object'],
    [{ logger: 'debug' }, 'logger', 'component logger must be an object, not "debug"'],
  ])('checkComponents rejects %o with an error that names the component', (change, option, problem) => {
    expect(() => checkAll({ ...good, ...change })).toThrow(
      expect.objectContaining({ code: 'InvalidOptions', component: 'Thing', option, message: `Thing: ${problem}` }),
    );
  });

  test('checkComponents accepts inherited methods, additional components, and an absent optional component', () => {
    class Runtime {
      list(): void {}
      stop(): void {}
    }
    expect(() => checkAll({ ...good, runtime: new Runtime(), logger: undefined, other: 1 })).not.toThrow();
  });

  test.each([[undefined], [null]])('checkComponents rejects %o as components object', (components) => {
    expect(() => checkAll(components as never)).toThrow(/^Thing: components must be an object, not /);
  });
});

test('an OptionsError is a RangeError that another copy of the package recognises', () => {
  const error = new OptionsError('Thing', 'a', 'a is missing');
  expect(error).toBeInstanceOf(RangeError);
  expect(OptionsError.is(error)).toBe(true);
  expect(OptionsError.is(new RangeError('a is missing'))).toBe(false);
});
