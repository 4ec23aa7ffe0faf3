import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCriLogLine } from '../src/cri-log-line.ts';
import { LogFilter, type LogFilterOptions } from '../src/log-filter.ts';
import { LineSplitter } from '../src/split-lines.ts';
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
  ])('%s', (line, timestamp, stream, partial, content, fraction) => {
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
  ])('is nothing: %j', (line) => {
    expect(parseCriLogLine(encode(line))).toBeUndefined();
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void parseCriLogLine(bytes)));
    const word = fc.oneof(fc.string(), fc.constantFrom('stdout', 'F', '2016-10-06T00:17:09Z'));
    fc.assert(fc.property(fc.array(word), (words) => void parseCriLogLine(encode(words.join(' ')))));
  });
});

describe('LineSplitter', () => {
  it('gives every byte once, with lines where they were, however the bytes come', () => {
    const chunks = fc.array(fc.uint8Array({ max: 12, maxLength: 30 }));
    fc.assert(
      fc.property(chunks, fc.integer({ min: 1, max: 20 }), (parts, maxPieceBytes) => {
        const splitter = new LineSplitter(maxPieceBytes);
        const pieces = [...parts.flatMap((part) => [...splitter.push(part)]), ...splitter.end()];
        expect(Buffer.concat(pieces.map(({ bytes }) => bytes))).toEqual(Buffer.concat(parts));
        const lines = Buffer.concat(parts)
          .toString('latin1')
          .split(/(?<=\n)/)
          .filter((line) => line !== '');
        expect(pieces.filter(({ startsLine }) => startsLine)).toHaveLength(lines.length);
        expect(pieces.filter(({ endsLine }) => endsLine)).toHaveLength(lines.length);
      }),
    );
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
    const filter = new LogFilter(options);
    const splitter = new LineSplitter(maxPieceBytes);
    const pieces = [...splitter.push(encode(lines)), ...splitter.end()];
    return text(pieces.flatMap((piece) => filter.accept(piece) ?? []));
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
  ] as const)('%j', (options, output) => {
    expect(filtered(options)).toBe(output);
  });

  it('gives the same output where long lines come in pieces', () => {
    expect(filtered({ timestamps: true }, 40)).toBe(filtered({ timestamps: true }));
  });
});
