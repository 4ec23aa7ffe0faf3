import { describe, expect, test } from 'vitest';
import * as h2 from '../../src/lean/frame.ts';
import { FrameReader } from '../../src/lean/frame-reader.ts';
import { literal, requestHead } from '../../src/lean/hpack-encoder.ts';
import { Http2Connection } from '../../src/lean/http2-connection.ts';
import { UnaryResponse } from '../../src/lean/unary-response.ts';
import { UnaryStream } from '../../src/lean/unary-stream.ts';

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

const MAX_CONCURRENT_STREAMS = 3;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;

/** A connection under test, whose peer is the test. */
class Peer {
  readonly sent: Frame[] = [];
  readonly actives: boolean[] = [];
  isDraining = false;
  readonly connection: Http2Connection;
  #skip = h2.PREFACE.length;
  readonly #reader = new FrameReader((type, flags, streamId, payload) =>
    this.sent.push({ type, flags, streamId, payload: Buffer.from(payload) }),
  );

  constructor(settings: readonly (readonly [number, number])[] = []) {
    this.connection = new Http2Connection({
      write: (bytes) => {
        this.#reader.push(bytes.subarray(this.#skip));
        this.#skip = 0;
      },
      onReady: () => {},
      onDraining: () => {
        this.isDraining = true;
      },
      onActive: (isActive) => this.actives.push(isActive),
    });
    this.connection.open();
    this.connection.receive(h2.settingsFrame(settings));
    this.sent.length = 0;
  }

  call(body: Buffer = Buffer.from('request')): UnaryStream<string> {
    const response = new UnaryResponse((bytes) => Buffer.from(bytes).toString(), 1_000_000);
    const stream = new UnaryStream({ head: requestHead('/a/B', 'test'), body, response, onOutcome: () => {} });
    this.connection.start(stream);
    return stream;
  }

  /** Returns types and streams of the frames that were sent since the previous call of this method. */
  taken(): string[] {
    return this.sent.splice(0).map(({ type, streamId }) => `${type}:${streamId}`);
  }

  receive(...frames: readonly Buffer[]): void {
    this.connection.receive(Buffer.concat(frames));
  }
}

function headers(streamId: number, fields: Readonly<Record<string, string>>, isEnd = false): Buffer {
  const block = Buffer.concat(Object.entries(fields).map(([name, value]) => literal(name, value)));
  return h2.frame(h2.HEADERS, h2.END_HEADERS | (isEnd ? h2.END_STREAM : 0), streamId, block);
}

function message(streamId: number, text: string): Buffer {
  const data = Buffer.concat([Buffer.from([0, 0, 0, 0, text.length]), Buffer.from(text)]);
  return h2.frame(h2.DATA, 0, streamId, data);
}

const answer = (streamId: number, text: string): Buffer =>
  Buffer.concat([
    headers(streamId, { ':status': '200' }),
    message(streamId, text),
    headers(streamId, { 'grpc-status': '0' }, true),
  ]);

const update = (streamId: number, bytes: number): Buffer => h2.numbersFrame(h2.WINDOW_UPDATE, streamId, bytes);

