import fc from 'fast-check';
import { expect, test } from 'vitest';
import { containerHash } from '../src/reconcile/container-hash.ts';

test('the container hash equals upstream’s, so that running containers survive a change of the kubelet', () => {
  expect(containerHash({ name: 'test_container', image: 'foo/image:v1' })).toBe('8e45cbd0');
});

test('the container hash depends exactly on name and image', () => {
  const hashes = [
    containerHash({ name: 'a', image: 'b' }),
    containerHash({ name: 'b', image: 'a' }),
    containerHash({ name: 'a', image: 'c' }),
    containerHash({ name: 'a' }),
    containerHash({ name: 'a', image: '<&>' }),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
  for (const hash of hashes) expect(hash).toMatch(/^[1-9a-f][0-9a-f]{0,7}$/);
});

test("the container hash is FNV-1a of the container's JSON with decimal numbers, for any text", () => {
  const text = fc.string({ unit: 'grapheme' }).filter((each) => !/[<>&\u2028\u2029]/.test(each));
  fc.assert(
    fc.property(text, text, (image, name) => {
      const dump = `([]uint8)[${[...Buffer.from(JSON.stringify({ image, name }))].join(' ')}]`;
      let hash = 0x811c9dc5n;
      for (const byte of Buffer.from(dump)) hash = ((hash ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn;
      expect(containerHash({ name, image })).toBe(hash.toString(16));
    }),
  );
});
