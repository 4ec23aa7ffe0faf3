import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { apiTypes, podTable, readSchema } from '../scripts/emit.ts';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

test('src/generated is what scripts/generate.ts generates from schema/api.txt', () => {
  const schema = readSchema(read('../schema/api.txt'));
  expect(apiTypes(schema)).toBe(read('../src/generated/api-types.ts'));
  expect(podTable(schema)).toBe(read('../src/generated/pod-types.ts'));
});