describe('requests', () => {
  test('a lean gRPC request is one HEADERS frame and one DATA frame that ends the stream; stream numbers are odd', () => {
    const peer = new Peer();
    peer.call();
    peer.call();
    expect(peer.sent.map(({ flags }) => flags)).toEqual([4, 1, 4, 1]);
    expect(peer.taken()).toEqual(['1:1', '0:1', '1:3', '0:3']);
  });

  test("only the first header block of a lean gRPC connection sets the dynamic table's size to 0", () => {
    const peer = new Peer();
    peer.call();
    peer.call();
    expect(peer.sent.filter(({ type }) => type === 1).map(({ payload }) => payload[0])).toEqual([0x20, 0x83]);
  });

  test('a lean gRPC request waits for the windows of its stream and connection, and continues after WINDOW_UPDATE', () => {
    const peer = new Peer([[INITIAL_WINDOW_SIZE, 10]]);
    const stream = peer.call(Buffer.alloc(100_000, 'x'));
    expect(peer.sent.map(({ payload }) => payload.length).slice(1)).toEqual([10]);
    peer.receive(update(1, 99_990));
    expect(peer.taken()).toHaveLength(2 + 4);
    expect(stream.unsent).toHaveLength(100_000 - 65_535);
    peer.receive(update(0, 1_000_000));
    expect(stream.unsent).toHaveLength(0);
    expect(peer.sent.at(-1)).toMatchObject({ type: h2.DATA, flags: h2.END_STREAM });
  });

  test('a lean gRPC request continues when the peer raises its initial window, and waits when the peer lowers it', () => {
    const peer = new Peer([[INITIAL_WINDOW_SIZE, 10]]);
    const stream = peer.call(Buffer.alloc(30));
    peer.receive(h2.settingsFrame([[INITIAL_WINDOW_SIZE, 5]]));
    peer.receive(h2.settingsFrame([[INITIAL_WINDOW_SIZE, 20]]));
    expect(stream.unsent).toHaveLength(10);
    peer.receive(update(1, 10));
    expect(stream.unsent).toHaveLength(0);
  });

  test("lean gRPC requests larger than the peer's frame size are split, headers too", () => {
    const peer = new Peer([[MAX_FRAME_SIZE, 16_384]]);
    const response = new UnaryResponse((bytes) => bytes, 1000);
    const head = Buffer.concat([requestHead('/a/B', 'test'), literal('baggage', 'b'.repeat(40_000))]);
    peer.connection.start(new UnaryStream({ head, body: Buffer.alloc(20_000), response, onOutcome: () => {} }));
    expect(peer.sent.map(({ type, flags }) => `${type}:${flags}`)).toEqual(['1:0', '9:0', '9:4', '0:0', '0:1']);
  });

  test("lean gRPC requests above the peer's limit of streams wait, and start in the order of the calls", () => {
    const peer = new Peer([[MAX_CONCURRENT_STREAMS, 2]]);
    const calls = [peer.call(), peer.call(), peer.call(), peer.call()];
    expect(peer.taken()).toEqual(['1:1', '0:1', '1:3', '0:3']);
    peer.receive(answer(3, 'second'));
    expect(peer.taken()).toEqual(['1:5', '0:5']);
    peer.receive(h2.settingsFrame([[MAX_CONCURRENT_STREAMS, 10]]));
    expect(peer.taken()).toEqual(['4:0', '1:7', '0:7']);
    expect(calls.map(({ id }) => id)).toEqual([1, 3, 5, 7]);
  });

  test('lean gRPC requests that are cancelled while they wait for a stream are never sent', () => {
    const peer = new Peer([[MAX_CONCURRENT_STREAMS, 1]]);
    peer.call();
    const second = peer.call();
    peer.taken();
    peer.connection.cancel(second, { code: 'CANCELLED', details: 'no' });
    peer.receive(answer(1, 'first'));
    expect(peer.taken()).toEqual([]);
    expect(second.response.outcome).toEqual({ failure: { code: 'CANCELLED', details: 'no' } });
  });

  test('a cancelled lean gRPC request is reset at the peer, and its late frames are ignored', () => {
    const peer = new Peer();
    const first = peer.call();
    const second = peer.call();
    peer.taken();
    peer.connection.cancel(first, { code: 'CANCELLED', details: 'no' });
    expect(peer.sent[0]).toMatchObject({
      type: h2.RST_STREAM,
      streamId: 1,
      payload: Buffer.from([0, 0, 0, h2.CANCEL]),
    });
    peer.receive(answer(1, 'late'), answer(3, 'second'));
    expect(second.response.outcome).toEqual({ message: 'second' });
  });
});

