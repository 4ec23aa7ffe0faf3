import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lastWordOf } from '../src/http/last-word.ts';

/** Returns a server frame. Its length may be any that a frame header can express. */
function webSocketFrame(opcode: number, payload: Uint8Array, isMasked = false): Buffer {
  const head = [0x80 | opcode];
  const mask = isMasked ? 0x80 : 0;
  if (payload.length < 126) head.push(mask | payload.length);
  else if (payload.length < 65_536) head.push(mask | 126, payload.length >> 8, payload.length & 0xff);
  else head.push(mask | 127, 0, 0, 0, 0, 0, payload.length >> 16, (payload.length >> 8) & 0xff, payload.length & 0xff);
  return Buffer.concat([Buffer.from(head), Buffer.from(isMasked ? [1, 2, 3, 4] : []), payload]);
}

function spdyFrame(first: readonly number[], payload: Uint8Array): Buffer {
  const { length } = payload;
  return Buffer.concat([Buffer.from([...first, 0, length >> 16, (length >> 8) & 0xff, length & 0xff]), payload]);
}
const data = (stream: number, payload: Uint8Array) => spdyFrame([0, 0, 0, stream], payload);
const control = (type: number, payload: Uint8Array) => spdyFrame([0x80, 3, 0, type], payload);

const payloads = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.constantFrom(125, 126, 127, 65_535, 65_536, 70_000).map((length) => new Uint8Array(length)),
);
const webSocketFrames = fc
  .tuple(fc.constantFrom(0, 1, 2, 9, 10), payloads, fc.boolean())
  .map(([opcode, payload, isMasked]) => webSocketFrame(opcode, payload, isMasked));
const spdyFrames = fc.oneof(
  payloads.map((payload) => data(5, payload)),
  payloads.map((payload) => control(2, payload)),
  payloads.map((payload) => control(6, payload)),
);

describe('the final frame of a stream', () => {
  it.each([
    ['websocket', webSocketFrames],
    ['SPDY/3.1', spdyFrames],
  ])('the final frame of %s is sent between frames, never inside one, whatever the chunks are', (protocol, frames) => {
    fc.assert(
      fc.property(fc.array(frames, { maxLength: 5 }), fc.array(fc.integer({ min: 1, max: 200 })), (all, cuts) => {
        const bytes = Buffer.concat(all);
        const boundaries = new Set<number>([0]);
        let end = 0;
        for (const frame of all) {
          end += frame.length;
          boundaries.add(end);
        }
        const lastWord = lastWordOf(protocol);
        let at = 0;
        for (const cut of [...cuts, bytes.length]) {
          lastWord?.see(bytes.subarray(at, at + cut));
          at = Math.min(at + cut, bytes.length);
          expect(lastWord?.word !== undefined).toBe(boundaries.has(at));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('a WebSocket gets one close frame with the code "going away"', () => {
    const lastWord = lastWordOf('WebSocket');
    expect(lastWord?.word).toEqual(Uint8Array.of(0x88, 2, 0x03, 0xe9));
    lastWord?.see(webSocketFrame(8, Uint8Array.of(3, 0xe8)));
    expect(lastWord?.word).toBeUndefined();
  });

  it('SPDY gets one GOAWAY with the newest answered stream', () => {
    const lastWord = lastWordOf('SPDY/3.1');
    lastWord?.see(control(2, Uint8Array.of(0, 0, 0, 7, 0, 0)));
    lastWord?.see(data(3, Uint8Array.of(1)));
    expect([...(lastWord?.word ?? [])]).toEqual([0x80, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0]);
    lastWord?.see(control(7, new Uint8Array(8)));
    expect(lastWord?.word).toBeUndefined();
  });

  it('an unknown protocol gets no final frame', () => {
    expect(lastWordOf('h2c')).toBeUndefined();
    expect(lastWordOf(undefined)).toBeUndefined();
  });
});
