const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** Parses a size such as `100Gi` into bytes. @throws Error that names the text */
export function parseSize(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})(|[kMGT]|[KMGT]i)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (digits === '' || factor === undefined) throw new Error(`${JSON.stringify(text)} is not a size such as 100Gi`);
  return Number(digits) * factor;
}
