import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ansiSpans } from '../src/page/ansi.ts';
import { age, bytes, cpus, duration, share } from '../src/page/format.ts';
import { LogLines } from '../src/page/log-lines.ts';
import { addSample, HISTORY_MS, selectionOf, seriesOf, shownPods } from '../src/page/page-state.ts';
import { plain } from '../src/page/plain.ts';
import { axisTop, linePath } from '../src/page/plot-path.ts';
import { SseReader } from '../src/page/sse-reader.ts';
import { cut } from '../src/views/cut.ts';
import { podRow } from '../src/views/pod-row.ts';
import { thresholdRows } from '../src/views/threshold-rows.ts';
import { fakePod } from './fake-node.ts';

const text = (line: string): string =>
  ansiSpans(line)
    .map((span) => span.text)
    .join('');

describe('texts of pods', () => {
  it.each([
    ['a\u202Eb', 'a‹202E›b'],
    ['\u2066x\u2069', '‹2066›x‹2069›'],
    ['a\u0000b\u0007', 'a‹0000›b‹0007›'],
    ['line\nbreak\ttab', 'line break tab'],
    ['a\u2028b', 'a‹2028›b'],
    ['<script>alert(1)</script> & "x"', '<script>alert(1)</script> & "x"'],
    ['família 日本 👩‍👩‍👧', 'família 日本 👩‍👩‍👧'],
  ])('the text %j of a pod is shown as %j', (given, shown) => {
    expect(plain(given)).toBe(shown);
  });

  it('text of a pod is shown without characters that hide or reorder other text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (given) => {
        expect(plain(given)).not.toMatch(/[\p{Cc}\u202A-\u202E\u2066-\u2069\u200E\u200F]/u);
        expect(text(given)).not.toMatch(/[\p{Cc}\u202A-\u202E\u2066-\u2069\u200E\u200F]/u);
      }),
    );
  });

  it('a text is cut without splitting a character', () => {
    expect(cut('abcdef', 6)).toBe('abcdef');
    expect(cut('abcdefg', 6)).toBe('abcde…');
    expect(cut('abcd😀g', 6)).toBe('abcd…');
  });
});

describe('ANSI sequences of a log', () => {
  it.each([
    [
      '\u001B[31mred\u001B[0m plain',
      [
        ['red', 'fg1'],
        [' plain', ''],
      ],
    ],
    ['\u001B[1;33mwarn', [['warn', 'bold fg3']]],
    [
      '\u001B[38;5;9mx\u001B[38;2;1;2;3my',
      [
        ['x', 'fg9'],
        ['y', 'fg9'],
      ],
    ],
    ['\u001B[48;5;31mx', [['x', '']]],
    [
      '\u001B[97mx\u001B[39my',
      [
        ['x', 'fg15'],
        ['y', ''],
      ],
    ],
    [
      '\u001B]0;title\u0007a\u001B]8;;http://evil\u001B\\link',
      [
        ['a', ''],
        ['link', ''],
      ],
    ],
    [
      'a\u001B[2J\u001B[Hb',
      [
        ['a', ''],
        ['b', ''],
      ],
    ],
    ['a\u001B', [['a', '']]],
    [
      'a\u001B[31',
      [
        ['a', ''],
        ['31', ''],
      ],
    ],
    ['\u009B32mgreen', [['green', 'fg2']]],
  ] as const)('the log line %j is split into the spans $1', (line, wanted) => {
    expect(ansiSpans(line).map((span) => [span.text, span.style])).toEqual(wanted);
  });

  it('text of a log never becomes a style of the page', () => {
    fc.assert(
      fc.property(fc.string(), (parameters) => {
        for (const { style } of ansiSpans(`\u001B[${parameters}mx`)) {
          expect(style).toMatch(/^(?:(?:bold|dim|fg1?\d)(?: |$))*$/);
        }
      }),
    );
  });

  it('a log line of 1 MB of ANSI sequences is split in less than a second', () => {
    for (const piece of ['\u001B[', '\u001B]', '\u001B[1;', '\u001B[31mx', '\u001B ']) {
      const startedAt = performance.now();
      ansiSpans(piece.repeat(4096 / piece.length));
      expect(performance.now() - startedAt).toBeLessThan(1000);
    }
  });
});

describe('LogLines', () => {
  it('LogLines returns the same lines however the bytes are split', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.array(fc.nat(200)), (lines, cuts) => {
        const clean = lines.map((line) => line.replaceAll(/[\r\n\uFEFF]/g, ''));
        const data = Buffer.from(clean.map((line) => `${line}\n`).join(''));
        const reader = new LogLines();
        const got: string[] = [];
        let from = 0;
        for (const size of cuts) {
          got.push(...reader.push(data.subarray(from, from + size)));
          from += size;
        }
        got.push(...reader.push(data.subarray(from)), ...reader.end());
        expect(got).toEqual(clean);
      }),
    );
  });

  it('LogLines cuts a line of 1 MB, even if the line has no end', () => {
    const reader = new LogLines();
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    expect(reader.push(megabyte)).toEqual([]);
    const [line = ''] = reader.push(Buffer.from('y\nnext'));
    expect(line).toBe(`${'x'.repeat(4096)} … (1044481 more characters)`);
    expect(reader.end()).toEqual(['next']);
  });

  it('replaces invalid UTF-8', () => {
    expect(new LogLines().push(Uint8Array.of(0x61, 0xff, 0xc3, 0x28, 0x0a))).toEqual(['a\uFFFD\uFFFD(']);
  });
});

