const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
export type ResourceList = Readonly<Record<string, string>>;
export function milliValue(text: string): bigint {
  const match = /^([+-]?)(\d*)\.?(\d*)(?:([eE][+-]?\d+)|([A-Za-z]*))$/.exec(text);
  if (!match) throw new RangeError(`invalid quantity ${JSON.stringify(text)}`);
  const [, sign, whole = '', fraction = '', exponent, suffix = ''] = match;
  const binary = BINARY.indexOf(suffix);
  const ten = exponent ? Number(exponent.slice(1)) : binary >= 0 ? 0 : DECIMAL.get(suffix);
  if (ten === undefined || whole + fraction === '') throw new RangeError(`invalid quantity ${JSON.stringify(text)}`);
  let numerator = BigInt(whole + fraction) * (binary >= 0 ? 1024n ** BigInt(binary + 1) : 1n) * 1000n;
  let denominator = 10n ** BigInt(fraction.length);
  if (ten >= 0) numerator *= 10n ** BigInt(ten);
  else denominator *= 10n ** BigInt(-ten);
  const up = (numerator + denominator - 1n) / denominator;
  return sign === '-' ? -up : up;
}
export function value(text: string): bigint {
  const milli = milliValue(text);
  return milli < 0n ? milli / 1000n : (milli + 999n) / 1000n;
}
