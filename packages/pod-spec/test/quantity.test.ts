import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuantity, Quantity } from '../src/index.ts';

const MAX_INT64 = 2n ** 63n - 1n;

describe('parseQuantity', () => {
  it.each<[text: string | number, canonical: string, nanos: bigint]>([
    ['0', '0', 0n],
    ['1', '1', 10n ** 9n],
    [1, '1', 10n ** 9n],
    [0.5, '500m', 5n * 10n ** 8n],
    [1e-7, '100e-9', 100n],
    ['+1', '1', 10n ** 9n],
    ['-1', '-1', -(10n ** 9n)],
    ['007', '7', 7n * 10n ** 9n],
    [' 1 ', '1', 10n ** 9n],
    ['.5', '500m', 5n * 10n ** 8n],
    ['1.', '1', 10n ** 9n],
    ['1.G', '1G', 10n ** 18n],
    ['1n', '1n', 1n],
    ['1u', '1u', 1_000n],
    ['100m', '100m', 10n ** 8n],
    ['1500m', '1500m', 1_500_000_000n],
    ['2000m', '2', 2n * 10n ** 9n],
    ['1k', '1k', 10n ** 12n],
    ['1M', '1M', 10n ** 15n],
    ['1G', '1G', 10n ** 18n],
    ['1T', '1T', 10n ** 21n],
    ['1P', '1P', 10n ** 24n],
    ['1E', '1E', 10n ** 27n],
    ['1000E', '1000E', 10n ** 30n],
    ['1Ki', '1Ki', 1024n * 10n ** 9n],
    ['1Mi', '1Mi', 1024n ** 2n * 10n ** 9n],
    ['1Gi', '1Gi', 1024n ** 3n * 10n ** 9n],
    ['1Ti', '1Ti', 1024n ** 4n * 10n ** 9n],
    ['1Pi', '1Pi', 1024n ** 5n * 10n ** 9n],
    ['1Ei', '1Ei', 1024n ** 6n * 10n ** 9n],
    ['1.5Gi', '1536Mi', 1536n * 1024n ** 2n * 10n ** 9n],
    ['1024Mi', '1Gi', 1024n ** 3n * 10n ** 9n],
    ['0.5Ki', '512', 512n * 10n ** 9n],
    ['0.0001Ki', '102400u', 102_400_000n],
    ['12e6', '12e6', 12n * 10n ** 15n],
    ['12E6', '12e6', 12n * 10n ** 15n],
    ['1e+3', '1e3', 10n ** 12n],
    ['1.5e3', '1500', 1500n * 10n ** 9n],
    ['1e-3', '1e-3', 10n ** 6n],
    // Values below one nano are rounded away from zero, so a non-zero value never becomes zero.
    ['0.1n', '1n', 1n],
    ['-0.1n', '-1n', -1n],
    ['1e-500', '1e-9', 1n],
    // The value of a binary quantity is capped. A decimal quantity is not capped.
    ['16Ei', `${MAX_INT64}`, MAX_INT64 * 10n ** 9n],
    ['-16Ei', `-${MAX_INT64}`, -MAX_INT64 * 10n ** 9n],
    ['10000000000000000000', '10E', 10n ** 28n],
  ])('parseQuantity reads %s as %s', (text, canonical, nanos) => {
    const quantity = parseQuantity(text);
    expect([quantity.toString(), quantity.nanos]).toEqual([canonical, nanos]);
  });

  it.each([
    '',
    ' ',
    '.',
    '-',
    'm',
    'abc',
    '1.2.3',
    '1 Gi',
    '1gi',
    '1K',
    '1mi',
    '1e',
    '1eE',
    '1Gim',
    '0x10',
    'NaN',
    'Infinity',
    '--1',
    '1e1e1',
    '1e513',
    '1e-513',
    '1e999999999999',
    '9'.repeat(257),
    '١',
  ])('parseQuantity refuses %j', (text) => {
    expect(() => parseQuantity(text)).toThrow(
      expect.objectContaining({
        name: 'PodSpecError',
        code: 'InvalidQuantity',
        message: expect.stringContaining('quantity "'),
      }),
    );
  });
});

