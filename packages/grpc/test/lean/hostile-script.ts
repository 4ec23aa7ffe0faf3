import * as h2 from '../../src/lean/frame.ts';
import type { HeaderField } from '../../src/lean/static-table.ts';
import type { Chance } from './chance.ts';
import { HpackWriter } from './hpack-writer.ts';

/**
 * Bytes that a server sends in a test. The settings are sent when a client connects, and the pieces after the client's
 * requests.
 */
export interface Script {
  readonly settings: Buffer;
  readonly pieces: readonly Buffer[];
  /** Whether the pieces are sent without waiting for the client's requests. */
  readonly isEarly: boolean;
  /** Time between pieces, in milliseconds. */
  readonly pauseMs: number;
  readonly description: string;
}

/** Returns a script with responses to the calls on streams 1, 3, ... The responses are mutated at random. */
export function hostileScript(random: Chance, calls: number): Script {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const upTo = (n: number): number => Math.floor(random() * n);
  const hpack = new HpackWriter(random);
  const streams = Array.from({ length: calls }, (_, i) => response(2 * i + 1, hpack, random));
  const frames = interleave(streams, random);
  const notes: string[] = [];
  const settings = [
    h2.settingsFrame(
      upTo(3) === 0
        ? [
            [3, 100 + upTo(9)],
            [4, 65_535 + upTo(9999)],
          ]
        : [],
    ),
  ];
  const target = upTo(20) === 0 ? settings : frames;
  for (let n = upTo(3); n > 0; n--) mutateFrames(target, random, notes);
  let bytes = Buffer.concat(frames);
  for (let n = upTo(5) - 2; n > 0 && bytes.length > 0; n--) {
    const kind = upTo(5);
    const at = upTo(bytes.length);
    const length = 1 + upTo(pick([1, 9, 300]));
    notes.push(`bytes:${kind}@${at}+${length}`);
    if (kind === 0) bytes[at] = (bytes[at] ?? 0) ^ (1 << upTo(8));
    else if (kind === 1) bytes[at] = upTo(256);
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    else if (kind === 3) bytes = Buffer.concat([bytes.subarray(0, at), noise(length, random), bytes.subarray(at)]);
    else bytes = bytes.subarray(0, at);
  }
  return {
    settings: Buffer.concat(settings),
    pieces: cut(bytes, random),
    isEarly: upTo(40) === 0,
    pauseMs: 0,
    description: notes.join(' '),
  };
}

/** Returns the same script with its bytes cut into other pieces. */
export function recut(script: Script, random: Chance): Script {
  return { ...script, pieces: cut(Buffer.concat(script.pieces), random) };
}

/** Returns the same script with one frame in each piece, and a pause between the pieces. */
export function byFrame(script: Script, pauseMs: number): Script {
  const bytes = Buffer.concat(script.pieces);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.length - at < 9 ? bytes.length : 9 + bytes.readUIntBE(at, 3);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return { ...script, pieces, pauseMs };
}

function cut(bytes: Buffer, random: Chance): Buffer[] {
  const mean = [Number.POSITIVE_INFINITY, 3, 20, 200][Math.floor(random() * 4)] ?? 20;
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length && pieces.length < 40; ) {
    const length = mean === Number.POSITIVE_INFINITY ? bytes.length : 1 + Math.floor(random() * 2 * mean);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
    if (pieces.length === 40) pieces.push(bytes.subarray(at));
  }
  return pieces;
}

function noise(length: number, random: Chance): Buffer {
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
}

const EXTRAS: readonly HeaderField[] = [
  ['x-trace', 'abc'],
  ['server', 'hostile'],
  ['grpc-encoding', 'identity'],
  ['content-length', '12'],
  ['set-cookie', 'a=b'],
  ['x-empty', ''],
  ['date', 'Mon, 01 Jan 2029 00:00:00 GMT'],
  ['x-Upper', 'case'],
  ['connection', 'close'],
  ['te', 'trailers'],
  ['x-bin', 'AAEC'],
  ['grpc-status-details-bin', 'CAUSA3h5eg=='],
  ['x-long', 'v'.repeat(500)],
  ['bad name', 'x'],
  ['x-control', 'a\u0001b'],
  ['x-high', 'caf\u00e9'],
];

