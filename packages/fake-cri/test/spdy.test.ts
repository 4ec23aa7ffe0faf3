import { type Duplex, duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { constants, createDeflate, createInflate } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SpdyConnection } from '../src/spdy/connection.ts';
import { headerDictionary } from '../src/spdy/dictionary.ts';
import { controlFrame, dataFrames, FIN, FrameReader, frameTypes, type SpdyFrame, words } from '../src/spdy/frames.ts';
import { HeaderPacker, HeaderUnpacker } from '../src/spdy/header-block.ts';
import type { SpdyStream } from '../src/spdy/stream.ts';

const headers = fc.dictionary(fc.stringMatching(/^[a-z-]{1,20}$/), fc.string({ maxLength: 50 }), { maxKeys: 8 });

test('headers are unpacked as they were packed, one after another', async () => {
  const property = fc.asyncProperty(fc.array(headers, { maxLength: 5 }), async (all) => {
    const [packer, unpacker] = [new HeaderPacker(), new HeaderUnpacker()];
    for (const each of all) expect(await unpacker.unpack(packer.pack(each))).toEqual({ ...each });
    unpacker.close();
  });
  await fc.assert(property);
});

/** As Go's spdystream does it: one deflate for the connection, which begins with the dictionary and is flushed. */
function compressor(dictionary?: Buffer): (block: Uint8Array) => Promise<Buffer> {
  const deflate = createDeflate({ ...(dictionary && { dictionary }), flush: constants.Z_SYNC_FLUSH });
  return (block) =>
    new Promise((resolve) => {
      deflate.write(block, () => resolve(deflate.read() ?? Buffer.alloc(0)));
    });
}

function block(given: Readonly<Record<string, string>>): Buffer {
  const pieces: Buffer[] = [words(Object.keys(given).length)];
  for (const each of Object.entries(given).flat()) pieces.push(words(Buffer.byteLength(each)), Buffer.from(each));
  return Buffer.concat(pieces);
}

test('headers that are compressed with the dictionary of SPDY are unpacked', async () => {
  const unpacker = new HeaderUnpacker();
  const compress = compressor(headerDictionary);
  for (const given of [{ streamtype: 'error' }, { streamtype: 'data', port: '8080', requestid: '0' }, {}]) {
    expect(await unpacker.unpack(await compress(block(given)))).toEqual(given);
  }
  unpacker.close();
});

test('what is packed is a zlib stream that anybody unpacks', async () => {
  const packer = new HeaderPacker();
  const inflate = createInflate({ flush: constants.Z_SYNC_FLUSH });
  const packed = Buffer.concat([packer.pack({ a: 'b' }), packer.pack({ long: 'x'.repeat(70_000) })]);
  const got: Buffer[] = [];
  inflate.on('data', (piece: Buffer) => got.push(piece));
  await new Promise<void>((resolve) => inflate.write(packed, () => resolve()));
  await turn();
  expect(Buffer.concat(got)).toEqual(Buffer.concat([block({ a: 'b' }), block({ long: 'x'.repeat(70_000) })]));
  // Without it Go's reader waits for more.
  expect(packed.subarray(-5)).toEqual(Buffer.of(0, 0, 0, 0xff, 0xff));
});

test('W5: headers that unpack to a lot, or to nothing, are refused', async () => {
  const bomb = new HeaderUnpacker();
  await expect(bomb.unpack(await compressor()(Buffer.alloc(1_000_000)))).rejects.toThrow('headers of more than');
  const nonsense = new HeaderUnpacker();
  await expect(nonsense.unpack(Buffer.from('nonsense'))).rejects.toThrow('cannot be unpacked');
  const short = new HeaderUnpacker();
  await expect(short.unpack(await compressor()(words(7)))).rejects.toThrow('headers end too early');
});

test('frames are read alike, however they are cut', () => {
  const frame = fc.oneof(
    fc
      .record({ id: fc.integer({ min: 1, max: 999 }), data: fc.uint8Array({ maxLength: 100 }), fin: fc.boolean() })
      .map(({ id, data, fin }) => dataFrames(id, data, fin ? FIN : 0)),
    fc
      .record({ type: fc.integer({ min: 1, max: 9 }), data: fc.uint8Array({ maxLength: 40 }) })
      .map(({ type, data }) => controlFrame(type, 0, data)),
  );
  const property = fc.property(
    fc.array(frame, { maxLength: 10 }),
    fc.infiniteStream(fc.integer({ min: 1, max: 30 })),
    (all, cuts) => {
      const bytes = Buffer.concat(all);
      const whole = [...new FrameReader().read(bytes)];
      const reader = new FrameReader();
      const pieces: SpdyFrame[] = [];
      for (let at = 0; at < bytes.length; ) {
        const length = cuts.next().value ?? 1;
        pieces.push(...reader.read(bytes.subarray(at, at + length)));
        at += length;
      }
      expect(whole).toHaveLength(all.length);
      expect(pieces).toEqual(whole);
    },
  );
  fc.assert(property);
});

