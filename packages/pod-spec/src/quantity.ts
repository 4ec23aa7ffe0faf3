import { PodSpecError } from './errors.ts';

/** Notation of a quantity: `1500m`, `1536Mi` or `15e2`. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

const NANOS = 10n ** 9n;
const MAX_INT64 = 2n ** 63n - 1n;
// Values in the API are far below these limits. Without them, a few bytes of text could request a number that fills the
// memory.
const MAX_TEXT_LENGTH = 256;
const MAX_EXPONENT = 512;

const DECIMAL_SUFFIXES: readonly string[] = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY_SUFFIXES: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const SHAPE = /^([+-]?)(\d*)(?:\.(\d*))?([a-zA-Z]*[-+]?\d*)$/;

/**
 * An exact number of the API (`resource.Quantity`): immutable, in steps of 10^-9, of any size. Parsing rounds finer
 * fractions away from zero, as upstream does, so that a small amount never becomes zero.
 */
export class Quantity {
  /** Zero in DecimalSI notation. */
  static readonly zero: Quantity = new Quantity(0n, 'DecimalSI');

  readonly format: QuantityFormat;
  /** The number times 10^9. */
  readonly nanos: bigint;

  constructor(nanos: bigint, format: QuantityFormat) {
    this.nanos = nanos;
    this.format = format;
  }

  /** Creates a quantity from a whole number. */
  static of(value: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
    return new Quantity(BigInt(value) * NANOS, format);
  }

  /** Creates a quantity from thousandths, the unit of CPU. */
  static ofMilli(milli: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
    return new Quantity(BigInt(milli) * (NANOS / 1000n), format);
  }

  /** Returns the number rounded away from zero to a whole number. */
  value(): bigint {
    return divideAwayFromZero(this.nanos, NANOS);
  }

  /** Returns the thousandths rounded away from zero to a whole number. */
  milliValue(): bigint {
    return divideAwayFromZero(this.nanos, NANOS / 1000n);
  }

  /** Returns -1, 0 or 1, for use with `Array.sort`. */
  compare(other: Quantity): -1 | 0 | 1 {
    if (this.nanos === other.nanos) return 0;
    return this.nanos < other.nanos ? -1 : 1;
  }

  equals(other: Quantity): boolean {
    return this.nanos === other.nanos;
  }

  get isZero(): boolean {
    return this.nanos === 0n;
  }

  /** Returns the sum in this quantity's notation, or in the other's if this quantity is zero. */
  add(other: Quantity): Quantity {
    return new Quantity(this.nanos + other.nanos, this.isZero ? other.format : this.format);
  }

  /** Returns the difference in this quantity's notation, or in the other's if this quantity is zero. */
  sub(other: Quantity): Quantity {
    return new Quantity(this.nanos - other.nanos, this.isZero ? other.format : this.format);
  }

  /** Rounds away from zero to whole thousandths, the finest resolution that the API keeps for resources. */
  roundUpToMilli(): Quantity {
    return Quantity.ofMilli(this.milliValue(), this.format);
  }

  /**
   * Returns the canonical form: a whole number with the largest suffix for which no fraction is needed. A BinarySI
   * quantity below 1024 or with a fraction is written as DecimalSI.
   */
  toString(): string {
    if (this.nanos === 0n) return '0';
    const fitsBinary = this.nanos % NANOS === 0n && abs(this.nanos) >= 1024n * NANOS;
    if (this.format === 'BinarySI' && fitsBinary) return formatBinary(this.nanos / NANOS);
    return formatDecimal(this.nanos, this.format === 'DecimalExponent');
  }

  toJSON(): string {
    return this.toString();
  }
}

/**
 * Parses a quantity. A number, which YAML and JSON may have instead of a string, is parsed as its decimal text. Unlike
 * upstream, which parses a suffix without digits as 0, this function rejects a suffix without digits.
 * @throws PodSpecError `InvalidQuantity` if the text does not have the form `<sign><digits><suffix>`
 */
