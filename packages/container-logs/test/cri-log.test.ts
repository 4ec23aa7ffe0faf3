import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCriLogLine, parseTimestamp } from '../src/cri-log-line.ts';
import { LineTimes } from '../src/line-times.ts';
import { type LogChunk, LogFilter, type LogFilterOptions } from '../src/log-filter.ts';
import { text } from './fixtures.ts';

const encode = (line: string): Uint8Array => new TextEncoder().encode(line);

describe('parseCriLogLine', () => {
  const timeMs = Date.UTC(2016, 9, 6, 0, 17, 9, 669);
  it.each([
    ['2016-10-06T00:17:09.669794202Z stdout F log', '2016-10-06T00:17:09.669794202Z', 'stdout', false, 'log', 0.794202],
    ['2016-10-06T00:17:09.669Z stderr P a b', '2016-10-06T00:17:09.669000000Z', 'stderr', true, 'a b', 0],
    ['2016-10-06T02:17:09.669+02:00 stdout F ', '2016-10-06T02:17:09.669000000+02:00', 'stdout', false, '', 0],
    ['2016-10-06T00:17:09.669+00:00 stdout P:tag:x é', '2016-10-06T00:17:09.669000000Z', 'stdout', true, 'é', 0],
    ['2016-10-06T00:17:09.669Z stdout X y', '2016-10-06T00:17:09.669000000Z', 'stdout', false, 'y', 0],
  ])('parses the CRI log line %s', (line, timestamp, stream, partial, content, fraction) => {
    const header = parseCriLogLine(encode(line));
    expect(header).toMatchObject({ timestamp, stream, partial });
    expect(header?.timeMs).toBeCloseTo(timeMs + fraction, 3);
    expect(new TextDecoder().decode(encode(line).subarray(header?.contentOffset))).toBe(content);
  });

  it.each([
    '',
    'plain text',
    '{"log":"x","stream":"stdout","time":"2016-10-20T18:39:20.57606443Z"}',
    'yesterday stdout F x',
    '2016-13-06T00:17:09Z stdout F x',
    '2016-10-06T00:17:09 stdout F x',
    '2016-10-06T00:17:09Z stdin F x',
    '2016-10-06T00:17:09Z stdout F',
    `2016-10-06T00:17:09Z stdout ${'t'.repeat(300)} x`,
  ])('%j is not a CRI log line', (line) => {
    expect(parseCriLogLine(encode(line))).toBeUndefined();
  });

  it('parseCriLogLine never throws', () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void parseCriLogLine(bytes)));
    const word = fc.oneof(fc.string(), fc.constantFrom('stdout', 'F', '2016-10-06T00:17:09Z'));
    fc.assert(fc.property(fc.array(word), (words) => void parseCriLogLine(encode(words.join(' ')))));
  });
});

