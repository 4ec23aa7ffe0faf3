import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReceiveWindow } from '../../src/lean/flow.ts';
import { frame, headerBlock, settingsFrame, withoutPadding } from '../../src/lean/frame.ts';
import { FrameReader } from '../../src/lean/frame-reader.ts';
import { MessageReader } from '../../src/lean/message-reader.ts';
import { applySettings, DEFAULT_SETTINGS } from '../../src/lean/peer-settings.ts';

/** Cuts bytes into pieces at the given positions. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

const cuts = fc.array(fc.nat(), { maxLength: 12 });

test('HTTP/2 frames that arrive in any pieces are read as they were sent', () => {
  const one = fc.record({
    type: fc.nat(255),
    flags: fc.nat(255),
    streamId: fc.nat(2 ** 31 - 1),
    payload: fc.uint8Array({ maxLength: 40 }),
  });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 6 }), cuts, (frames, at) => {
      const read: unknown[] = [];
      const reader = new FrameReader((type, flags, streamId, payload) =>
        read.push({ type, flags, streamId, payload: Uint8Array.from(payload) }),
      );
      const bytes = Buffer.concat(
        frames.map(({ type, flags, streamId, payload }) => frame(type, flags, streamId, payload)),
      );
      for (const piece of pieces(bytes, at)) reader.push(piece);
      expect(read).toEqual(frames);
    }),
  );
});

test('an HTTP/2 frame of 16,384 bytes is read, and a frame of 16,385 bytes is rejected when its header has arrived', () => {
  let bytes = 0;
  const reader = new FrameReader((_type, _flags, _streamId, payload) => {
    bytes = payload.length;
  });
  reader.push(frame(0, 0, 1, Buffer.alloc(16_384)));
  expect(bytes).toBe(16_384);
  expect(() => reader.push(frame(0, 0, 1, Buffer.alloc(16_385)).subarray(0, 9))).toThrow('exceeds 16384');
});

test('gRPC messages that arrive in any pieces are read as they were sent', () => {
  const one = fc.record({ isCompressed: fc.boolean(), bytes: fc.uint8Array({ maxLength: 40 }) });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 5 }), cuts, (messages, at) => {
      const read: unknown[] = [];
      const reader = new MessageReader(
        (isCompressed, bytes) => read.push({ isCompressed, bytes: Uint8Array.from(bytes) }),
        40,
      );
      const data = messages.map(({ isCompressed, bytes }) => {
        const prefix = Buffer.alloc(5);
        prefix[0] = isCompressed ? 1 : 0;
        prefix.writeUInt32BE(bytes.length, 1);
        return Buffer.concat([prefix, bytes]);
      });
      for (const piece of pieces(Buffer.concat(data), at)) reader.push(piece);
      expect(read).toEqual(messages);
      expect(reader.excess).toBeUndefined();
    }),
  );
});

test.each([[[5]], [[2, 3]], [[1, 1, 1, 1, 1]]])(
  'a gRPC message above the limit is rejected when its prefix has arrived, in pieces of %j',
  (sizes) => {
    const reader = new MessageReader(() => expect.unreachable('the message is too large'), 100);
    let at = 0;
    const prefix = Buffer.from([0, 0, 0, 0, 101]);
    for (const size of sizes) {
      reader.push(prefix.subarray(at, at + size));
      at += size;
    }
    expect(reader.excess).toBe(101);
  },
);

describe('padding', () => {
  test.each([
    ['that the flag does not announce', 0, [9, 9], [9, 9]],
    ['of 2 bytes', 8, [2, 7, 0, 0], [7]],
    ['of the whole frame', 8, [3, 0, 0, 0], []],
  ])('padding %s is removed from an HTTP/2 frame, which leaves the bytes $3', (_, flags, payload, data) => {
    expect([...withoutPadding(flags, Buffer.from(payload))]).toEqual(data);
  });

  test.each([
    ['longer than the frame', [4, 0, 0, 0]],
    ['without its length', []],
  ])('padding %s is rejected', (_, payload) => {
    expect(() => withoutPadding(8, Buffer.from(payload))).toThrow(/padd/);
  });

  test('headerBlock removes padding and priority of an HTTP/2 HEADERS frame, and refuses a frame too short for them', () => {
    expect([...headerBlock(0x28, Buffer.from([1, 0, 0, 0, 3, 9, 0x88, 0]))]).toEqual([0x88]);
    expect(() => headerBlock(0x20, Buffer.from([0, 0, 0]))).toThrow('too short for its priority');
  });
});

test('a window is announced again when half of it is used, and refuses more than was announced', () => {
  const window = new ReceiveWindow(100);
  expect([window.take(49), window.refill(), window.take(1), window.refill()]).toEqual([true, 0, true, 50]);
  expect([window.take(100), window.take(1)]).toEqual([true, false]);
});

describe('settings of the peer', () => {
  const payload = (settings: readonly (readonly [number, number])[]): Buffer => settingsFrame(settings).subarray(9);

  test("the peer's HTTP/2 settings replace the defaults, and unknown settings are ignored", () => {
    const after = applySettings(
      DEFAULT_SETTINGS,
      payload([
        [3, 7],
        [4, 9],
        [5, 20_000],
        [0xff, 1],
      ]),
    );
    expect(after).toMatchObject({ maxConcurrentStreams: 7, initialWindowBytes: 9, maxFrameBytes: 20_000 });
  });

  test.each([
    [[[2, 1]], 1],
    [[[4, 2 ** 31]], 3],
    [[[5, 16_383]], 1],
    [[[5, 2 ** 24]], 1],
    [[[8, 2]], 1],
    [
      [
        [8, 1],
        [8, 0],
      ],
      1,
    ],
    [
      [
        [9, 0],
        [9, 1],
      ],
      1,
    ],
  ] as const)('the HTTP/2 settings %j end the connection with error code %i', (settings, code) => {
    expect(() => applySettings(DEFAULT_SETTINGS, payload(settings))).toThrow(expect.objectContaining({ code }));
  });

  test('an HTTP/2 SETTINGS frame with more than 32 entries ends the connection', () => {
    expect(() => applySettings(DEFAULT_SETTINGS, Buffer.alloc(32 * 6))).not.toThrow();
    expect(() => applySettings(DEFAULT_SETTINGS, Buffer.alloc(33 * 6))).toThrow('a SETTINGS frame is too long');
  });

  test('HTTP/2 settings that are cut off end the connection', () => {
    expect(() => applySettings(DEFAULT_SETTINGS, Buffer.alloc(7))).toThrow('ends within a setting');
  });
});