describe('Quantity', () => {
  it.each<[text: string, value: bigint, milli: bigint]>([
    ['0', 0n, 0n],
    ['1', 1n, 1000n],
    ['1m', 1n, 1n],
    ['1500m', 2n, 1500n],
    ['1n', 1n, 1n],
    ['999999u', 1n, 1000n],
    ['0.0005', 1n, 1n],
    ['1Gi', 1073741824n, 1073741824000n],
    ['-1m', -1n, -1n],
  ])('the quantity %s is rounded up to the value %s and the milliValue %s', (text, value, milli) => {
    const quantity = parseQuantity(text);
    expect([quantity.value(), quantity.milliValue()]).toEqual([value, milli]);
  });

  it('a sum of quantities has the format of the first quantity, or of the second if the first is zero', () => {
    expect(`${Quantity.zero.add(parseQuantity('1Gi'))}`).toBe('1Gi');
    expect(`${parseQuantity('1Gi').add(parseQuantity('1k'))}`).toBe('1073742824');
    expect(`${parseQuantity('1G').add(parseQuantity('1Ki'))}`).toBe('1000001024');
    expect(`${parseQuantity('2').sub(parseQuantity('500m'))}`).toBe('1500m');
    expect(`${Quantity.of(1536, 'BinarySI')}`).toBe('1536');
    expect(`${Quantity.of(2048, 'BinarySI')}`).toBe('2Ki');
    expect(JSON.stringify({ cpu: Quantity.ofMilli(250) })).toBe('{"cpu":"250m"}');
  });

  const suffix = fc.constantFrom(
    '',
    'n',
    'u',
    'm',
    'k',
    'M',
    'G',
    'T',
    'P',
    'E',
    'Ki',
    'Mi',
    'Gi',
    'Ti',
    'e3',
    'E-2',
    'e12',
  );
  const text = fc
    .tuple(fc.constantFrom('', '-', '+'), fc.bigInt(0n, 10n ** 12n), fc.option(fc.stringMatching(/^\d{0,12}$/)), suffix)
    .map(([sign, whole, fraction, end]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${end}`);

  it('a canonical quantity is parsed to the same value and written in the same form again', () => {
    fc.assert(
      fc.property(text, (written) => {
        const once = parseQuantity(written);
        const twice = parseQuantity(once.toString());
        expect(twice.nanos).toBe(once.nanos);
        expect(twice.toString()).toBe(once.toString());
      }),
    );
  });

  it('quantities are compared and added exactly', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const [x, y] = [parseQuantity(a), parseQuantity(b)];
        expect(x.add(y).nanos).toBe(x.nanos + y.nanos);
        expect(x.add(y).sub(y).equals(x)).toBe(true);
        expect(x.compare(y)).toBe(-y.compare(x) + 0);
        expect(x.compare(y) < 0).toBe(x.nanos < y.nanos);
      }),
    );
  });

  it('the value of a quantity is never rounded towards zero', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), (nanos) => {
        const quantity = new Quantity(nanos, 'DecimalSI');
        const size = (n: bigint): bigint => (n < 0n ? -n : n);
        expect(size(quantity.value()) * 10n ** 9n).toBeGreaterThanOrEqual(size(nanos));
        expect(size(quantity.milliValue()) * 10n ** 6n).toBeGreaterThanOrEqual(size(nanos));
        expect((size(quantity.value()) - 1n) * 10n ** 9n < size(nanos) || nanos === 0n).toBe(true);
      }),
    );
  });

  it('quantities are parsed correctly when more texts were parsed than are cached', () => {
    for (let round = 0; round < 2; round++) {
      for (let milli = 1; milli <= 1_000; milli++) expect(parseQuantity(`${milli}m`).milliValue()).toBe(BigInt(milli));
    }
  });

  it('a text with many spaces is parsed, but not cached', () => {
    const text = `${' '.repeat(300)}1Gi`;
    expect(parseQuantity(text).toString()).toBe('1Gi');
    expect(parseQuantity(text)).not.toBe(parseQuantity(text));
  });

  it('parsing the same text again returns the cached quantity', () => {
    expect(parseQuantity('1.5Gi')).toBe(parseQuantity('1.5Gi'));
    expect(parseQuantity(2)).toBe(parseQuantity(2));
    expect(parseQuantity(2).toString()).toBe(parseQuantity('2').toString());
  });
});
