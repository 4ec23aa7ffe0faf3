import { setImmediate as turn } from 'node:timers/promises';
import { constants, createInflate, deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { headerDictionary } from '../src/dictionary.ts';
import { words } from '../src/frames.ts';
import { HeaderPacker, HeaderUnpacker } from '../src/header-block.ts';
import { deflater, headerBlock } from './deflater.ts';

const headers = fc.dictionary(fc.stringMatching(/^[a-z_-]{1,20}$/), fc.string({ maxLength: 50 }), { maxKeys: 8 });

test('HeaderUnpacker restores several header blocks that HeaderPacker packed', async () => {
  const property = fc.asyncProperty(fc.array(headers, { maxLength: 5 }), async (all) => {
    const [packer, unpacker] = [new HeaderPacker(), new HeaderUnpacker()];
    for (const each of all) expect(await unpacker.unpack(packer.pack(each))).toEqual({ ...each });
    unpacker.close();
  });
  await fc.assert(property);
});

test('the SPDY dictionary has the Adler-32 sum that other implementations name', async () => {
  expect(headerDictionary).toHaveLength(1423);
  expect(deflateSync('', { dictionary: headerDictionary }).subarray(2, 6).toString('hex')).toBe('e3c6a7c2');
  // The block is compressed with the dictionary of moby/spdystream, which kubectl uses.
  const block =
    '78bbe3c6a7c202256f48f95b044eea16061606409ab308125f99a074cc68004e892545a989b9d0c28635151415584a214e786000000000ffff';
  const unpacker = new HeaderUnpacker();
  expect(await unpacker.unpack(Buffer.from(block, 'hex'))).toEqual({
    ...{ port: '8080', requestid: '0', streamtype: 'error', 'content-type': 'text/html' },
  });
  unpacker.close();
});

test('unpacks header blocks that were compressed with the SPDY dictionary', async () => {
  const unpacker = new HeaderUnpacker();
  const compress = deflater(headerDictionary);
  for (const given of [{ streamtype: 'error' }, { streamtype: 'data', port: '8080', requestid: '0' }, {}]) {
    expect(await unpacker.unpack(await compress(headerBlock(Object.entries(given))))).toEqual(given);
  }
  unpacker.close();
});

test('packs header blocks into a zlib stream that any zlib reader unpacks', async () => {
  const packer = new HeaderPacker();
  const inflate = createInflate({ flush: constants.Z_SYNC_FLUSH });
  const packed = Buffer.concat([packer.pack({ A: 'b' }), packer.pack({ long: 'x'.repeat(70_000) })]);
  const got: Buffer[] = [];
  inflate.on('data', (piece: Buffer) => got.push(piece));
  await new Promise<void>((resolve) => inflate.write(packed, () => resolve()));
  await turn();
  const expected = [headerBlock([['a', 'b']]), headerBlock([['long', 'x'.repeat(70_000)]])];
  expect(Buffer.concat(got)).toEqual(Buffer.concat(expected));
  // Without the final empty block, Go's reader would wait for more input.
  expect(packed.subarray(-5)).toEqual(Buffer.of(0, 0, 0, 0xff, 0xff));
});

/** An empty stored block that is marked as the last block of the zlib stream. */
const LAST_OF_ALL = Buffer.of(1, 0, 0, 0xff, 0xff);

test.each<[string, () => Promise<Buffer> | Buffer, string, RegExp]>([
  ['bytes that are not compressed', () => Buffer.from('nonsense'), 'Protocol', /unpack headers/],
  ['no bytes', () => Buffer.alloc(0), 'Protocol', /truncated/],
  ['another dictionary', () => deflater(Buffer.from('mine'))(headerBlock([])), 'Protocol', /unpack headers/],
  ['fewer headers than its count', () => deflater()(words(7)), 'Protocol', /truncated/],
  ['a huge count of headers', () => deflater()(words(2 ** 32 - 1)), 'Protocol', /truncated/],
  ['a name longer than the block', () => deflater()(words(1, 2 ** 32 - 1)), 'Protocol', /truncated/],
  [
    'bytes after its last header',
    () => deflater()(headerBlock([['a', 'b']], 0)),
    'Protocol',
    /data after the last header/,
  ],
  ['an empty header name', () => deflater()(headerBlock([['', 'b']])), 'Protocol', /without a name/],
  [
    'a duplicate header name',
    () =>
      deflater()(
        headerBlock([
          ['a', 'b'],
          ['A', 'c'],
        ]),
      ),
    'Protocol',
    /twice/,
  ],
  ['one byte too many', () => deflater()(headerBlock([['a', 'x'.repeat(65_536)]])), 'TooLarge', /exceed 65536 bytes/],
])('W5: HeaderUnpacker rejects a block with %s', async (_name, block, code, message) => {
  const unpacker = new HeaderUnpacker();
  await expect(unpacker.unpack(await block())).rejects.toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(message) }),
  );
  // After a block that failed, the state of the zlib stream is unknown.
  await expect(unpacker.unpack(new HeaderPacker().pack({}))).rejects.toThrow('unpack headers');
});

test('W5: HeaderUnpacker rejects blocks after a block that ended the zlib stream', async () => {
  const unpacker = new HeaderUnpacker();
  const packed = Buffer.concat([new HeaderPacker().pack({ a: 'b' }), LAST_OF_ALL, Buffer.of(0, 0, 0, 1)]);
  await unpacker.unpack(packed).catch(() => {});
  await expect(unpacker.unpack(new HeaderPacker().pack({}))).rejects.toThrow();
});

test('W5: HeaderUnpacker stops unpacking a 100 kB block that would unpack to 100 MB', async () => {
  const bomb = deflateSync(Buffer.alloc(100 * 2 ** 20));
  expect(bomb.length).toBeLessThan(128 * 1024);
  const unpacker = new HeaderUnpacker();
  const before = process.memoryUsage().arrayBuffers;
  await expect(unpacker.unpack(bomb)).rejects.toThrow('headers exceed 65536 bytes');
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * 2 ** 20);
});

test('W3: HeaderUnpacker unpacks arbitrary bytes to headers or an error', async () => {
  const property = fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.boolean(), async (noise, isPacked) => {
    const unpacker = new HeaderUnpacker();
    const block = isPacked ? await deflater()(noise) : noise;
    const outcome = await unpacker.unpack(block).catch((error: { code?: string }) => error.code);
    if (typeof outcome !== 'string') expect(outcome).toBeTypeOf('object');
    else expect(['Protocol', 'TooLarge']).toContain(outcome);
    unpacker.close();
  });
  await fc.assert(property);
});
