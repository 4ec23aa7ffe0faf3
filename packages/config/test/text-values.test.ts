import { describe, expect, it } from 'vitest';
import { parseBoolean, parseCommaList, parseDecimal, parseInteger, splitPair } from '../src/flags/text-values.ts';

describe('parseBoolean', () => {
  it.each(['1', 't', 'T', 'true', 'TRUE', 'True'])('parseBoolean reads %s as true', (text) => {
    expect(parseBoolean(text)).toEqual({ value: true });
  });

  it.each(['0', 'f', 'F', 'false', 'FALSE', 'False'])('parseBoolean reads %s as false', (text) => {
    expect(parseBoolean(text)).toEqual({ value: false });
  });

  it.each(['', 'yes', 'tRUE', ' true', '2'])('parseBoolean refuses %j', (text) => {
    expect(parseBoolean(text)).toEqual({ problem: 'must be true or false' });
  });
});

describe('parseInteger', () => {
  it.each([
    ['0', 0],
    ['-0', 0],
    ['+5', 5],
    ['-5', -5],
    ['007', 7],
    ['-010', -8],
    ['0O17', 15],
    ['0X1f', 31],
    ['-0x10', -16],
    ['0B11', 3],
    ['0x_10', 16],
    ['1_000_000', 1_000_000],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('parseInteger reads %s as %d', (text, value) => {
    expect(parseInteger(text)).toEqual({ value });
  });

  it.each(['', '-', '5-', '08', '0x', '0b2', '1.0', '1e3', '_1', '1_', '1__0', 'a_b', '9007199254740992'])(
    'parseInteger refuses %j',
    (text) => {
      expect(parseInteger(text)).toEqual({ problem: 'must be a whole number' });
    },
  );
});

describe('parseDecimal', () => {
  it.each([
    ['0', 0],
    ['010', 10],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('parseDecimal reads %s as %d', (text, value) => {
    expect(parseDecimal(text)).toEqual({ value });
  });

  it.each(['', '-1', '+1', '0x1', '1_0', '1.0', ' 1', '9007199254740992'])('parseDecimal refuses %j', (text) => {
    expect(parseDecimal(text)).toEqual({ problem: 'must be a whole number' });
  });
});

describe('parseCommaList', () => {
  it.each([
    ['', []],
    [',', ['', '']],
    ['a,', ['a', '']],
    ['"",a', ['', 'a']],
    ['"a""b",c', ['a"b', 'c']],
  ])('parseCommaList reads %j as %j', (text, value) => {
    expect(parseCommaList(text)).toEqual({ value });
  });
});

describe('splitPair', () => {
  it.each([
    ['a=b', ['a', 'b']],
    [' a = b = c ', ['a', 'b = c']],
    ['=b', ['', 'b']],
    ['a=', ['a', '']],
    ['a', undefined],
  ])('splitPair splits %j into %j', (text, pair) => {
    expect(splitPair(text, '=')).toEqual(pair);
  });
});
