import fc from 'fast-check';
import { expect, test } from 'vitest';
import { controlFrame, dataFrames, FIN, FrameReader, frameTypes, type SpdyFrame, words } from '../src/frames.ts';

/** Joins the pieces of one data frame. */
function joined(frames: readonly SpdyFrame[]): readonly SpdyFrame[] {
  const all: SpdyFrame[] = [];
  for (const frame of frames) {
    const last = all.at(-1);
    if (frame.kind !== 'data' || last?.kind !== 'data' || last.streamId !== frame.streamId || last.isEnd) {
      all.push(frame);
    } else {
      all[all.length - 1] = { ...frame, payload: Buffer.concat([last.payload, frame.payload]) };
    }
  }
  return all;
}

const LENGTHS: Readonly<Record<number, number>> = { 1: 10, 2: 4, 3: 8, 4: 4, 6: 4, 7: 8, 8: 4, 9: 8 };
const frame = fc.oneof(
  fc
    .record({ id: fc.integer({ min: 1, max: 999 }), data: fc.uint8Array({ maxLength: 100 }), fin: fc.boolean() })
    .map(({ id, data, fin }) => Buffer.concat(dataFrames(id, data, fin ? FIN : 0))),
  fc
    .record({ type: fc.integer({ min: 1, max: 12 }), filler: fc.nat(255), flags: fc.nat(255) })
    .map(({ type, filler, flags }) => controlFrame(type, flags, Buffer.alloc(LENGTHS[type] ?? 17, filler))),
);

test('FrameReader reads the same frames however the input is cut into chunks', () => {
  const cuts = fc.infiniteStream(fc.integer({ min: 1, max: 30 }));
  const property = fc.property(fc.array(frame, { maxLength: 10 }), cuts, (all, lengths) => {
    const bytes = Buffer.concat(all);
    const reader = new FrameReader();
    const pieces: SpdyFrame[] = [];
    for (let at = 0; at < bytes.length; ) {
      const length = lengths.next().value ?? 1;
      pieces.push(...reader.read(bytes.subarray(at, at + length)));
      at += length;
    }
    expect(joined(pieces)).toEqual(joined([...new FrameReader().read(bytes)]));
  });
  fc.assert(property);
});

test('FrameReader reads all data that dataFrames wrote, with one end of the stream', () => {
  const property = fc.property(fc.uint8Array({ maxLength: 100_000, size: 'max' }), fc.boolean(), (data, fin) => {
    const heard = [...new FrameReader().read(Buffer.concat(dataFrames(7, data, fin ? FIN : 0)))];
    expect(Buffer.concat(heard.map(({ payload }) => payload)).equals(data)).toBe(true);
    expect(heard.map((each) => each.kind === 'data' && each.isEnd)).toEqual(
      heard.map((_each, index) => fin && index === heard.length - 1),
    );
  });
  fc.assert(property, { numRuns: 30 });
});

test('W5: FrameReader buffers no more of a 16 MB data frame than one chunk', () => {
  const reader = new FrameReader();
  const head = Buffer.from([0, 0, 0, 1, FIN, 0xff, 0xff, 0xff]);
  expect([...reader.read(head)]).toEqual([]);
  let [size, ends] = [0, 0];
  for (let left = 2 ** 24 - 1; left > 0; ) {
    const chunk = Buffer.alloc(Math.min(left, 65_536));
    const [got, ...more] = [...reader.read(chunk)];
    expect(more).toEqual([]);
    expect(got?.payload.buffer).toBe(chunk.buffer);
    if (got?.kind === 'data' && got.isEnd) ends++;
    size += got?.payload.length ?? 0;
    left -= chunk.length;
  }
  expect([size, ends]).toEqual([2 ** 24 - 1, 1]);
});

const { synStream, synReply, rstStream, settings, ping, goAway, headers, windowUpdate } = frameTypes;

test.each<[string, Buffer, string, string]>([
  ['another protocol', Buffer.from('\x80ET / HTTP/1.1\r\n', 'latin1'), 'Protocol', 'frame has SPDY version 69'],
  ['another version', Buffer.of(0x80, 2, 0, 1, 0, 0, 0, 0), 'Protocol', 'frame has SPDY version 2'],
  ['data for stream 0', Buffer.of(0, 0, 0, 0, 0, 0, 0, 1), 'Protocol', 'data frame for stream 0'],
  [
    'a huge control frame',
    Buffer.of(0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff),
    'TooLarge',
    'control frame has 16777215 bytes, limit 131072',
  ],
  [
    'a SYN_STREAM without headers',
    controlFrame(synStream, 0, Buffer.alloc(9)),
    'Protocol',
    'frame of type 1 has 9 bytes',
  ],
  [
    'a SYN_REPLY without a stream id',
    controlFrame(synReply, 0, Buffer.alloc(3)),
    'Protocol',
    'frame of type 2 has 3 bytes',
  ],
  ['an RST_STREAM without a status', controlFrame(rstStream, 0, words(1)), 'Protocol', 'frame of type 3 has 4 bytes'],
  ['empty SETTINGS', controlFrame(settings, 0), 'Protocol', 'frame of type 4 has 0 bytes'],
  ['a PING that is too long', controlFrame(ping, 0, words(1, 2)), 'Protocol', 'frame of type 6 has 8 bytes'],
  ['a GOAWAY that is too short', controlFrame(goAway, 0, words(1)), 'Protocol', 'frame of type 7 has 4 bytes'],
  ['HEADERS without a stream id', controlFrame(headers, 0), 'Protocol', 'frame of type 8 has 0 bytes'],
  ['a short WINDOW_UPDATE', controlFrame(windowUpdate, 0, words(1)), 'Protocol', 'frame of type 9 has 4 bytes'],
])('W3: FrameReader rejects %s with the error code $2 after the first eight bytes', (_name, bytes, code, message) => {
  const reader = new FrameReader();
  expect(() => [...reader.read(bytes.subarray(0, 8))]).toThrow(expect.objectContaining({ code, message }));
});
