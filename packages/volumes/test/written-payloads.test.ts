import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Payload } from '../src/projected/payload.ts';
import { payloadDigest, WrittenPayloads } from '../src/projected/written-payloads.ts';

async function setUp() {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  await fs.mkdir('/volume');
  await fs.symlink('..2026_01_01_00_00_00.1', '/volume/..data');
  const written = new WrittenPayloads({ fs, clock });
  await written.remember('/volume', 'digest');
  return { clock, fs, written };
}

test('a written payload counts as present for ten minutes while its ..data link is unchanged', async () => {
  const { clock, written } = await setUp();
  expect(await written.holds('/volume', 'digest')).toBe(true);
  await clock.advance(599_999);
  expect(await written.holds('/volume', 'digest')).toBe(true);
  await clock.advance(1);
  expect(await written.holds('/volume', 'digest')).toBe(false);
});

test('a payload does not count as present if its files or ..data link differ, or if the volume was removed or released', async () => {
  const { fs, written } = await setUp();
  expect(await written.holds('/volume', 'other')).toBe(false);
  expect(await written.holds('/elsewhere', 'digest')).toBe(false);
  await fs.remove('/volume/..data');
  expect(await written.holds('/volume', 'digest')).toBe(false);
  await fs.symlink('..2026_01_01_00_00_00.2', '/volume/..data');
  expect(await written.holds('/volume', 'digest')).toBe(false);
  await fs.remove('/volume/..data');
  await fs.symlink('..2026_01_01_00_00_00.1', '/volume/..data');
  expect(await written.holds('/volume', 'digest')).toBe(true);
  written.forget('/volume');
  expect(await written.holds('/volume', 'digest')).toBe(false);
});

test('payloads with equal paths, content, owners and modes have equal digests, in any order of files', () => {
  const file = fc.record(
    { data: fc.uint8Array({ maxLength: 3 }), mode: fc.constantFrom(0o400, 0o644), ownerUid: fc.nat(2) },
    { requiredKeys: ['data', 'mode'] },
  );
  const payload = fc
    .array(fc.tuple(fc.constantFrom('a', 'b', 'ab', 'a/b'), file), { maxLength: 3 })
    .map((all) => new Map(all));
  const group = fc.option(fc.nat(1), { nil: undefined });
  const plain = (files: Payload): string =>
    JSON.stringify([...files].map(([path, { data, ...rest }]) => [path, [...data], rest.mode, rest.ownerUid]).sort());
  fc.assert(
    fc.property(payload, payload, group, group, (a, b, groupA, groupB) => {
      const same = plain(a) === plain(b) && groupA === groupB;
      const reversed = new Map([...a].reverse());
      expect(payloadDigest(reversed, [], groupA)).toBe(payloadDigest(a, [], groupA));
      expect(payloadDigest(a, [], groupA) === payloadDigest(b, [], groupB)).toBe(same);
      expect(payloadDigest(a, ['place'], groupA)).not.toBe(payloadDigest(a, [], groupA));
    }),
  );
});
