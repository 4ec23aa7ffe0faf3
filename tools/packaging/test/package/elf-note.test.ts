import { expect, test } from 'vitest';
import { replaceOnce, withNote } from '../../src/package/elf-note.ts';

const [PT_LOAD, PT_NOTE, PT_PHDR, PT_INTERP] = [1, 4, 6, 3];
const BASE = 0x400000;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly size: number;
  readonly memory?: number;
}

/** Returns a program with fixed addresses: address and offset of each segment differ by BASE. */
function program(segments: readonly Segment[], kind = 2): Buffer {
  const image = Buffer.alloc(0x3000, 0xaa);
  Buffer.from('\x7fELF\x02\x01\x01', 'latin1').copy(image);
  image.writeUInt16LE(kind, 16);
  image.writeBigUInt64LE(64n, 32);
  image.writeBigUInt64LE(0x2800n, 40);
  image.writeUInt16LE(segments.length, 56);
  image.writeUInt16LE(9, 60);
  segments.forEach(({ type, offset, size, memory = size }, index) => {
    const at = 64 + 56 * index;
    image.writeUInt32LE(type, at);
    image.writeUInt32LE(5, at + 4);
    [offset, offset + BASE, offset + BASE, size, memory, 8].forEach((value, field) => {
      image.writeBigUInt64LE(BigInt(value), at + 8 + 8 * field);
    });
  });
  return image;
}

function segmentsOf(image: Buffer): readonly Segment[] {
  return Array.from({ length: image.readUInt16LE(56) }, (_, index) => {
    const at = 64 + 56 * index;
    const field = (n: number): number => Number(image.readBigUInt64LE(at + 8 + 8 * n));
    expect(field(1)).toBe(field(0) + BASE);
    return { type: image.readUInt32LE(at), offset: field(0), size: field(3), memory: field(4) };
  });
}

const SEGMENTS: readonly Segment[] = [
  { type: PT_PHDR, offset: 64, size: 5 * 56 },
  { type: PT_INTERP, offset: 0x180, size: 16 },
  { type: PT_LOAD, offset: 0, size: 0x1000 },
  { type: PT_LOAD, offset: 0x1000, size: 0x1000, memory: 0x21000 },
  { type: PT_NOTE, offset: 0x1a0, size: 24 },
];

test('withNote adds a note in a loaded segment behind the memory of all others, and keeps the old notes', () => {
  const image = program(SEGMENTS);
  image.write('the old notes', 0x1a0);
  const made = withNote(image, { name: 'SOME_NOTE', content: Buffer.from('content') });
  const segments = segmentsOf(made);
  expect(segments.map(({ type }) => type)).toEqual([PT_INTERP, PT_LOAD, PT_LOAD, PT_LOAD, PT_NOTE]);
  const note = segments[4];
  // The new segment is behind the end of the memory, 0x22000, at the next page of 64 KiB.
  expect(segments[3]).toEqual({ type: PT_LOAD, offset: 0x30000, size: note?.size, memory: note?.memory });
  expect(note?.offset).toBe(0x30000);
  const notes = made.subarray(0x30000);
  expect(notes.length).toBe(note?.size);
  expect(notes.toString('latin1', 0, 13)).toBe('the old notes');
  expect([notes.readUInt32LE(24), notes.readUInt32LE(28)]).toEqual([10, 7]);
  expect(notes.toString('latin1', 36, 46)).toBe('SOME_NOTE\0');
  expect(notes.toString('latin1', 48, 55)).toBe('content');
});

test('withNote keeps the loaded bytes and drops the sections, which are not loaded', () => {
  const made = withNote(program(SEGMENTS), { name: 'N', content: Buffer.alloc(3) });
  expect(made.subarray(0x1000, 0x2000)).toEqual(program(SEGMENTS).subarray(0x1000, 0x2000));
  expect(made.readBigUInt64LE(40)).toBe(0n);
  expect(made.readUInt16LE(60)).toBe(0);
  expect(made.subarray(0x2000, 0x30000).every((byte) => byte === 0)).toBe(true);
});

test('withNote rejects programs whose header table cannot be moved', () => {
  const note = { name: 'N', content: Buffer.alloc(1) };
  expect(() => withNote(program(SEGMENTS, 3), note)).toThrow('must be a 64-bit ELF program with fixed addresses');
  expect(() => withNote(Buffer.alloc(100), note)).toThrow('must be a 64-bit ELF program');
  for (const missing of [PT_PHDR, PT_LOAD, PT_NOTE]) {
    const segments = SEGMENTS.filter(({ type }) => type !== missing);
    expect(() => withNote(program(segments), note)).toThrow('must have the program headers');
  }
});

test('replaceOnce replaces a text that occurs exactly once, and fails otherwise', () => {
  const image = Buffer.from('a fuse:0 b');
  replaceOnce(image, 'fuse:0', 'fuse:1');
  expect(image.toString()).toBe('a fuse:1 b');
  expect(() => replaceOnce(image, 'fuse:0', 'fuse:1')).toThrow('must be there exactly once');
  expect(() => replaceOnce(Buffer.from('xx'), 'x', 'y')).toThrow('must be there exactly once');
});
