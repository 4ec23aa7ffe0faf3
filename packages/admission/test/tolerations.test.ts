import { describe, expect, test } from 'vitest';
import { toleratesTaint } from '../src/tolerations.ts';

const taint = { key: 'level', value: '5', effect: 'NoExecute' };

describe('a toleration and a taint level=5:NoExecute', () => {
  test.each([
    [{ key: 'level', operator: 'Equal', value: '5', effect: 'NoExecute' }, true],
    [{ key: 'level', value: '5' }, true],
    [{ key: 'level', operator: '', value: '5' }, true],
    [{ key: 'level', value: '6' }, false],
    [{ key: 'other', value: '5' }, false],
    [{ key: 'level', operator: 'Exists', effect: 'NoSchedule' }, false],
    [{ key: 'level', operator: 'Exists' }, true],
    [{ operator: 'Exists' }, true],
    [{ operator: 'Like' }, false],
    // It says what the taint's value must be: less, or greater, than this.
    [{ key: 'level', operator: 'Gt', value: '4' }, true],
    [{ key: 'level', operator: 'Gt', value: '5' }, false],
    [{ key: 'level', operator: 'Lt', value: '6' }, true],
    [{ key: 'level', operator: 'Lt', value: '5' }, false],
    // No number is written like this.
    [{ key: 'level', operator: 'Lt', value: '06' }, false],
    [{ key: 'level', operator: 'Lt', value: '+6' }, false],
    [{ key: 'level', operator: 'Gt', value: '-6' }, true],
    [{ key: 'level', operator: 'Lt', value: '' }, false],
    [{ key: 'level', operator: 'Gt', value: 'low' }, false],
    [{ key: 'level', operator: 'Lt', value: '9223372036854775808' }, false],
    [{ key: 'level', operator: 'Lt', value: '9223372036854775807' }, true],
  ])('%j: %s', (toleration, tolerates) => {
    expect(toleratesTaint(toleration, taint, true)).toBe(tolerates);
  });

  test('Lt and Gt tolerate nothing while their gate is off', () => {
    expect(toleratesTaint({ key: 'level', operator: 'Gt', value: '4' }, taint, false)).toBe(false);
  });

  test('a taint without a value has an empty one', () => {
    expect(toleratesTaint({ key: 'level' }, { key: 'level', effect: 'NoExecute' }, false)).toBe(true);
  });
});