describe('the state of the page', () => {
  it('the page filters pods by words in name, state, image and label, and by readiness', () => {
    const rows = [
      podRow(fakePod({ name: 'web', labels: { app: 'shop' } })),
      podRow(fakePod({ name: 'api', state: 'crashing', image: 'reg/api:2' })),
    ];
    const names = (filter: string, onlyProblems = false): readonly string[] =>
      shownPods(rows, { text: filter, onlyProblems }).map(({ name }) => name);
    expect(names('')).toEqual(['api', 'web']);
    expect(names('app=shop')).toEqual(['web']);
    expect(names('reg/api crash')).toEqual(['api']);
    expect(names('', true)).toEqual(['api']);
    expect(names('nothing')).toEqual([]);
  });

  it('the page keeps ten minutes of usage samples, and drops them when the clock goes back', () => {
    const sample = (atMs: number) => ({ atMs, node: { cpus: 1 }, pods: {} });
    let history = addSample([], sample(0));
    for (let at = 5000; at <= 2 * HISTORY_MS; at += 5000) history = addSample(history, sample(at));
    expect(history).toHaveLength(120);
    expect(seriesOf(history, undefined, 'cpus')[0]).toEqual({ atMs: HISTORY_MS + 5000, value: 1 });
    expect(seriesOf(history, '__proto__', 'cpus')[0]?.value).toBeUndefined();
    expect(addSample(history, sample(1))).toHaveLength(1);
  });

  it.each([
    ['#default/web', { namespace: 'default', name: 'web' }],
    ['#a%2Fb', { namespace: 'a', name: 'b' }],
    ['', undefined],
    ['#web', undefined],
    ['#a/b/c', undefined],
    ['#%E0%A4%A', undefined],
  ])('the fragment %j selects %j', (fragment, selection) => {
    expect(selectionOf(fragment)).toEqual(selection);
  });
});

describe('numbers and plots', () => {
  it.each([
    [bytes(undefined), '–'],
    [bytes(734), '734 B'],
    [bytes(1024 * 1024 * 12.4), '12.4 Mi'],
    [bytes(-(2 ** 30)), '−1.0 Gi'],
    [cpus(0.0004), '<1m'],
    [cpus(0.25), '250m'],
    [cpus(1.5), '1.50'],
    [share(0.44), '0.4'],
    [share(37.2), '37'],
    [duration(340), '340 ms'],
    [duration(12_300), '12.3 s'],
    [age(-5), '0s'],
    [age(245_000), '4m 5s'],
    [age(190_000_000), '2d 4h'],
  ])('a formatted amount is shown as $1', (shown, wanted) => {
    expect(shown).toBe(wanted);
  });

  it("the line of a plot has a gap if samples are missing, and stays inside of the plot's area", () => {
    const area = { width: 100, height: 10, fromMs: 0, toMs: 100_000, top: 1 };
    const points = [0, 5000, 60_000].map((atMs) => ({ atMs, value: 2 }));
    expect(linePath(points, area)).toBe('M0.0 0.0L5.0 0.0M60.0 0.0');
    expect(linePath([{ atMs: 0, value: undefined }], area)).toBe('');
  });

  it.each([
    [[0.03], 0.01, 0.05],
    [[undefined], 10, 10],
    [[730], 1, 1000],
  ])('the axis for %j and at least %j ends at %j', (values, least, top) => {
    expect(axisTop(values, least)).toBeCloseTo(top);
  });
});

it('an event that arrives in pieces is read once, and an unknown line is ignored', () => {
  const reader = new SseReader();
  const bytes = Buffer.from('id: e.1\nevent: pods\ndata: {"a":"é"}\n\n: note\n\nevent: beat\ndata: {}\n\n');
  const events = [...bytes].flatMap((byte) => reader.push(Uint8Array.of(byte)));
  expect(events).toEqual([
    { name: 'pods', id: 'e.1', data: '{"a":"é"}' },
    { name: 'beat', id: undefined, data: '{}' },
  ]);
});

describe('eviction thresholds', () => {
  it('eviction thresholds are shown with the distance to each, the nearest first', () => {
    const rows = thresholdRows({
      thresholds: [
        { threshold: 'memory.available<100Mi', available: '6Gi', capacity: '16Gi', met: false },
        { threshold: 'nodefs.available<10% for 90s', available: '7Gi', capacity: '80Gi', met: true },
        { threshold: 'pid.available<5%', met: false },
        { threshold: 'nonsense', met: false },
        { threshold: 'imagefs.available<x', available: 'y', met: false },
      ],
    });
    expect(rows.map(({ signal, distance }) => [signal, distance])).toEqual([
      ['nodefs.available', -(2 ** 30)],
      ['memory.available', 6 * 2 ** 30 - 100 * 2 ** 20],
      ['pid.available', undefined],
      ['imagefs.available', undefined],
    ]);
    expect(rows[0]).toMatchObject({ limit: '10% for 90s', unit: 'bytes', isMet: true });
    expect(rows[2]).toMatchObject({ unit: 'count' });
    expect(thresholdRows(undefined)).toEqual([]);
  });
});

it('long texts of a pod are cut before they are sent', () => {
  const long = 'x'.repeat(1_000_000);
  const labels = Object.fromEntries(Array.from({ length: 500 }, (_none, index) => [`label${index}`, long]));
  const row = podRow(fakePod({ name: 'p', labels, image: long, state: 'crashing', message: long, reason: long }), long);
  expect(JSON.stringify(row).length).toBeLessThan(20_000);
});

it('no code of the page turns text into markup or script', () => {
  const page = join(import.meta.dirname, '../src/page');
  const files = readdirSync(page, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    const source = readFileSync(join(page, file), 'utf8');
    expect(source).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|javascript:/,
    );
  }
});