test('a frame of another version, or a huge one, is refused', () => {
  expect(() => [...new FrameReader().read(Buffer.from('GET / HTTP/1.1\r\n'))]).toThrow(/a frame of \d+ bytes/);
  expect(() => [...new FrameReader().read(Buffer.of(0x80, 2, 0, 1, 0, 0, 0, 0))]).toThrow('a frame of another version');
});

/** Two ends of a connection; the server's streams are given to `onStream`. */
function pair(onStream: (stream: SpdyStream) => boolean): {
  client: SpdyConnection;
  server: SpdyConnection;
  wire: Duplex;
} {
  const [near, far] = duplexPair();
  const client = new SpdyConnection(near, { role: 'client' });
  return { client, server: new SpdyConnection(far, { role: 'server', onStream }), wire: near };
}

test('streams have their headers, are many, and are half closed one by one', async () => {
  const { client } = pair((stream) => {
    stream.write(`${stream.headers.name}: `);
    stream.pipe(stream);
    return true;
  });
  const said = ['a', 'b', 'c'].map(async (name) => {
    const stream = await client.open({ name });
    stream.end(name.repeat(100_000));
    return text(stream);
  });
  expect(await Promise.all(said)).toEqual(['a', 'b', 'c'].map((name) => `${name}: ${name.repeat(100_000)}`));
  client.close();
  await client.closed;
});

test('a stream that is refused is reset, and the others go on', async () => {
  const { client } = pair((stream) => {
    if (stream.headers.name === 'bad') return false;
    stream.end('good');
    return true;
  });
  await expect(client.open({ name: 'bad' })).rejects.toThrow('the stream was reset');
  expect(await text(await client.open({ name: 'good' }))).toBe('good');
});

test('a stream that is reset tells the other end, after what came before', async () => {
  const heard = Promise.withResolvers<string>();
  const { client } = pair((stream) => {
    text(stream).then(heard.resolve, heard.reject);
    return true;
  });
  const stream = await client.open({});
  stream.write('some');
  await turn();
  stream.destroy();
  expect(await heard.promise).toBe('some');
});

test('who does not read holds up who writes, and nobody is held up when the connection breaks', async () => {
  const server = Promise.withResolvers<SpdyStream>();
  const { client, wire } = pair((stream) => {
    server.resolve(stream);
    return true;
  });
  const stream = await client.open({});
  let written = 0;
  const write = (): void => {
    stream.write(Buffer.alloc(32 * 1024), (error) => {
      if (error != null) return;
      written++;
      write();
    });
  };
  write();
  const unread = await server.promise;
  for (let turns = 0; turns < 200; turns++) await turn();
  expect(written).toBeLessThan(50);
  const before = written;
  for (let turns = 0; turns < 200; turns++) await turn();
  expect(written).toBe(before);
  wire.destroy();
  await client.closed;
  await expect(client.open({})).rejects.toThrow('the connection is closed');
  // What had come can be read still, and the end.
  let size = 0;
  for await (const piece of unread) size += piece.length;
  expect(size).toBeGreaterThan(0);
});

test('pings are answered, and a farewell takes no new streams', async () => {
  const [near, far] = duplexPair();
  new SpdyConnection(far, { role: 'server', onStream: () => true });
  const heard: SpdyFrame[] = [];
  const reader = new FrameReader();
  near.on('data', (chunk: Buffer) => heard.push(...reader.read(chunk)));
  near.write(controlFrame(frameTypes.ping, 0, words(1)));
  near.write(controlFrame(frameTypes.goAway, 0, words(0, 0)));
  near.write(controlFrame(frameTypes.synStream, 0, words(1, 0), Buffer.of(0, 0), new HeaderPacker().pack({})));
  for (let turns = 0; turns < 20; turns++) await turn();
  expect(heard.map((frame) => frame.kind === 'control' && frame.type)).toEqual([frameTypes.ping, frameTypes.rstStream]);
});

test('W3: bytes of any kind end a connection, and nothing else', async () => {
  const property = fc.asyncProperty(fc.uint8Array({ minLength: 8, maxLength: 300 }), async (noise) => {
    const [near, far] = duplexPair();
    near.on('error', () => {});
    const server = new SpdyConnection(far, { role: 'server', onStream: (stream) => stream.resume() !== undefined });
    near.resume().end(Buffer.from(noise));
    await server.closed;
  });
  await fc.assert(property);
});
