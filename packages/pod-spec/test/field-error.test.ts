import { expect, test } from 'vitest';
import {
  duplicate,
  type FieldError,
  fieldError,
  forbidden,
  invalid,
  notFound,
  required,
  unsupported,
} from '../src/field-error.ts';
import { formatFieldError } from '../src/index.ts';

test.each<[error: FieldError, words: string]>([
  [required('a'), 'a: Required value'],
  [required('a', 'why'), 'a: Required value: why'],
  [required(''), 'Required value'],
  [invalid('a', 'x', 'why'), 'a: Invalid value: "x": why'],
  [invalid('a', undefined, 'why'), 'a: Invalid value: null: why'],
  [invalid('a', false, 'why'), 'a: Invalid value: false: why'],
  [duplicate('a', 1), 'a: Duplicate value: 1'],
  [forbidden('a', 'why'), 'a: Forbidden: why'],
  [notFound('a', ''), 'a: Not found: ""'],
  [unsupported('a', 'x', ['y', 'z']), 'a: Unsupported value: "x": supported values: "y", "z"'],
  [unsupported('a', undefined, ['y']), 'a: Unsupported value: null: supported values: "y"'],
  [fieldError('Too long', 'a', 'why'), 'a: Too long: why'],
  // Values that JSON cannot express.
  [invalid('a', () => 0, 'why'), 'a: Invalid value: () => 0: why'],
  [invalid('a', 'x'.repeat(198), ''), `a: Invalid value: "${'x'.repeat(198)}"`],
  [invalid('a', 'x'.repeat(199), ''), `a: Invalid value: "${'x'.repeat(199)}...`],
])('the field error %j has the text %s', (error, words) => {
  expect(formatFieldError(error)).toBe(words);
});

test('a field error has the rejected value only if the text of the error shows the value', () => {
  expect(invalid('a', 0, 'why')).toEqual({
    ...{ type: 'Invalid value', field: 'a', badValue: 0, detail: 'why', message: 'Invalid value: 0: why' },
  });
  expect(required('a')).toEqual({ type: 'Required value', field: 'a', detail: '', message: 'Required value' });
  expect(required('a')).not.toHaveProperty('badValue');
});