/** Returns functions that create the frames of one response, in their order. */
function response(streamId: number, hpack: HpackWriter, random: Chance): (() => Buffer[])[] {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const chance = (probability: number): boolean => random() < probability;
  const some = (): HeaderField[] => (chance(0.85) ? [] : [pick(EXTRAS), ...(chance(0.3) ? [pick(EXTRAS)] : [])]);
  const status = chance(0.95)
    ? '200'
    : pick(['100', '103', '204', '304', '400', '404', '429', '503', '999', '20', 'abc']);
  const grpcStatus = chance(0.7)
    ? '0'
    : pick(['1', '2', '4', '5', '8', '12', '13', '14', '16', '17', '99', '', ' 0', 'x', '0x0', '-1', '5.5']);
  const message = chance(0.6)
    ? []
    : [['grpc-message', pick(['', 'not found', 'caf%C3%A9', '%', '%zz', 'a, b', 'x%20y'])] as const];
  const trailers = (): HeaderField[] => [
    ...(chance(0.95) ? [['grpc-status', grpcStatus] as const] : []),
    ...message,
    ...some(),
  ];
  const headers = (fields: readonly HeaderField[], isEnd: boolean) => () =>
    headerFrames(streamId, hpack.block(fields), isEnd, random);
  const first: HeaderField[] = [[':status', status], ['content-type', 'application/grpc'], ...some()];
  if (chance(0.15)) return [headers([...first, ...trailers()], true)];
  const informational = chance(0.05) ? [headers([[':status', pick(['100', '103', '101'])]], chance(0.1))] : [];
  const texts = chance(0.9) ? [`answer ${streamId}`] : pick([[], ['a', 'b'], ['x'.repeat(3000)], ['']]);
  const data = Buffer.concat(texts.map((text) => grpcMessage(text, random)));
  const parts: Buffer[] = [];
  for (let at = 0; at < data.length; ) {
    const length = chance(0.7) ? data.length : 1 + Math.floor(random() * data.length);
    parts.push(data.subarray(at, at + length));
    at += length;
  }
  const endsWithData = chance(0.03);
  return [
    ...informational,
    headers(first, chance(0.01)),
    ...parts.map((part, i) => () => [dataFrame(streamId, part, endsWithData && i === parts.length - 1, random)]),
    ...(endsWithData ? [] : [headers(trailers(), chance(0.98))]),
  ];
}

