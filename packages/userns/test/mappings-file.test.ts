import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatMappings, parseMappings, UserNamespaceError } from '../src/index.ts';

const mapping = { hostId: 65_536, containerId: 0, length: 65_536 };
const file = (uidMappings: unknown, gidMappings: unknown = uidMappings): string =>
  JSON.stringify({ uidMappings, gidMappings });

test("the mappings file is written and read in upstream's format", () => {
  const text = formatMappings({ firstId: 131_072, length: 65_536 });
  expect(text).toBe(
    '{"uidMappings":[{"hostId":131072,"containerId":0,"length":65536}],"gidMappings":[{"hostId":131072,"containerId":0,"length":65536}]}',
  );
  expect(parseMappings(text)).toEqual({ firstId: 131_072, length: 65_536 });
});

test('a missing number in the mappings file is read as 0, as in Go', () => {
  expect(parseMappings(file([{}]))).toEqual({ firstId: 0, length: 0 });
});

test.each([
  ['{', 'invalid user namespace mappings file'],
  ['[]', 'invalid user namespace mappings file'],
  [file([{ ...mapping, hostId: -1 }]), 'invalid user namespace mappings file'],
  [file([{ ...mapping, length: 2 ** 32 }]), 'invalid user namespace mappings file'],
  [file([{ ...mapping, length: 1.5 }]), 'invalid user namespace mappings file'],
  [file([null]), 'invalid user namespace mappings file'],
  [file([mapping], null), 'invalid user namespace mappings file'],
  [file([]), 'no more than one mapping allowed'],
  [file([mapping, mapping]), 'no more than one mapping allowed'],
  [file([mapping], []), 'GID and UID mapping should be identical'],
  [file([mapping], [{ ...mapping, hostId: 0 }]), 'GID and UID mapping should be identical'],
  [file([{ ...mapping, containerId: 1 }]), 'UID 0 must be mapped'],
])('parseMappings rejects the mappings file %s with: %s', (text, message) => {
  expect(() => parseMappings(text)).toThrow(message);
});

test('W3: parseMappings either parses any text or throws a UserNamespaceError', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      try {
        parseMappings(text);
      } catch (err) {
        expect(UserNamespaceError.is(err)).toBe(true);
      }
    }),
  );
});
