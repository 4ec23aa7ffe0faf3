import protobuf from 'protobufjs';
import {
  copyBool,
  copyBytes,
  copyDouble,
  copyInt32,
  copyInt32s,
  copyInt64,
  copyInt64s,
  copyMap,
  copyMessage,
  copyMessages,
  copyString,
  copyStrings,
  copyUint32,
  copyUint64,
  type Init,
  messageType,
  noBytes,
  putBool,
  putBytes,
  putDouble,
  putInt32,
  putInt32s,
  putInt64,
  putInt64s,
  putMap,
  putMessage,
  putMessages,
  putString,
  putStrings,
  putUint32,
  putUint64,
  type Reader,
  readMapEntry,
  readMessage,
  readPacked,
  strictMessageType,
  type Writer,
} from '../src/wire-format.ts';

/** A message with a field of every supported kind. */
export interface All {
  text: string;
  texts: string[];
  flag: boolean;
  raw: Uint8Array;
  share: number;
  small: number;
  count: number;
  large: number;
  size: number;
  smalls: number[];
  larges: number[];
  labels: Record<string, string>;
  inner: All | null;
  inners: All[];
}

/** The same message type, parsed by protobufjs from a .proto. */
export const theirs: protobuf.Type = protobuf
  .parse(
    `syntax = "proto3"; package demo; message All {
      string text = 1; repeated string texts = 2; bool flag = 3; bytes raw = 4; double share = 5; int32 small = 6; uint32 count = 7;
      int64 large = 8; uint64 size = 9; repeated int32 smalls = 10; repeated int64 larges = 11; map<string, string> labels = 12;
      All inner = 13; repeated All inners = 20;
    }`,
  )
  .root.lookupType('demo.All');

export function none(): All {
  return {
    ...{ text: '', texts: [], flag: false, raw: noBytes, share: 0, small: 0, count: 0, large: 0, size: 0 },
    ...{ smalls: [], larges: [], labels: {}, inner: null, inners: [] },
  };
}

// This function has the form of the encoders that this package's `scripts/emit-codec.mjs` generates.
function encode(m: Init<All>, w: Writer): void {
  putString(w, 10, m.text, 'All.text');
  putStrings(w, 18, m.texts, 'All.texts');
  putBool(w, 24, m.flag, 'All.flag');
  putBytes(w, 34, m.raw, 'All.raw');
  putDouble(w, 41, m.share, 'All.share');
  putInt32(w, 48, m.small, 'All.small');
  putUint32(w, 56, m.count, 'All.count');
  putInt64(w, 64, m.large, 'All.large');
  putUint64(w, 72, m.size, 'All.size');
  putInt32s(w, 82, m.smalls, 'All.smalls');
  putInt64s(w, 90, m.larges, 'All.larges');
  putMap(w, 98, m.labels, 'All.labels');
  putMessage(w, 106, m.inner, encode, 'All.inner');
  putMessages(w, 162, m.inners, encode, 'All.inners');
}

const READ: Readonly<Record<number, (r: Reader, m: All) => unknown>> = {
  10: (r, m) => (m.text = r.string()),
  18: (r, m) => m.texts.push(r.string()),
  24: (r, m) => (m.flag = r.bool()),
  34: (r, m) => (m.raw = r.bytes()),
  41: (r, m) => (m.share = r.double()),
  48: (r, m) => (m.small = r.int32()),
  56: (r, m) => (m.count = r.uint32()),
  64: (r, m) => (m.large = r.int64()),
  72: (r, m) => (m.size = r.uint64()),
  80: (r, m) => m.smalls.push(r.int32()),
  82: (r, m) => readPacked(r, () => m.smalls.push(r.int32())),
  90: (r, m) => readPacked(r, () => m.larges.push(r.int64())),
  98: (r, m) => readMapEntry(r, m.labels),
  106: (r, m) => (m.inner = readMessage(r, decode, m.inner)),
  162: (r, m) => m.inners.push(readMessage(r, decode)),
};

function decode(r: Reader, end: number, into: All = none()): All {
  while (r.pos < end) {
    const tag = r.uint32();
    const read = READ[tag];
    if (read === undefined) r.skip(tag);
    else read(r, into);
  }
  return into;
}

function create(m: Init<All>): All {
  return {
    text: copyString(m.text, 'All.text'),
    texts: copyStrings(m.texts, 'All.texts'),
    flag: copyBool(m.flag, 'All.flag'),
    raw: copyBytes(m.raw, 'All.raw'),
    share: copyDouble(m.share, 'All.share'),
    small: copyInt32(m.small, 'All.small'),
    count: copyUint32(m.count, 'All.count'),
    large: copyInt64(m.large, 'All.large'),
    size: copyUint64(m.size, 'All.size'),
    smalls: copyInt32s(m.smalls, 'All.smalls'),
    larges: copyInt64s(m.larges, 'All.larges'),
    labels: copyMap(m.labels, 'All.labels'),
    inner: copyMessage<All>(m.inner, create, 'All.inner'),
    inners: copyMessages<All>(m.inners, create, 'All.inners'),
  };
}

export const all: ReturnType<typeof messageType<All>> = messageType('demo.All', encode, decode, create);
export const strictAll: ReturnType<typeof messageType<All>> = strictMessageType('demo.All', encode, decode, create);