export function parseQuantity(text: string | number): Quantity {
  const known = parsedQuantities.get(text);
  if (known !== undefined) return known;
  const parsed = parseNew(text);
  // Spaces around a quantity are ignored, so a valid text may be long.
  if (typeof text === 'string' && text.length > MAX_TEXT_LENGTH) return parsed;
  // The cache is cleared as a whole when it is full: a pod may have any number of different texts, and most nodes have
  // a few dozen.
  if (parsedQuantities.size >= MAX_KNOWN_QUANTITIES) parsedQuantities.clear();
  parsedQuantities.set(text, parsed);
  return parsed;
}

/**
 * Quantities by text. While a pod starts, each of its quantities is parsed about twenty times, and each parse creates a
 * kilobyte of garbage.
 */
const parsedQuantities = new Map<string | number, Quantity>();
const MAX_KNOWN_QUANTITIES = 256;

function parseNew(text: string | number): Quantity {
  const trimmed = String(text).trim();
  const parsed = trimmed.length <= MAX_TEXT_LENGTH ? parse(trimmed) : 'is too long';
  if (typeof parsed !== 'string') return parsed;
  const shown = trimmed.length <= MAX_TEXT_LENGTH ? trimmed : `${trimmed.slice(0, 32)}...`;
  throw new PodSpecError('InvalidQuantity', `quantity ${JSON.stringify(shown)} ${parsed}`);
}

/** Returns the quantity, or the problem as text. */
function parse(text: string): Quantity | string {
  const [, sign, whole = '', fraction = '', suffix = ''] = SHAPE.exec(text) ?? [];
  if (whole === '' && fraction === '') return 'must be a number with an optional suffix, such as 100m, 1.5Gi or 12e6';
  const scale = parseSuffix(suffix);
  if (scale === undefined) return `has an unknown suffix: ${JSON.stringify(suffix)}`;
  if (Math.abs(scale.exponent) > MAX_EXPONENT) return `has an exponent beyond ${MAX_EXPONENT}`;
  let numerator = BigInt(whole + fraction) * NANOS;
  let denominator = 10n ** BigInt(fraction.length);
  const factor = scale.base ** BigInt(Math.abs(scale.exponent));
  if (scale.exponent >= 0) numerator *= factor;
  else denominator *= factor;
  let nanos = divideAwayFromZero(numerator, denominator);
  let { format } = scale;
  if (format === 'BinarySI') {
    if (nanos > MAX_INT64 * NANOS) nanos = MAX_INT64 * NANOS;
    if (nanos > 0n && nanos < NANOS) format = 'DecimalSI';
  }
  return new Quantity(sign === '-' ? -nanos : nanos, format);
}

interface SuffixScale {
  readonly base: bigint;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

function parseSuffix(suffix: string): SuffixScale | undefined {
  const decimal = DECIMAL_SUFFIXES.indexOf(suffix);
  if (decimal >= 0) return { base: 10n, exponent: (decimal - 3) * 3, format: 'DecimalSI' };
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  if (binary > 0) return { base: 1024n, exponent: binary, format: 'BinarySI' };
  if (!/^[eE][+-]?\d+$/.test(suffix)) return undefined;
  return { base: 10n, exponent: Number(suffix.slice(1)), format: 'DecimalExponent' };
}

function formatBinary(value: bigint): string {
  let mantissa = value;
  let index = 0;
  while (index < BINARY_SUFFIXES.length - 1 && mantissa % 1024n === 0n) {
    mantissa /= 1024n;
    index++;
  }
  return `${mantissa}${BINARY_SUFFIXES[index]}`;
}

function formatDecimal(nanos: bigint, asExponent: boolean): string {
  let mantissa = nanos;
  let exponent = -9;
  while (mantissa % 1000n === 0n && (asExponent || exponent < 18)) {
    mantissa /= 1000n;
    exponent += 3;
  }
  if (asExponent) return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
  return `${mantissa}${DECIMAL_SUFFIXES[exponent / 3 + 3]}`;
}

function divideAwayFromZero(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  if (numerator % denominator === 0n) return quotient;
  return numerator < 0n ? quotient - 1n : quotient + 1n;
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}
