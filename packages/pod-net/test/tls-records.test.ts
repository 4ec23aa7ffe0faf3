import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TlsRecords } from '../src/tls-records.ts';

const record = (type: number, length: number): Buffer =>
  Buffer.concat([Buffer.of(type, 3, 3, length >> 8, length & 255), Buffer.alloc(length, 22)]);
const HELLO = record(22, 90);
const CHANGE = record(20, 1);
const FINISHED = record(22, 40);
const DATA = record(23, 300);

/** Pushes bytes cut at the given offsets. Returns the first fault, if any, and whether the last record is complete. */
function pushed(bytes: Buffer, places: readonly number[]): { at?: number; words?: string; areWhole: boolean } {
  const records = new TlsRecords();
  const cuts = [0, ...places.filter((place) => place <= bytes.length).toSorted((a, b) => a - b), bytes.length];
  for (const [n, from] of cuts.slice(0, -1).entries()) {
    const fault = records.push(bytes.subarray(from, cuts[n + 1]));
    if (fault !== undefined) return { at: from + fault.at, words: fault.words, areWhole: records.areWhole };
  }
  return { areWhole: records.areWhole };
}

const places = fc.array(fc.nat(1000), { maxLength: 20 });
const cutsOf = (bytes: Buffer, wanted: unknown): void =>
  fc.assert(fc.property(places, (at) => void expect(pushed(bytes, at)).toMatchObject(wanted as object)));

test('detects whether the last TLS record is incomplete, for every split of the bytes', () => {
  const all = Buffer.concat([HELLO, CHANGE, FINISHED, DATA, DATA]);
  cutsOf(all, { areWhole: true });
  for (let at = 1; at < DATA.length; at += 7) cutsOf(all.subarray(0, -at), { areWhole: false });
});

test('reports a renegotiation at the offset of its first record', () => {
  const all = Buffer.concat([HELLO, HELLO, CHANGE, FINISHED, DATA]);
  const words = 'local error: tls: no renegotiation';
  const both = [Buffer.concat([all, FINISHED]), Buffer.concat([HELLO, CHANGE, FINISHED, FINISHED])];
  for (const bytes of both) {
    cutsOf(bytes, { words });
    expect(pushed(bytes, [])).toMatchObject({ at: bytes.length - FINISHED.length });
  }
});

test('accepts a second handshake after a HelloRetryRequest (TLS 1.3)', () => {
  cutsOf(Buffer.concat([HELLO, CHANGE, HELLO, DATA, DATA]), { areWhole: true });
});

test.each([
  ['HTTP/1.1 400 Bad Request', 'http: server gave HTTP response to HTTPS client'],
  ['SSH-2.0-OpenSSH_9.2', 'tls: first record does not look like a TLS handshake'],
  ['\x17\x03\x03\x00\x01', 'tls: first record does not look like a TLS handshake'],
  ['\x16\x10\x00\x00\x01', 'tls: first record does not look like a TLS handshake'],
])('rejects bytes that are not TLS: %j: %s', (text, words) =>
  fc.assert(fc.property(places, (at) => void expect(pushed(Buffer.from(text, 'latin1'), at)).toMatchObject({ words }))),
);
