/** Entry of a tar archive. */
export interface TarEntry {
  /** Path without a leading slash. */
  readonly path: string;
  readonly mode: number;
  /** Content of a file. Without `data` and `link` the entry is a directory. */
  readonly data?: Uint8Array;
  /** Target of a symbolic link. */
  readonly link?: string;
}

const BLOCK = 512;

/**
 * Returns a ustar archive with owner 0 and one time for all entries, so that equal entries give equal bytes.
 * @param seconds time since 1970. Default: 0.
 */
export function tar(entries: readonly TarEntry[], seconds: number = 0): Buffer {
  const blocks: Uint8Array[] = [];
  for (const entry of entries) {
    blocks.push(header(entry, seconds));
    if (entry.data === undefined) continue;
    blocks.push(entry.data, new Uint8Array((BLOCK - (entry.data.length % BLOCK)) % BLOCK));
  }
  blocks.push(new Uint8Array(2 * BLOCK));
  return Buffer.concat(blocks);
}

function header({ path, mode, data, link }: TarEntry, seconds: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const text = (at: number, length: number, value: string): void => {
    if (Buffer.byteLength(value) > length) throw new RangeError(`write tar archive: ${value} is too long`);
    block.write(value, at);
  };
  const octal = (at: number, length: number, value: number): void => {
    text(at, length, `${value.toString(8).padStart(length - 1, '0')}\0`);
  };
  const type = data !== undefined ? '0' : link !== undefined ? '2' : '5';
  const [prefix, name] = split(type === '5' && !path.endsWith('/') ? `${path}/` : path);
  text(0, 100, name);
  octal(100, 8, mode);
  octal(108, 8, 0);
  octal(116, 8, 0);
  octal(124, 12, data?.length ?? 0);
  octal(136, 12, seconds);
  text(148, 8, '        ');
  text(156, 1, type);
  text(157, 100, link ?? '');
  text(257, 8, 'ustar\u000000');
  text(345, 155, prefix);
  const sum = block.reduce((total, byte) => total + byte, 0);
  text(148, 8, `${sum.toString(8).padStart(6, '0')}\0 `);
  return block;
}

/** Splits a long path into a prefix of up to 155 bytes and a name of up to 100 bytes. */
function split(path: string): readonly [string, string] {
  if (Buffer.byteLength(path) <= 100) return ['', path];
  const slash = path.lastIndexOf('/', 155);
  return slash > 0 ? [path.slice(0, slash), path.slice(slash + 1)] : ['', path];
}