describe('LogFilter', () => {
  const lines = [
    '2026-01-01T00:00:00Z stdout P one \n',
    '2026-01-01T00:00:01Z stdout F line\n',
    '2026-01-01T00:00:02Z stderr F oops\n',
    'not a line\n',
    '2026-01-01T00:00:03.5Z stdout F \n',
    '2026-01-01T00:00:04Z stdout F end',
  ].join('');

  function filtered(options: LogFilterOptions, maxPieceBytes = 1000): string {
    const filter = new LogFilter({ ...options, maxPieceBytes });
    return text([...filter.push(encode(lines)), ...filter.endFile()]);
  }

  it.each([
    [{}, 'one line\noops\n\nend'],
    [{ stream: 'stderr' }, 'oops\n'],
    [{ sinceMs: Date.UTC(2026, 0, 1, 0, 0, 2) }, 'oops\n\nend'],
    [{ sinceMs: Date.UTC(2026, 0, 1, 0, 0, 3, 400) }, '\nend'],
    [{ limitBytes: 6 }, 'one li'],
    [{ limitBytes: 0 }, ''],
    [{ stream: 'stdout', limitBytes: 10 }, 'one line\n\n'],
    [
      { timestamps: true },
      '2026-01-01T00:00:00.000000000Z one line\n2026-01-01T00:00:02.000000000Z oops\n' +
        '2026-01-01T00:00:03.500000000Z \n2026-01-01T00:00:04.000000000Z end',
    ],
    [
      { timestamps: true, sinceMs: Date.UTC(2026, 0, 1, 0, 0, 1), limitBytes: 37 },
      '2026-01-01T00:00:01.000000000Z line\n2',
    ],
  ] as const)('the log filter with the options %j returns the lines that fit: %j', (options, output) => {
    expect(filtered(options)).toBe(output);
  });

  it('the log filter gives the same output if long lines come in pieces', () => {
    expect(filtered({ timestamps: true }, 40)).toBe(filtered({ timestamps: true }));
  });

  it('the log filter gives the same output, however the bytes are split', () => {
    // A piece may end anywhere, for example directly before the end of a line or directly after the header of a line.
    const tagged = fc
      .tuple(fc.constantFrom('F', 'P', 'P:x'), fc.integer({ min: 0, max: 60 }), fc.constantFrom('\n', '\r\n', ''))
      .map(([tag, length, end]) => `2026-01-01T00:00:02.000000000Z stdout ${tag} ${'y'.repeat(length)}${end}`);
    const json = fc
      .tuple(fc.constantFrom('stdout', 'stderr', 'other'), fc.string(), fc.constantFrom('\n', ''))
      .map(([stream, log, end]) => `${JSON.stringify({ log: log + end, stream, time: '2026-01-01T00:00:02.5Z' })}\n`);
    const line = fc.oneof(fc.constantFrom(...lines.split(/(?<=\n)/), 'x'.repeat(70), '\n', ' '), tagged, json);
    const options = fc.record(
      {
        sinceMs: fc.constantFrom(Date.UTC(2026, 0, 1, 0, 0, 1), Date.UTC(2026, 0, 1, 0, 0, 3)),
        limitBytes: fc.integer({ min: 0, max: 100 }),
        maxLines: fc.integer({ min: 0, max: 10 }),
        timestamps: fc.boolean(),
        stream: fc.constantFrom('stdout' as const, 'stderr' as const),
        maxPieceBytes: fc.integer({ min: 40, max: 90 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.integer({ min: 1, max: 50 })), options, (all, cuts, wanted) => {
        const file = encode(all.join(''));
        const whole = new LogFilter(wanted);
        const expected = [...whole.push(file), ...whole.endFile()];
        const filter = new LogFilter(wanted);
        const got: LogChunk[] = [];
        let at = 0;
        for (const cut of [...cuts, file.length]) {
          got.push(...filter.push(file.subarray(at, at + cut)));
          at = Math.min(at + cut, file.length);
        }
        got.push(...filter.endFile());
        expect(text(got)).toBe(text(expected));
        for (const stream of ['stdout', 'stderr'] as const) {
          const of = (chunks: readonly LogChunk[]) => text(chunks.filter((chunk) => chunk.stream === stream));
          expect(of(got)).toBe(of(expected));
        }
        const mixed = new LogFilter({ ...wanted, mixed: true });
        const pieces = [...mixed.push(file), ...mixed.endFile()];
        expect(text(pieces)).toBe(text(expected));
        if (file.length < 40) expect(pieces.length).toBeLessThanOrEqual(2);
      }),
    );
  });

  it('the log filter adds no timestamp within a partial line, even if a piece ended right before its end', () => {
    const begun = `2026-01-01T00:00:01.000000000Z stdout P ${'x'.repeat(60)}`;
    const filter = new LogFilter({ timestamps: true, maxPieceBytes: 60 });
    const pieces = [begun, '\n', '2026-01-01T00:00:02.000000000Z stdout F rest\n'].map(encode);
    const output = text(pieces.flatMap((piece) => filter.push(piece)));
    expect(output).toBe(`2026-01-01T00:00:01.000000000Z ${'x'.repeat(60)}rest\n`);
  });

  it('the log filter does not overwrite output that it has returned', () => {
    const filter = new LogFilter({});
    const [first] = filter.push(encode('2026-01-01T00:00:00Z stdout F one\n'));
    const before = text(first ? [first] : []);
    for (let turn = 0; turn < 1000; turn++) filter.push(encode('2026-01-01T00:00:00Z stdout F two\n'));
    expect(text(first ? [first] : [])).toBe(before);
  });
});

describe('timestamps of log lines', () => {
  const time = (text: string): number => new LineTimes().read(encode(text), 0, text.length);

  it('timestamps of log lines are parsed as by Date, whatever line came before', () => {
    const times = new LineTimes();
    const at = fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(2199, 0, 1) });
    const digits = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(at, digits, fc.integer({ min: -14, max: 14 }), (ms, precision, zone) => {
        const fraction = String(ms % 1000)
          .padStart(3, '0')
          .padEnd(9, '0')
          .slice(0, precision);
        const sign = zone < 0 ? '-' : '+';
        const offset = zone === 0 ? 'Z' : `${sign}${String(Math.abs(zone)).padStart(2, '0')}:30`;
        const line = `${new Date(ms).toISOString().slice(0, 19)}.${fraction}${offset}`;
        expect(times.read(encode(line), 0, line.length)).toBeCloseTo(Date.parse(line), 3);
      }),
    );
  });

  it.each([
    '2016-02-30T00:00:00Z',
    '2016-00-01T00:00:00Z',
    '2016-01-01T24:00:00Z',
    '2016-01-01T00:60:00Z',
    '2016-01-01T00:00:60Z',
    '2016-01-01T00:00:00.Z',
    '2016-01-01T00:00:00+2:00',
    '2016-01-01T00:00:00Zx',
    '2016-01-01 00:00:00Z',
    '2o16-01-01T00:00:00Z',
  ])('%s is not a timestamp of a log line', (text) => {
    expect(time(text)).toBeNaN();
    expect(parseTimestamp(text)).toBeUndefined();
  });
});
