import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLogger } from '../src/create-logger.ts';
import { quote, textLine } from '../src/text-line.ts';

const line = { severity: 'I', atMs: 0, pid: 12345, source: 'pleg', message: 'Pod changed', fields: {} } as const;
/** 22 November, 10:48 in the local time zone. */
const AT_MS = new Date(2026, 10, 22, 10, 48, 0, 7).getTime() + 0.125;

describe('a log line in text format', () => {
  test('a log line in text format has the form of klog', () => {
    expect(textLine({ ...line, atMs: AT_MS, fields: { podUid: 'u1', count: 2, ready: true } })).toBe(
      'I1122 10:48:00.007125   12345 pleg:1] "Pod changed" podUid="u1" count=2 ready=true\n',
    );
  });

  test.each<[unknown, string]>([
    ['plain', ' k="plain"'],
    ['', ' k=""'],
    ['say "it" \\ \t', String.raw` k="say \"it\" \\ \t"`],
    ['\x1b[31mred\x07\x7f', String.raw` k="\x1b[31mred\a\x7f"`],
    ['zero\u200bwidth \u00a0 é 語 🙂', String.raw` k="zero\u200bwidth \u00a0 é 語 🙂"`],
    ['\b\f\v\x01\x80', String.raw` k="\b\f\v\x01\u0080"`],
    ['\u{e0001}', String.raw` k="\U000e0001"`],
    ['\ud800', ' k="\ufffd"'],
    ['two\nlines', ' k=<\n\ttwo\n\tlines\n >'],
    ['two\nlines\n', ' k=<\n\ttwo\n\tlines\n >'],
    [['a', 1], ' k=["a",1]'],
    [{ name: 'x', uid: undefined }, ' k={"name":"x"}'],
    [null, ' k=null'],
    [10n, ' k="10"'],
    [Symbol('x'), ' k="Symbol(x)"'],
    [undefined, ''],
  ])('a value in a text log line is quoted as by klog (case %#): $1', (value, expected) => {
    expect(textLine({ ...line, fields: { k: value } })).toMatch(/^I\d{4} .* pleg:1\] "Pod changed"/);
    expect(textLine({ ...line, fields: { k: value } }).split('"Pod changed"')[1]).toBe(`${expected}\n`);
  });

  test('a text log line replaces spaces and brackets in its call site', () => {
    expect(textLine({ ...line, source: 'a b]:c' })).toContain(' a_b_c:1] ');
  });

  test('W3: no logged value can produce text that looks like another log line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (message, value) => {
        const forged = `${value}\nE0101 00:00:00.000000       1 x:1] "forged"\r\n`;
        const text = textLine({ ...line, message: `${message}\n${forged}`, source: forged, fields: { forged } });
        expect(text.split('\n').filter((one) => /^[IWEF]\d{4} /.test(one)).length).toBe(1);
        expect(text.endsWith('\n')).toBe(true);
      }),
    );
  });

  test('quote escapes a text like JSON, for characters that klog and JSON escape in the same way', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'abc "\\/é\n\r\t') }), (text) => {
        expect(quote(text)).toBe(JSON.stringify(text));
      }),
    );
  });
});

describe('the default text logger', () => {
  test("the default text logger writes file and line, component, error, and the parents' fields", async () => {
    const lines: string[] = [];
    const logger = await createLogger({
      level: 'debug',
      now: () => AT_MS,
      pid: 7,
      write: (text) => void lines.push(text),
    });
    const cause = new Error('connection refused');
    const child = logger.child({ component: 'status' }).child({ podUid: 'u1' });
    child.error({ pod: 'default/web', err: new Error('cannot write', { cause }) }, 'Failed to update status for pod');
    child.warn({ podUid: 'u2' }, 'Odd');
    child.debug({}, 'Quiet');
    child.trace({}, 'Not at this level');
    logger.info({}, 'Starting');
    const all = await createLogger({
      level: 'trace',
      now: () => AT_MS,
      pid: 7,
      write: (text) => void lines.push(text),
    });
    all.trace({}, 'Least');
    expect(lines.join('').replaceAll(/(test\.ts):\d+]/g, '$1:N]')).toBe(
      [
        'E1122 10:48:00.007125       7 text-logger.test.ts:N] "Failed to update status for pod" logger="status" err="cannot write: connection refused" podUid="u1" pod="default/web"',
        'W1122 10:48:00.007125       7 text-logger.test.ts:N] "Odd" logger="status" podUid="u2"',
        'I1122 10:48:00.007125       7 text-logger.test.ts:N] "Quiet" logger="status" podUid="u1"',
        'I1122 10:48:00.007125       7 text-logger.test.ts:N] "Starting"',
        'I1122 10:48:00.007125       7 text-logger.test.ts:N] "Least"',
        '',
      ].join('\n'),
    );
  });
});
