import { brand, hasBrand } from './brand.ts';

const BRAND = '@node-agent/async.OptionsError';

/**
 * A component or function was set up wrongly: a required component is missing, an option is misspelt, or a value makes no sense.
 * Every package reports this with the same code, so that a program finds each misconfiguration by `error.code === 'InvalidOptions'`.
 */
export class OptionsError extends RangeError {
  static {
    brand(OptionsError, BRAND);
  }

  override readonly name = 'OptionsError';
  readonly code = 'InvalidOptions';
  /** The class or function that refused its arguments; empty for the helpers of this package. */
  readonly component: string;
  /** The component or option at fault, as the caller wrote its name. */
  readonly option: string;

  constructor(component: string, option: string, problem: string) {
    super(component === '' ? problem : `${component}: ${problem}`);
    this.component = component;
    this.option = option;
  }

  /** Whether a value is an `OptionsError`, of this copy of the package or of another one. */
  static is(value: unknown): value is OptionsError {
    return hasBrand(value, BRAND);
  }
}
