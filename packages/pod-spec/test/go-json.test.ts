import { expect, test } from 'vitest';
import { goJson } from '../src/index.ts';

test.each([
  ['a text', 'a "b" \\', String.raw`"a \"b\" \\"`],
  ['HTML characters', '<a>&</a>', String.raw`"\u003ca\u003e\u0026\u003c/a\u003e"`],
  ['line separators', 'a\u2028b\u2029c', String.raw`"a\u2028b\u2029c"`],
  ['keys and values of an object', { '<': ['>'] }, String.raw`{"\u003c":["\u003e"]}`],
])("goJson encodes %s as Go's JSON encoder does", (_what, value, json) => {
  expect(goJson(value)).toBe(json);
});
