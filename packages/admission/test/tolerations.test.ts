import { describe, expect, test } from 'vitest';
import { toleratesTaint } from '../src/tolerations.ts';

const taint = { key: 'level', value: '5', effect: 'NoExecute' };

describe('toleratesTaint with the taint level=5:NoExecute', () => {
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
    // Gt requires a taint value greater than the value of the toleration, and Lt requires a smaller taint value.
    [{ key: 'level', operator: 'Gt', value: '4' }, true],
    [{ key: 'level', operator: 'Gt', value: '5' }, false],
    [{ key: 'level', operator: 'Lt', value: '6' }, true],
    [{ key: 'level', operator: 'Lt', value: '5' }, false],
    // These values are not canonical decimal integers.
    [{ key: 'level', operator: 'Lt', value: '06' }, false],
    [{ key: 'level', operator: 'Lt', value: '+6' }, false],
    [{ key: 'level', operator: 'Gt', value: '-6' }, true],
    [{ key: 'level', operator: 'Lt', value: '' }, false],
    [{ key: 'level', operator: 'Gt', value: 'low' }, false],
    [{ key: 'level', operator: 'Lt', value: '9223372036854775808' }, false],
    [{ key: 'level', operator: 'Lt', value: '9223372036854775807' }, true],
  ])('toleratesTaint for the toleration %j and the taint level=5:NoExecute is %s', (toleration, tolerates) => {
    expect(toleratesTaint(toleration, taint, true)).toBe(tolerates);
  });

  test('operators Lt and Gt tolerate no taint if their feature gate is off', () => {
    expect(toleratesTaint({ key: 'level', operator: 'Gt', value: '4' }, taint, false)).toBe(false);
  });

  test('a toleration without a value tolerates a taint without a value', () => {
    expect(toleratesTaint({ key: 'level' }, { key: 'level', effect: 'NoExecute' }, false)).toBe(true);
  });
});
