import { type Duplex, duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import {
  controlFrame,
  dataFrames,
  FIN,
  FrameReader,
  frameTypes,
  resets,
  type SpdyFrame,
  words,
} from '../src/frames.ts';
import { HeaderPacker } from '../src/header-block.ts';
import { SpdyConnection, type SpdyConnectionOptions, SpdyError, type SpdyStream } from '../src/index.ts';
import { deflater, headerBlock } from './deflater.ts';

/** Returns two ends of a connection. Streams that the client opens are passed to `onStream` of the server. */
function pair(onStream: (stream: SpdyStream) => boolean): {
  client: SpdyConnection;
  server: SpdyConnection;
  wire: Duplex;
} {
  const [near, far] = duplexPair();
  const client = new SpdyConnection(near, { role: 'client' });
  return { client, server: new SpdyConnection(far, { role: 'server', onStream }), wire: near };
}

test('opens several streams with headers, and half-closes each of them separately', async () => {
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

test('joins small pieces into one frame in their order, and sends large pieces as frames of their own', async () => {
  const [near, far] = duplexPair();
  const client = new SpdyConnection(near, { role: 'client' });
  const reader = new FrameReader();
  const said: string[] = [];
  far.on('data', (chunk: Buffer) => {
    for (const frame of reader.read(chunk)) {
      if (frame.kind === 'data') said.push(frame.payload.toString());
      else if (frame.type === frameTypes.synStream)
        far.write(controlFrame(frameTypes.synReply, 0, words(1), new HeaderPacker().pack({})));
    }
  });
  const stream = await client.open({ name: 'a' });
  const pieces = Array.from({ length: 1000 }, (_, n) => `${n},`);
  for (const piece of pieces) stream.write(piece);
  await new Promise((resolve) => stream.write('x', resolve));
  expect(said.join('')).toBe(`${pieces.join('')}x`);
  expect(said.length).toBeLessThan(4);
  said.length = 0;
  for (const letter of 'abc') stream.write(letter.repeat(2000));
  await new Promise((resolve) => stream.write('', resolve));
  expect(said.join('')).toBe(['a', 'b', 'c'].map((letter) => letter.repeat(2000)).join(''));
  client.destroy();
});

test('resets a stream that the server refuses, and leaves the other streams open', async () => {
  const { client } = pair((stream) => {
    if (stream.headers.name === 'bad') return false;
    stream.end('good');
    return true;
  });
  await expect(client.open({ name: 'bad' })).rejects.toThrow('the stream was reset');
  expect(await text(await client.open({ name: 'good' }))).toBe('good');
});

test('delivers the data before a reset to the other end, then the reset', async () => {
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

test('blocks the writer while the reader does not read, and unblocks it when the connection breaks', async () => {
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
  // Data that had arrived can still be read, and then the stream ends.
  let size = 0;
  for await (const piece of unread) size += piece.length;
  expect(size).toBeGreaterThan(0);
});

test('a SPDY connection responds to pings, and rejects new streams after GOAWAY', async () => {
  const [near, far] = duplexPair();
  new SpdyConnection(far, { role: 'server', onStream: () => true });
  const heard: SpdyFrame[] = [];
  const reader = new FrameReader();
  near.on('data', (chunk: Buffer) => heard.push(...reader.read(chunk)));
  near.write(controlFrame(frameTypes.ping, 0, words(1)));
  near.write(controlFrame(frameTypes.goAway, 0, words(0, 0)));
  near.write(controlFrame(frameTypes.synStream, 0, words(1, 0), Buffer.of(0, 0), new HeaderPacker().pack({})));
  await vi.waitFor(() =>
    expect(heard.map((frame) => frame.kind === 'control' && frame.type)).toEqual([
      frameTypes.ping,
      frameTypes.rstStream,
    ]),
  );
});

test('W3: arbitrary bytes end only their own connection', async () => {
  const property = fc.asyncProperty(fc.uint8Array({ minLength: 8, maxLength: 300 }), async (noise) => {
    const [near, far] = duplexPair();
    near.on('error', () => {});
    const server = new SpdyConnection(far, { role: 'server', onStream: (stream) => stream.resume() !== undefined });
    near.resume().end(Buffer.from(noise));
    await server.closed;
  });
  await fc.assert(property);
});

/** A connection that records its output for raw input bytes. */
function wire(options: Partial<SpdyConnectionOptions> = {}) {
  const [near, far] = duplexPair();
  near.on('error', () => {});
  const heard: SpdyFrame[] = [];
  const reader = new FrameReader();
  near.on('data', (chunk: Buffer) => heard.push(...reader.read(chunk)));
  return { near, heard, connection: new SpdyConnection(far, { role: 'client', ...options }) };
}

/** Each header block continues the zlib stream of the block before, so a skipped block would break all later ones. */
test('unpacks header blocks of streams that nothing reads', async () => {
  const { near, connection } = wire();
  const packer = deflater();
  const block = headerBlock([
    ['said', 'once and again, so that the second time is packed as a look back at the first'],
  ]);
  const reply = async (id: number) => controlFrame(frameTypes.synReply, 0, words(id), await packer(block));
  const first = connection.open({});
  near.write(controlFrame(frameTypes.synReply, 0, words(1), await packer(headerBlock([]))));
  await first;
  near.write(controlFrame(frameTypes.headers, 0, words(1), await packer(block)));
  const second = connection.open({});
  near.write(await reply(3));
  expect((await second).id).toBe(3);
});

test('ignores frames for unknown streams, and keeps the other streams open', async () => {
  const { near, connection } = wire();
  const opened = connection.open({});
  const packer = new HeaderPacker();
  near.write(controlFrame(frameTypes.rstStream, 0, words(99, resets.cancel)));
  near.write(Buffer.concat(dataFrames(99, Buffer.from('to nobody'), FIN)));
  near.write(controlFrame(frameTypes.synReply, 0, words(99), packer.pack({})));
  near.write(controlFrame(frameTypes.synReply, 0, words(1), packer.pack({})));
  near.write(controlFrame(frameTypes.synReply, 0, words(1), packer.pack({})));
  // A WINDOW_UPDATE of any size is ignored, too.
  near.write(controlFrame(frameTypes.windowUpdate, 0, words(1, 0x7fffffff)));
  near.write(controlFrame(frameTypes.windowUpdate, 0, words(0, 0xffffffff)));
  near.write(controlFrame(frameTypes.settings, 0, words(0xffffffff)));
  near.write(controlFrame(77, 0, Buffer.from('what is not known')));
  near.write(Buffer.concat(dataFrames(1, Buffer.from('to somebody'), FIN)));
  expect(await text(await opened)).toBe('to somebody');
});

test('refuses streams as a client, and above maxStreams as a server', async () => {
  const open = (id: number, packer: HeaderPacker) =>
    controlFrame(frameTypes.synStream, 0, words(id, 0), Buffer.of(0, 0), packer.pack({}));
  const answers = (heard: readonly SpdyFrame[]) =>
    heard.map((frame) => frame.kind === 'control' && [frame.type, ...frame.payload.subarray(0, 8)].join(' '));
  const client = wire();
  client.near.write(open(2, new HeaderPacker()));
  await vi.waitFor(() => expect(answers(client.heard)).toEqual(['3 0 0 0 2 0 0 0 5']));
  const taken: SpdyStream[] = [];
  const onStream = (stream: SpdyStream): boolean => taken.push(stream) > 0;
  const server = wire({ role: 'server', maxStreams: 2, onStream });
  const packer = new HeaderPacker();
  for (const id of [1, 3, 5]) server.near.write(open(id, packer));
  await vi.waitFor(() => expect(answers(server.heard).at(-1)).toBe('3 0 0 0 5 0 0 0 3'));
  expect(taken.map(({ id }) => id)).toEqual([1, 3]);
  taken[0]?.destroy();
  server.near.write(open(7, packer));
  await vi.waitFor(() => expect(server.connection.streams).toBe(2));
  expect(taken.map(({ id }) => id)).toEqual([1, 3, 7]);
});

test('W5: stops reading from an end that sends pings and does not read the replies', async () => {
  const [near, far] = duplexPair();
  new SpdyConnection(far, { role: 'client' });
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => controlFrame(frameTypes.ping, 0, words(2))));
  let written = 0;
  const write = (): void => {
    near.write(pings, () => {
      if (++written < 100) write();
    });
  };
  write();
  for (let turns = 0; turns < 500; turns++) await turn();
  const before = written;
  expect(before).toBeLessThan(50);
  for (let turns = 0; turns < 500; turns++) await turn();
  expect(written).toBe(before);
  near.resume();
  await vi.waitFor(() => expect(written).toBe(100));
});

test('sends no second ping while the first is unanswered', async () => {
  const { near, heard, connection } = wire();
  connection.ping();
  connection.ping();
  await turn();
  const pings = () => heard.map(({ payload }) => payload.readUInt32BE());
  expect(pings()).toEqual([1]);
  near.write(controlFrame(frameTypes.ping, 0, words(1)));
  for (let turns = 0; turns < 10; turns++) await turn();
  connection.ping();
  await turn();
  expect(pings()).toEqual([1, 3]);
});

test('opens no stream after the other end sent GOAWAY, and sends GOAWAY on close', async () => {
  const { near, heard, connection } = wire();
  near.write(controlFrame(frameTypes.goAway, 0, words(0, 0)));
  await turn();
  await turn();
  await expect(connection.open({})).rejects.toThrow(expect.objectContaining({ code: 'Closed' }));
  const ended = new Promise((resolve) => near.on('end', resolve));
  connection.close();
  await ended;
  expect(heard.map((frame) => frame.kind === 'control' && frame.type)).toEqual([frameTypes.goAway]);
});

test('a SPDY connection that closes because of an invalid frame has the error as its failure and ends open streams', async () => {
  const { near, connection } = wire();
  const opened = connection.open({});
  near.write(controlFrame(frameTypes.ping, 0, words(1, 2, 3)));
  await connection.closed;
  await expect(opened).rejects.toThrow('the connection is closed');
  expect(SpdyError.is(connection.failure)).toBe(true);
  expect(connection.failure?.code).toBe('Protocol');
});

test('sends no GOAWAY on hangUp, but everything that was written before', async () => {
  const { near, heard, connection } = wire();
  const packer = new HeaderPacker();
  const opened = connection.open({});
  near.write(controlFrame(frameTypes.synReply, 0, words(1), packer.pack({})));
  (await opened).write('the last of it');
  connection.hangUp();
  await new Promise((resolve) => near.on('end', resolve));
  expect(heard.map((frame) => (frame.kind === 'control' ? frame.type : frame.payload.toString()))).toEqual([
    frameTypes.synStream,
    'the last of it',
  ]);
  near.end();
  await connection.closed;
  await expect(connection.open({})).rejects.toThrow('the connection is closed');
});

test('a SPDY connection treats bytes of another protocol, such as HTTP, as data for a stream that neither end has opened', async () => {
  const [near, far] = duplexPair();
  const client = new SpdyConnection(near, { role: 'client' });
  const opened = client.open({ name: 'a' });
  far.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 1000000\r\n\r\n');
  await client.closed;
  expect(client.failure).toMatchObject({
    code: 'Protocol',
    message: 'data for stream 1213486160, which neither end has opened',
  });
  await expect(opened).rejects.toMatchObject({ code: 'Closed', cause: client.failure });
});
