import { get } from 'node:http';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Exchange, HttpResponseReader } from '../src/http-response.ts';
import { LoopbackServer } from './fixtures.ts';
import { type Ending, GO_ANSWERS } from './go-answers.ts';

const RESET = 'read tcp ENDS: read: connection reset by peer';
const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Reads a response that arrives in the given pieces. All pieces share one buffer, as in production. */
function read(pieces: readonly Buffer[], ending: Ending): Exchange {
  const reader = new HttpResponseReader();
  const buffer = Buffer.alloc(Math.max(0, ...pieces.map(({ length }) => length)));
  for (const piece of pieces) {
    piece.copy(buffer);
    const outcome = reader.push(buffer.subarray(0, piece.length));
    buffer.fill('!');
    if (outcome !== undefined) return outcome;
  }
  if (ending === 'silence') return reader.expire();
  return reader.end(ending === 'reset' ? RESET : undefined);
}

/** Cuts bytes at the given offsets. */
function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const sorted = [0, ...places.toSorted((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((to, at) => bytes.subarray(sorted[at], to));
}

/** Cuts the message of a fault at 4096 characters, which is the reader's limit. */
const limited = (outcome: Exchange): Exchange =>
  outcome.kind === 'fault' ? { ...outcome, message: outcome.message.slice(0, 4096) } : outcome;

describe('HttpResponseReader', () => {
  test.each(GO_ANSWERS)(
    "returns the same result as Go's client for a response split into any two pieces: %s",
    (_, text, ending, outcome) => {
      const bytes = bytesOf(text);
      expect(read([bytes], ending)).toEqual(limited(outcome));
      const step = Math.ceil(bytes.length / 500);
      for (let at = 0; at < bytes.length; at += step) expect(read(cut(bytes, [at]), ending)).toEqual(limited(outcome));
    },
  );

  test.each(GO_ANSWERS)(
    "returns the same result as Go's client if a response arrives byte by byte: %s",
    (_, text, ending, outcome) => {
      const single = [...bytesOf(text)].map((byte) => Buffer.of(byte));
      expect(read(single, ending)).toEqual(limited(outcome));
    },
  );

  test('R3: rejects a response head of more than 256 KiB', () => {
    const message =
      'net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 262144 bytes; aborted';
    const lines = Array.from({ length: 300 }, () => Buffer.from('X: y\r\n'.repeat(1000)));
    const early = Array.from({ length: 300 }, () => Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(200)));
    const line = Array.from({ length: 300 }, () => Buffer.alloc(4096, 'x'));
    for (const pieces of [[Buffer.from('HTTP/1.1 200 OK\r\n'), ...lines], early, line]) {
      expect(read(pieces, 'silence')).toEqual({ kind: 'fault', message });
    }
  });

  test('returns the same result for a response split into any pieces', () => {
    const places = fc.array(fc.nat(300), { maxLength: 20 });
    fc.assert(
      fc.property(fc.constantFrom(...GO_ANSWERS), places, ([, text, ending, outcome], at) => {
        const bytes = bytesOf(text);
        const inside = at.filter((place) => place <= bytes.length);
        expect(read(cut(bytes, inside), ending)).toEqual(limited(outcome));
      }),
    );
  });

  const ending = fc.constantFrom<Ending>('close', 'reset', 'silence');
  const noise = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
  const spoilt = fc
    .tuple(fc.constantFrom(...GO_ANSWERS), fc.nat(200), fc.nat(10), noise)
    .map(([[, text], at, gone, more]) => text.slice(0, at) + more.slice(0, 5) + text.slice(at + gone));

  test('R3: reading random bytes as a response never throws, keeps at most 10 KiB, and gives the same result for any pieces', () => {
    fc.assert(
      fc.property(fc.oneof(noise, spoilt), ending, fc.array(fc.nat(300), { maxLength: 9 }), (text, how, at) => {
        const bytes = bytesOf(text);
        const outcome = read([bytes], how);
        const inside = at.filter((place) => place <= bytes.length);
        expect(read(cut(bytes, inside), how)).toEqual(outcome);
        const size = outcome.kind === 'answer' ? Buffer.byteLength(outcome.body, 'latin1') : outcome.message.length;
        expect(size).toBeLessThanOrEqual(10 * 1024);
      }),
    );
  });

  test('returns the same status and body for a complete response as node:http', async () => {
    await fc.assert(
      fc.asyncProperty(wholeResponse, async (text) => {
        const ours = read([bytesOf(text)], 'close');
        expect(ours).toEqual(await nodesReading(bytesOf(text)));
      }),
      { numRuns: 50 },
    );
  });
});

const body = fc.string({ unit: fc.constantFrom('a', '\r', '\n', '0', ' '), maxLength: 100 });
const framed = fc
  .tuple(body, fc.constantFrom('length', 'chunks', 'close'), fc.integer({ min: 1, max: 30 }))
  .map(([text, how, size]) => {
    if (how === 'length') return `Content-Length: ${text.length}\r\n\r\n${text}`;
    if (how === 'close') return `\r\n${text}`;
    const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    const written = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
    return `Transfer-Encoding: chunked\r\n\r\n${written}0\r\n\r\n`;
  });
const field = fc
  .tuple(fc.stringMatching(/^X-[A-Za-z0-9-]{0,9}$/), fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/))
  .map(([name, value]) => `${name}: ${value}\r\n`);
const wholeResponse = fc
  .tuple(
    fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
    fc.array(field, { maxLength: 8 }),
    fc.option(fc.stringMatching(/^\/[a-z]{0,9}$/)),
    framed,
  )
  .map(([status, fields, location, rest]) => {
    const leads = location === null ? '' : `Location: ${location}\r\n`;
    return `HTTP/1.1 ${status} Words\r\n${fields.join('')}${leads}${rest}`;
  });

/** Reads a response with the client of node:http. */
async function nodesReading(bytes: Buffer): Promise<Exchange> {
  await using server = await new LoopbackServer((socket) => socket.end(bytes)).listening();
  return await new Promise((resolve, reject) => {
    get({ port: server.port, host: '127.0.0.1', agent: false }, (message) => {
      const { statusCode: status = 0, headers } = message;
      let text = '';
      message.on('data', (chunk) => {
        text += chunk;
      });
      message.on('end', () => resolve({ kind: 'answer', status, location: headers.location, body: text }));
      message.on('error', reject);
    }).on('error', reject);
  });
}
