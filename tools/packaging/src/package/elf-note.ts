/**
 * Adds a resource to a program in ELF format, as a note that the program finds in its own memory: the format that
 * Node.js reads (`postject_find_resource` of `deps/postject/postject-api.h`). The program package `postject` does the
 * same with a library in WebAssembly; its last release is an alpha of 2023.
 *
 * A new segment after all others holds the program's own notes and the new one. Its headers need no space: the header
 * of the notes is moved to the new segment, and the entry that describes the header table itself (`PT_PHDR`) is given up,
 * which programs with fixed addresses do not need. Sections are given up, too: they hold symbols for debuggers and are
 * not loaded.
 */
export function withNote(program: Uint8Array, note: Note): Buffer {
  const image = Buffer.from(program.buffer, program.byteOffset, program.byteLength);
  const table = headerTable(image);
  const headers = table.map(readHeader);
  const loads = headers.filter(({ type }) => type === PT_LOAD);
  const old = headers.find(({ type }) => type === PT_NOTE);
  const first = loads[0];
  if (first === undefined || old === undefined || !headers.some(({ type }) => type === PT_PHDR)) {
    throw new Error('add note to program: must have the program headers PT_PHDR, PT_LOAD and PT_NOTE');
  }
  // Linux before 5.18 finds the header table only if all segments have the same distance from address to offset as the
  // first one. For that, the file is filled up to the end of the program's memory.
  const distance = first.address - first.offset;
  const fileEnd = Math.max(...loads.map(({ offset, fileSize }) => offset + fileSize));
  const memoryEnd = Math.max(...loads.map(({ address, memorySize }) => address + memorySize));
  const offset = alignedUp(Math.max(fileEnd, memoryEnd - distance), PAGE);
  const notes = Buffer.concat([image.subarray(old.offset, old.offset + old.fileSize), encodeNote(note)]);
  const place = { offset, address: offset + distance, size: notes.length };
  const last = headers.findLastIndex(({ type }) => type === PT_LOAD);
  const written = table.flatMap((entry, index) => {
    const type = headers[index]?.type;
    if (type === PT_PHDR) return [];
    const kept = type === PT_NOTE ? encodeHeader(PT_NOTE, place, NOTE_ALIGNMENT) : entry;
    return index === last ? [kept, encodeHeader(PT_LOAD, place, PAGE)] : [kept];
  });
  const head = Buffer.alloc(offset);
  image.copy(head, 0, 0, fileEnd);
  Buffer.concat(written).copy(head, Number(image.readBigUInt64LE(HEADER_TABLE_AT)));
  head.writeBigUInt64LE(0n, SECTION_TABLE_AT);
  head.fill(0, SECTION_COUNT_AT - 2, SECTION_COUNT_AT + 4);
  return Buffer.concat([head, notes]);
}

/** A note: its name and its content. */
export interface Note {
  readonly name: string;
  readonly content: Uint8Array;
}

/**
 * Replaces a text in a program by another of the same length.
 * @throws Error if the program does not contain the text exactly once
 */
export function replaceOnce(program: Buffer, text: string, by: string): void {
  const at = program.indexOf(text);
  if (at < 0 || program.indexOf(text, at + 1) >= 0 || text.length !== by.length) {
    throw new Error(`replace ${text} in program: must be there exactly once`);
  }
  program.write(by, at, 'latin1');
}

// Constants of `elf.h`.
const PT_LOAD = 1;
const PT_NOTE = 4;
const PT_PHDR = 6;
const PF_R = 4;
const HEADER_SIZE = 56;
// Offsets in the file's header: `e_phoff`, `e_shoff`, `e_phnum`, `e_shnum`.
const HEADER_TABLE_AT = 32;
const SECTION_TABLE_AT = 40;
const HEADER_COUNT_AT = 56;
const SECTION_COUNT_AT = 60;
/** First bytes of an ELF file with 64 bits, little endian, of the current version. */
const MAGIC = '\x7fELF\x02\x01\x01';
const ET_EXEC = 2;
/** Largest page size of the supported machines. */
const PAGE = 0x10000;
const NOTE_ALIGNMENT = 4;

interface Header {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly fileSize: number;
  readonly memorySize: number;
}

function headerTable(image: Buffer): readonly Buffer[] {
  if (image.toString('latin1', 0, MAGIC.length) !== MAGIC || image.readUInt16LE(16) !== ET_EXEC) {
    throw new Error('add note to program: must be a 64-bit ELF program with fixed addresses (ET_EXEC)');
  }
  const start = Number(image.readBigUInt64LE(HEADER_TABLE_AT));
  const count = image.readUInt16LE(HEADER_COUNT_AT);
  return Array.from({ length: count }, (_, index) =>
    image.subarray(start + index * HEADER_SIZE, start + (index + 1) * HEADER_SIZE),
  );
}

function readHeader(entry: Buffer): Header {
  const number = (at: number): number => Number(entry.readBigUInt64LE(at));
  return {
    type: entry.readUInt32LE(0),
    offset: number(8),
    address: number(16),
    fileSize: number(32),
    memorySize: number(40),
  };
}

function encodeHeader(
  type: number,
  { offset, address, size }: { readonly offset: number; readonly address: number; readonly size: number },
  alignment: number,
): Buffer {
  const entry = Buffer.alloc(HEADER_SIZE);
  entry.writeUInt32LE(type, 0);
  entry.writeUInt32LE(PF_R, 4);
  [offset, address, address, size, size, alignment].forEach((value, index) => {
    entry.writeBigUInt64LE(BigInt(value), 8 + 8 * index);
  });
  return entry;
}

function encodeNote({ name, content }: Note): Buffer {
  const start = Buffer.alloc(12);
  start.writeUInt32LE(name.length + 1, 0);
  start.writeUInt32LE(content.length, 4);
  return Buffer.concat([start, padded(Buffer.from(`${name}\0`, 'latin1')), padded(content)]);
}

function padded(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(alignedUp(bytes.length, NOTE_ALIGNMENT) - bytes.length)]);
}

function alignedUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}
