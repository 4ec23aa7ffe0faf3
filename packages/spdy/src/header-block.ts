import { constants, createInflate, type Inflate } from 'node:zlib';
import { headerDictionary } from './dictionary.ts';
import { SpdyError } from './errors.ts';

/** Headers of a stream: names in lower case. */
export type SpdyHeaders = Readonly<Record<string, string>>;

/** What a block of headers may be, unpacked. */
const MAX_BLOCK_BYTES = 64 * 1024;
/** A stored block of deflate. */
const MAX_STORED_BYTES = 65_535;
/** Deflate, a window of 32 KiB, no dictionary: what is stored as it is needs none. */
const ZLIB_HEAD = Buffer.of(0x78, 0x01);
/** An empty block, as a flush ends with: Go's reader gives nothing of what came before it has seen one. */
const FLUSHED = Buffer.of(0, 0, 0, 0xff, 0xff);

/** Packs the headers of one direction of a connection, as blocks of one zlib stream that are stored and not compressed. */
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
 * Unpacks the headers of one direction of a connection, whose blocks are one zlib stream: one at a time, in their order. What a
 * block unpacks to is bounded while it is unpacked; after a failure nothing more can be.
 */
export class HeaderUnpacker {
  readonly #inflate: Inflate = createInflate({ dictionary: headerDictionary, flush: constants.Z_SYNC_FLUSH });
  #pieces: Buffer[] = [];
  #size = 0;
  #fail: (error: Error) => void = () => {};

  constructor() {
    this.#inflate.on('error', (error) => {
      this.#fail(new SpdyError('Protocol', `headers cannot be unpacked: ${error.message}`, error));
    });
    // What is larger than its buffer is taken out while it goes on.
    this.#inflate.on('readable', () => this.#take());
  }

  /** @throws SpdyError `Protocol` for what is no block of headers, `TooLarge` for one that unpacks to more than 64 KiB */
  async unpack(block: Uint8Array): Promise<SpdyHeaders> {
    this.#pieces = [];
    this.#size = 0;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#fail = reject;
        this.#inflate.write(block, (error) => {
          if (error != null) reject(new SpdyError('Protocol', `headers cannot be unpacked: ${error.message}`, error));
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
        this.#fail(new SpdyError('TooLarge', `headers of more than ${MAX_BLOCK_BYTES} bytes`));
        // Nothing more is unpacked to be thrown away.
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
    if (at + length > block.length) throw new SpdyError('Protocol', 'headers end too early');
    at += length;
    return block.subarray(at - length, at);
  };
  const text = (): string => take(take(4).readUInt32BE()).toString();
  const headers = new Map<string, string>();
  for (let left = take(4).readUInt32BE(); left > 0; left--) {
    const name = text().toLowerCase();
    if (name === '') throw new SpdyError('Protocol', 'a header without a name');
    if (headers.has(name)) throw new SpdyError('Protocol', 'a header twice');
    headers.set(name, text());
  }
  if (at < block.length) throw new SpdyError('Protocol', 'more than headers in a block of headers');
  return Object.fromEntries(headers);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
