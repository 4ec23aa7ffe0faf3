import { brand, hasBrand } from './brand.ts';

const BRAND = '@node-agent/async.OptionsError';

/**
 * A component or function was configured incorrectly: a required component is missing, an option is misspelt, or a
 * value is not valid. All packages use the same code, so that a program recognizes every misconfiguration by
 * `error.code === 'InvalidOptions'`.
 */
export class OptionsError extends RangeError {
  static {
    brand(OptionsError, BRAND);
  }

  override readonly name = 'OptionsError';
  readonly code = 'InvalidOptions';
  /** Class or function that rejected its arguments. The name is empty for helper functions of this package. */
  readonly component: string;
  /** Name of the component or option that was rejected, as the caller wrote it. */
  readonly option: string;

  constructor(component: string, option: string, problem: string) {
    super(component === '' ? problem : `${component}: ${problem}`);
    this.component = component;
    this.option = option;
  }

  /** Returns whether a value is an `OptionsError` of this copy of the package or of another copy. */
  static is(value: unknown): value is OptionsError {
    return hasBrand(value, BRAND);
  }
}