describe('responses', () => {
  test('lean gRPC responses larger than the windows get WINDOW_UPDATE for their streams and for the connection', () => {
    const peer = new Peer();
    const calls = [peer.call(), peer.call(), peer.call()];
    for (const { id } of calls) {
      const data = Buffer.alloc(900_005, 'x');
      data.writeUIntBE(900_000, 0, 5);
      peer.receive(headers(id, { ':status': '200' }));
      for (let at = 0; at < data.length; at += 16_384) {
        peer.receive(h2.frame(h2.DATA, 0, id, data.subarray(at, at + 16_384)));
      }
      peer.receive(headers(id, { 'grpc-status': '0' }, true));
    }
    const updates = peer.sent.filter(({ type }) => type === h2.WINDOW_UPDATE);
    expect(updates.map(({ streamId }) => streamId)).toEqual([1, 3, 0, 5]);
    expect(calls.map(({ response: { outcome } }) => outcome)).toEqual(
      Array.from({ length: 3 }, () => ({ message: 'x'.repeat(900_000) })),
    );
  });

  test('lean gRPC responses in interleaved frames reach their calls', () => {
    const peer = new Peer();
    const calls = [peer.call(), peer.call()];
    peer.receive(headers(3, { ':status': '200' }), headers(1, { ':status': '200' }), message(1, 'one'));
    peer.receive(message(3, 'three'), headers(3, { 'grpc-status': '0' }, true));
    expect(calls.map(({ response }) => response.outcome)).toEqual([undefined, { message: 'three' }]);
    peer.receive(headers(1, { 'grpc-status': '5', 'grpc-message': 'gone' }, true));
    expect(calls[0]?.response.outcome).toEqual({ failure: { code: 'NOT_FOUND', details: 'gone' } });
  });

  test('a lean gRPC response with two messages fails, and the stream is reset', () => {
    const peer = new Peer();
    const { response } = peer.call();
    peer.taken();
    peer.receive(headers(1, { ':status': '200' }), message(1, 'one'), message(1, 'two'));
    expect(response.outcome).toMatchObject({
      failure: { code: 'INTERNAL', details: expect.stringMatching(/cardinality violation/) },
    });
    expect(peer.taken()).toEqual(['3:1']);
  });

  test.each([
    ['legal', 'x'.repeat(3950)],
    ['illegal', `${'x'.repeat(3949)}\x01`],
  ])(
    'a lean gRPC response whose headers repeat a large %s field by references is reset with ENHANCE_YOUR_CALM',
    (_, value) => {
      const peer = new Peer();
      const { response } = peer.call();
      peer.taken();
      const large = Buffer.concat([Buffer.of(0x40), literal('a', value).subarray(1)]);
      const block = Buffer.concat([literal(':status', '103'), large, Buffer.alloc(10_000, 0xbe)]);
      peer.receive(h2.frame(h2.HEADERS, h2.END_HEADERS, 1, block));
      expect(response.outcome).toMatchObject({ failure: { code: 'RESOURCE_EXHAUSTED' } });
      expect(peer.sent).toMatchObject([{ type: h2.RST_STREAM, payload: Buffer.from([0, 0, 0, h2.ENHANCE_YOUR_CALM]) }]);
    },
  );

  test('a lean gRPC response may have 5 informational header blocks; the sixth resets the stream with ENHANCE_YOUR_CALM', () => {
    const peer = new Peer();
    const calls = [peer.call(), peer.call()];
    peer.taken();
    for (let i = 0; i < 5; i++) peer.receive(headers(1, { ':status': '103' }), headers(3, { ':status': '100' }));
    peer.receive(answer(1, 'first'), headers(3, { ':status': '100' }));
    expect(calls.map(({ response }) => response.outcome)).toMatchObject([
      { message: 'first' },
      { failure: { code: 'RESOURCE_EXHAUSTED' } },
    ]);
    expect(peer.sent).toMatchObject([{ streamId: 3, payload: Buffer.from([0, 0, 0, h2.ENHANCE_YOUR_CALM]) }]);
  });

  test('a lean gRPC response that ends before the whole request was sent ends the request', () => {
    const peer = new Peer([[INITIAL_WINDOW_SIZE, 1]]);
    peer.call();
    peer.taken();
    peer.receive(headers(1, { ':status': '200', 'grpc-status': '8' }, true));
    expect(peer.taken()).toEqual(['3:1']);
    peer.receive(update(1, 1000));
    expect(peer.taken()).toEqual([]);
  });
});

