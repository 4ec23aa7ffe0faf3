import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HpackDecoder } from '../../src/lean/hpack-decoder.ts';
import { literal, requestHead } from '../../src/lean/hpack-encoder.ts';
import { decodeHuffman } from '../../src/lean/huffman.ts';
import { STATIC_TABLE } from '../../src/lean/static-table.ts';
import { chanceOf } from './chance.ts';
import { HpackWriter, huffman } from './hpack-writer.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const latin1 = fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 60 });
const field = fc.tuple(fc.constantFrom('grpc-status', 'x-a', 'content-type', ':status', 'x-long-name'), latin1);

describe('Huffman strings', () => {
  // The examples are from RFC 7541, appendix C.4 and C.6.
  test.each([
    ['f1e3 c2e5 f23a 6ba0 ab90 f4ff', 'www.example.com'],
    ['a8eb 1064 9cbf', 'no-cache'],
    ['25a8 49e9 5ba9 7d7f', 'custom-key'],
    ['6402', '302'],
    ['d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff', 'Mon, 21 Oct 2013 20:13:21 GMT'],
    ['', ''],
  ])('the Huffman string %s decodes to %j', (encoded, text) => {
    const bytes = hex(encoded);
    expect(decodeHuffman(bytes, 0, bytes.length)).toBe(text);
  });

  test('every Huffman-encoded string decodes to the original', () => {
    fc.assert(
      fc.property(latin1, (text) => {
        const bytes = huffman(text);
        expect(decodeHuffman(bytes, 0, bytes.length)).toBe(text);
      }),
    );
  });

  test.each([
    ['padding of zeros', '00'],
    ['padding of 8 bits', '6402 ff'],
    ['the code of EOS', 'ffff ffff'],
  ])('a Huffman string with %s is rejected', (_, encoded) => {
    const bytes = hex(encoded);
    expect(decodeHuffman(bytes, 0, bytes.length)).toBeUndefined();
  });
});

describe('header blocks', () => {
  // The examples are from RFC 7541, appendix C.5 and C.6: three responses, with a dynamic table of 256 bytes.
  const size256 = '3fe101';
  const answers = [
    [
      [':status', '302'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'],
      ['location', 'https://www.example.com'],
    ],
    [
      [':status', '307'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'],
      ['location', 'https://www.example.com'],
    ],
    [
      [':status', '200'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:22 GMT'],
      ['location', 'https://www.example.com'],
      ['content-encoding', 'gzip'],
      ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
    ],
  ];
  test.each([
    [
      'plain',
      [
        `${size256} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d
         546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        '4803 3330 37c1 c0bf',
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153
         444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e
         3d31`,
      ],
    ],
    [
      'Huffman',
      [
        `${size256} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7
         8f0b 97c8 e9ae 82ae 43d3`,
        '4883 640e ffc1 c0bf',
        `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b
         3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
      ],
    ],
  ])(
    'the header blocks in the examples of RFC 7541 decode to their fields, with strings encoded as %s',
    (_, blocks) => {
      const decoder = new HpackDecoder();
      expect(blocks.map((block) => decoder.decode(hex(block)))).toEqual(answers);
    },
  );

  test('header blocks in any representation, decoded one after another, yield their fields', () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(fc.array(field, { maxLength: 8 }), { maxLength: 12 }), (seed, blocks) => {
        const writer = new HpackWriter(chanceOf(seed));
        const decoder = new HpackDecoder();
        for (const fields of blocks) expect(decoder.decode(writer.block(fields))).toEqual(fields);
      }),
    );
  });

  test('a header block of random bytes decodes to fields or throws an HpackError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          new HpackDecoder().decode(bytes);
        } catch (error) {
          expect((error as Error).name).toBe('HpackError');
        }
      }),
    );
  });

  test.each([
    ['index 0', '80', 'there is no header field at index 0'],
    ['an index after the table', 'be', 'there is no header field at index 62'],
    ['a table that is too large', '3fe21f', 'a table size of 4097 exceeds 4096'],
    ['a table size after a field', '8820', 'a table size update follows a header field'],
    ['an integer without end', 'ffffffffffffffff', 'an integer is too large'],
    ['an integer that is cut off', 'ff', 'a header block ends within a field'],
    ['a string that is cut off', '0003 6162', 'a string ends after its header block'],
    ['a string of bad Huffman code', '0082 ffff 00', 'a string is not valid Huffman code'],
  ])('a header block with %s is rejected: $2', (_, block, message) => {
    expect(() => new HpackDecoder().decode(hex(block))).toThrow(message);
  });

  test('if a peer makes the dynamic table smaller, the oldest fields are removed from the table', () => {
    const decoder = new HpackDecoder();
    const indexed = (name: string): Buffer => Buffer.concat([Buffer.of(0x40), literal(name, '').subarray(1)]);
    decoder.decode(Buffer.concat([indexed('a'), indexed('b')]));
    expect(decoder.decode(Buffer.from([0x3f, 40 - 31, 0xbe]))).toEqual([['b', '']]);
    expect(() => decoder.decode(Buffer.of(0xbf))).toThrow('index 63');
  });

  test('a field that is larger than the dynamic table removes all fields from the table', () => {
    const decoder = new HpackDecoder();
    decoder.decode(Buffer.concat([Buffer.of(0x40), literal('a', 'b').subarray(1)]));
    expect(decoder.decode(Buffer.of(0xbe))).toEqual([['a', 'b']]);
    decoder.decode(Buffer.concat([Buffer.of(0x40), literal('a', 'x'.repeat(4096)).subarray(1)]));
    expect(() => decoder.decode(Buffer.of(0xbe))).toThrow('index 62');
  });
});

describe('a long header block', () => {
  test('a header block that refers 1,000 times to a large field has the field, not copies of it', () => {
    const indexedLiteral = Buffer.concat([Buffer.of(0x40), literal('a', 'x'.repeat(3950)).subarray(1)]);
    const fields = new HpackDecoder().decode(Buffer.concat([indexedLiteral, Buffer.alloc(1000, 0xbe)]));
    expect(fields).toHaveLength(1001);
    expect(new Set(fields).size).toBe(1);
  });

  test.each([
    ['an index after the table', Buffer.of(0xbe), 'there is no header field at index 62'],
    ['a table size update', Buffer.of(0x20), 'a table size update follows a header field'],
  ])('a long header block is rejected if it ends with %s', (_, tail, message) => {
    expect(() => new HpackDecoder().decode(Buffer.concat([Buffer.alloc(200, 0x88), tail]))).toThrow(message);
  });
});

describe('requests', () => {
  test('a lean gRPC request has the headers that gRPC requires, pseudo-headers first', () => {
    const head = requestHead('/test.Test/Echo', 'agent');
    expect(new HpackDecoder().decode(head)).toEqual([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', '/test.Test/Echo'],
      [':authority', 'localhost'],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['user-agent', 'agent'],
      ['grpc-accept-encoding', 'identity'],
    ]);
  });

  test('HPACK literals of any length decode to the original string', () => {
    fc.assert(
      fc.property(fc.nat(20_000), (length) => {
        const value = 'v'.repeat(length);
        expect(new HpackDecoder().decode(literal('x-name', value))).toEqual([['x-name', value]]);
      }),
      { numRuns: 50 },
    );
  });

  test('the static table has the entries of RFC 7541', () => {
    expect(STATIC_TABLE).toHaveLength(61);
    expect([STATIC_TABLE[0], STATIC_TABLE[7], STATIC_TABLE[60]]).toEqual([
      [':authority', ''],
      [':status', '200'],
      ['www-authenticate', ''],
    ]);
  });
});
