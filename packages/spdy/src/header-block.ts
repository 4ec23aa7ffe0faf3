import { constants, createInflate, type Inflate } from 'node:zlib';
import { headerDictionary } from './dictionary.ts';
import { SpdyError } from './errors.ts';

/** Headers of a stream. Names are in lower case. */
export type SpdyHeaders = Readonly<Record<string, string>>;

/** Limit of an unpacked header block. */
const MAX_BLOCK_BYTES = 64 * 1024;
/** Limit of one stored block in the deflate format. */
const MAX_STORED_BYTES = 65_535;
/** Header of a zlib stream: deflate, window of 32 KiB, no dictionary. Stored blocks need no dictionary. */
const ZLIB_HEAD = Buffer.of(0x78, 0x01);
/**
 * An empty stored block, which ends a flush. Go's zlib reader returns the data before it only after it has read this
 * block.
 */
const FLUSHED = Buffer.of(0, 0, 0, 0xff, 0xff);

/**
 * Packs header blocks of one direction of a connection. The blocks form one zlib stream, and are stored without
 * compression.
 */
export class HeaderPacker {
  #begun = false;

  pack(headers: SpdyHeaders): Buffer {
    const block = encode(headers);
    const pieces: Buffer[] = this.#begun ? [] : [ZLIB_HEAD];
    this.#begun = true;
    for (let at = 0; at < block.length; at += MAX_STORED_BYTES) {
      const stored = block.subarray(at, at + MAX_STORED_BYTES);
      const head = Buffer.alloc(5);
      head.writeUInt16LE(stored.length, 1);
      head.writeUInt16LE(~stored.length & 0xffff, 3);
      pieces.push(head, stored);
    }
    return Buffer.concat([...pieces, FLUSHED]);
  }
}

/**
 * Unpacks header blocks of one direction of a connection, one at a time and in order: the blocks form one zlib stream.
 * The unpacked size is limited while a block is unpacked. After a failure no more blocks can be unpacked.
 */
export class HeaderUnpacker {
  readonly #inflate: Inflate = createInflate({ dictionary: headerDictionary, flush: constants.Z_SYNC_FLUSH });
  #pieces: Buffer[] = [];
  #size = 0;
  #fail: (error: Error) => void = () => {};

  constructor() {
    this.#inflate.on('error', (error) => {
      this.#fail(new SpdyError('Protocol', `unpack headers: ${error.message}`, error));
    });
    // Output that exceeds the inflate buffer must be read while the block is still being unpacked.
    this.#inflate.on('readable', () => this.#take());
  }

  /**
   * Unpacks the next header block. @throws SpdyError `Protocol` if the block does not contain headers; `TooLarge` if
   * the block unpacks to more than 64 KiB
   */
  async unpack(block: Uint8Array): Promise<SpdyHeaders> {
    this.#pieces = [];
    this.#size = 0;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#fail = reject;
        this.#inflate.write(block, (error) => {
          if (error != null) reject(new SpdyError('Protocol', `unpack headers: ${error.message}`, error));
          this.#take();
          resolve();
        });
      });
      return decode(Buffer.concat(this.#pieces));
    } catch (error) {
      this.close();
      throw error;
    } finally {
      this.#pieces = [];
    }
  }

  close(): void {
    this.#inflate.destroy();
  }

  #take(): void {
    for (let piece = this.#inflate.read(); piece !== null; piece = this.#inflate.read()) {
      this.#size += piece.length;
      if (this.#size > MAX_BLOCK_BYTES) {
        this.#fail(new SpdyError('TooLarge', `headers exceed ${MAX_BLOCK_BYTES} bytes`));
        // The rest of the block is not unpacked.
        this.#inflate.destroy();
        return;
      }
      this.#pieces.push(piece);
    }
  }
}

function encode(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers);
  const pieces = [number(entries.length)];
  for (const [name, value] of entries) {
    for (const text of [name.toLowerCase(), value]) {
      const bytes = Buffer.from(text);
      pieces.push(number(bytes.length), bytes);
    }
  }
  return Buffer.concat(pieces);
}

function decode(block: Buffer): SpdyHeaders {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > block.length) throw new SpdyError('Protocol', 'header block is truncated');
    at += length;
    return block.subarray(at - length, at);
  };
  const text = (): string => take(take(4).readUInt32BE()).toString();
  const headers = new Map<string, string>();
  for (let left = take(4).readUInt32BE(); left > 0; left--) {
    const name = text().toLowerCase();
    if (name === '') throw new SpdyError('Protocol', 'header without a name');
    if (headers.has(name)) throw new SpdyError('Protocol', 'a header twice');
    headers.set(name, text());
  }
  if (at < block.length) throw new SpdyError('Protocol', 'data after the last header of a block');
  return Object.fromEntries(headers);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