describe('the connection', () => {
  test('a lean HTTP/2 connection answers PING with the same 8 bytes, and SETTINGS with an acknowledgement', () => {
    const peer = new Peer();
    peer.receive(h2.frame(h2.PING, 0, 0, Buffer.from('12345678')), h2.settingsFrame([]));
    expect(peer.sent).toMatchObject([
      { type: h2.PING, flags: h2.ACK, payload: Buffer.from('12345678') },
      { type: h2.SETTINGS, flags: h2.ACK },
    ]);
  });

  test('after GOAWAY without an error, a lean HTTP/2 connection finishes the calls that the peer has accepted, and fails the others', () => {
    const peer = new Peer([[MAX_CONCURRENT_STREAMS, 2]]);
    const calls = [peer.call(), peer.call(), peer.call()];
    peer.receive(h2.numbersFrame(h2.GOAWAY, 0, 1, 0));
    expect(peer.isDraining).toBe(true);
    peer.receive(answer(1, 'first'));
    const refused = { failure: { code: 'UNAVAILABLE', details: 'Stream refused by server' } };
    expect(calls.map(({ response }) => response.outcome)).toEqual([{ message: 'first' }, refused, refused]);
  });

  test('after GOAWAY with an error, a lean HTTP/2 connection fails all calls', () => {
    const peer = new Peer();
    const call = peer.call();
    peer.receive(h2.numbersFrame(h2.GOAWAY, 0, 1, h2.ENHANCE_YOUR_CALM));
    expect(call.response.outcome).toMatchObject({ failure: { code: 'RESOURCE_EXHAUSTED' } });
  });

  test('a lean HTTP/2 connection reports when the first call begins and the last call ends', () => {
    const peer = new Peer();
    peer.call();
    peer.call();
    expect(peer.actives).toEqual([true]);
    peer.receive(answer(1, 'a'), answer(3, 'b'));
    expect(peer.actives).toEqual([true, false]);
  });

  test.each([
    ['DATA without a stream', h2.frame(h2.DATA, 0, 0, Buffer.alloc(1)), h2.PROTOCOL_ERROR],
    ['DATA before the headers', message(1, 'x'), h2.PROTOCOL_ERROR],
    ['DATA of a stream that was not opened', message(5, 'x'), h2.PROTOCOL_ERROR],
    ['HEADERS of a stream of the server', headers(2, { ':status': '200' }), h2.PROTOCOL_ERROR],
    ['CONTINUATION without HEADERS', h2.frame(h2.CONTINUATION, 4, 1, Buffer.alloc(1)), h2.PROTOCOL_ERROR],
    ['a frame within a header block', Buffer.concat([h2.frame(h2.HEADERS, 0, 1, Buffer.alloc(0)), message(1, 'x')]), 1],
    ['PUSH_PROMISE', h2.frame(5, 4, 1, Buffer.from([0, 0, 0, 2])), h2.PROTOCOL_ERROR],
    ['RST_STREAM of 3 bytes', h2.frame(h2.RST_STREAM, 0, 1, Buffer.alloc(3)), h2.FRAME_SIZE_ERROR],
    ['PING of 7 bytes', h2.frame(h2.PING, 0, 0, Buffer.alloc(7)), h2.FRAME_SIZE_ERROR],
    ['a PING acknowledgement', h2.frame(h2.PING, 1, 0, Buffer.alloc(8)), h2.PROTOCOL_ERROR],
    ['SETTINGS of a stream', h2.frame(h2.SETTINGS, 0, 1, Buffer.alloc(0)), h2.PROTOCOL_ERROR],
    ['GOAWAY of 7 bytes', h2.frame(h2.GOAWAY, 0, 0, Buffer.alloc(7)), h2.FRAME_SIZE_ERROR],
    ['WINDOW_UPDATE by 0', update(0, 0), h2.PROTOCOL_ERROR],
    ['a window above 2^31-1', update(0, 2 ** 31 - 1), h2.FLOW_CONTROL_ERROR],
    ['a header block that is no HPACK', h2.frame(h2.HEADERS, 4, 1, Buffer.of(0x80)), h2.COMPRESSION_ERROR],
  ])('a lean HTTP/2 connection is ended by %s with the error code $2', (_, bytes, code) => {
    const peer = new Peer();
    peer.call();
    expect(() => peer.receive(bytes)).toThrow(expect.objectContaining({ name: 'ConnectionError', code }));
  });

  test('a lean HTTP/2 connection is ended by more data than its window admits', () => {
    const peer = new Peer();
    for (let i = 0; i < 300; i++) peer.call();
    // All data arrive in one chunk, so that the client cannot announce more in between.
    const begin = Buffer.concat([Buffer.from([0, 0, 0, 0x40, 0]), Buffer.alloc(16_379)]);
    const data = Array.from({ length: 257 }, (_, i) => [
      headers(2 * i + 1, { ':status': '200' }),
      h2.frame(h2.DATA, 0, 2 * i + 1, begin),
    ]);
    const error = expect.objectContaining({ code: h2.FLOW_CONTROL_ERROR });
    expect(() => peer.receive(...data.flat())).toThrow(error);
  });

  test.each([
    ['is ready after SETTINGS', [], 1],
    ['is never ready if GOAWAY arrives together with the first SETTINGS', [h2.numbersFrame(h2.GOAWAY, 0, 0, 0)], 0],
  ])('a lean HTTP/2 connection %s', (_, more, expected) => {
    let ready = 0;
    const connection = new Http2Connection({ write() {}, onReady: () => void ready++, onDraining() {}, onActive() {} });
    connection.receive(Buffer.concat([h2.settingsFrame([]), ...more]));
    expect(ready).toBe(expected);
  });

  test('a lean HTTP/2 connection must begin with SETTINGS', () => {
    const connection = new Http2Connection({ write() {}, onReady() {}, onDraining() {}, onActive() {} });
    expect(() => connection.receive(h2.frame(h2.PING, 0, 0, Buffer.alloc(8)))).toThrow(
      'the first frame is not SETTINGS',
    );
  });
});