/** Returns a gRPC message with one text field of number 1, like the message of the echo RPC. */
function grpcMessage(text: string, random: Chance): Buffer {
  const field =
    text === '' ? Buffer.alloc(0) : Buffer.concat([Buffer.from([10, ...varint(text.length)]), Buffer.from(text)]);
  const prefix = Buffer.alloc(5);
  const kind = random();
  prefix[0] = kind < 0.02 ? 1 : kind < 0.03 ? 7 : 0;
  prefix.writeUInt32BE(kind > 0.98 ? 100_000 + Math.floor(random() * 1e9) : field.length, 1);
  return Buffer.concat([prefix, field]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

function headerFrames(streamId: number, block: Buffer, isEnd: boolean, random: Chance): Buffer[] {
  const end = isEnd ? h2.END_STREAM : 0;
  if (random() < 0.1) {
    const at = Math.floor(random() * block.length);
    const rest = block.subarray(at);
    const middle = Math.floor(random() * rest.length);
    return [
      h2.frame(h2.HEADERS, end, streamId, block.subarray(0, at)),
      h2.frame(h2.CONTINUATION, 0, streamId, rest.subarray(0, middle)),
      h2.frame(h2.CONTINUATION, h2.END_HEADERS, streamId, rest.subarray(middle)),
    ];
  }
  if (random() < 0.1) {
    const priority = Buffer.from([0x80, 0, 0, random() < 0.1 ? streamId : 0, 9]);
    const payload = Buffer.concat([Buffer.of(3), priority, block, Buffer.alloc(3)]);
    return [h2.frame(h2.HEADERS, end | h2.END_HEADERS | h2.PADDED | h2.PRIORITY_FLAG, streamId, payload)];
  }
  return [h2.frame(h2.HEADERS, end | h2.END_HEADERS, streamId, block)];
}

function dataFrame(streamId: number, data: Buffer, isEnd: boolean, random: Chance): Buffer {
  const end = isEnd ? h2.END_STREAM : 0;
  if (random() < 0.9) return h2.frame(h2.DATA, end, streamId, data);
  const padding = Math.floor(random() * 20);
  return h2.frame(h2.DATA, end | h2.PADDED, streamId, Buffer.concat([Buffer.of(padding), data, Buffer.alloc(padding)]));
}

/** Interleaves the frames of several streams at random, and adds frames of the connection between them. */
function interleave(streams: (() => Buffer[])[][], random: Chance): Buffer[] {
  const frames: Buffer[] = [];
  const left = streams.map((parts) => [...parts]);
  while (left.some((parts) => parts.length > 0)) {
    const parts = left[Math.floor(random() * left.length)];
    const next = parts?.shift();
    if (next === undefined) continue;
    if (random() < 0.04) frames.push(connectionFrame(random, streams.length));
    frames.push(...next());
  }
  return frames;
}

function connectionFrame(random: Chance, calls: number): Buffer {
  const upTo = (n: number): number => Math.floor(random() * n);
  const streamId = random() < 0.5 ? 0 : 2 * upTo(calls + 1) + 1;
  switch (upTo(8)) {
    case 0:
      return h2.frame(h2.PING, upTo(2), 0, noise(8, random));
    case 1:
      return h2.settingsFrame([[upTo(10), upTo(3) === 0 ? upTo(2 ** 32) : upTo(70_000)]]);
    case 2:
      return h2.numbersFrame(h2.WINDOW_UPDATE, streamId, upTo(3) === 0 ? upTo(2 ** 32) : upTo(70_000));
    case 3:
      return h2.frame(2, 0, streamId, noise(5, random));
    case 4:
      return h2.frame(0x20 + upTo(200), upTo(256), streamId, noise(upTo(30), random));
    case 5:
      return h2.numbersFrame(h2.GOAWAY, 0, random() < 0.7 ? 2 * upTo(calls + 1) + 1 : upTo(9), upTo(14));
    case 6:
      return h2.numbersFrame(h2.RST_STREAM, streamId, upTo(15));
    default:
      return h2.frame(h2.SETTINGS, h2.ACK, 0, Buffer.alloc(0));
  }
}

/** Applies one random change to a list of frames, such as the removal of a frame. */
function mutateFrames(frames: Buffer[], random: Chance, notes: string[]): void {
  const upTo = (n: number): number => Math.floor(random() * n);
  const at = upTo(frames.length);
  const victim = frames[at];
  if (victim === undefined) return;
  const kind = upTo(11);
  notes.push(`frames:${kind}@${at}`);
  const copy = Buffer.from(victim);
  switch (kind) {
    case 0:
      frames.splice(at, 1);
      return;
    case 1:
      frames.splice(upTo(frames.length + 1), 0, copy);
      return;
    case 2: {
      const other = upTo(frames.length);
      [frames[at], frames[other]] = [frames[other] ?? copy, copy];
      return;
    }
    case 3:
      copy.writeUIntBE(upTo(4) === 0 ? upTo(2 ** 24) : upTo(copy.length + 9), 0, 3);
      break;
    case 4:
      copy[3] = upTo(12);
      break;
    case 5:
      copy[4] = (copy[4] ?? 0) ^ (1 << upTo(8));
      break;
    case 6:
      copy.writeUInt32BE(upTo(8), 5);
      break;
    case 7:
      frames.splice(at, 0, h2.frame(upTo(12), upTo(256), upTo(8), noise(upTo(40), random)));
      return;
    case 8:
      frames.splice(at, 0, h2.frame(upTo(10), upTo(256), upTo(6), Buffer.alloc(16_380 + upTo(10))));
      return;
    case 9:
      if (copy.length > 9) copy[9 + upTo(copy.length - 9)] = upTo(256);
      break;
    default:
      frames.splice(
        at,
        1,
        h2.frame(copy[3] ?? 0, copy[4] ?? 0, copy.readUInt32BE(5), copy.subarray(9, 9 + upTo(copy.length))),
      );
      return;
  }
  frames[at] = copy;
}
