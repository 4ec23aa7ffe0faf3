import { describe, expect, test, vi } from 'vitest';
import { consoleLogger, type LogLevel } from '../src/index.ts';

function linesOf(level?: LogLevel) {
  const lines: string[] = [];
  const logger = consoleLogger({ ...(level === undefined ? {} : { level }), write: (line) => lines.push(line) });
  return { lines, logger };
}

describe('the console logger', () => {
  test("the console logger writes level, message and fields on one line, the parent's fields first", () => {
    const { lines, logger } = linesOf();
    logger.child({ component: 'pleg' }).child({ podUid: 'u1' }).warn({ afterMs: 20, note: 'two words' }, 'Pod is slow');
    expect(lines).toEqual(['warn  Pod is slow component=pleg podUid=u1 afterMs=20 note="two words"']);
  });

  test.each([
    ['trace', 5],
    ['debug', 4],
    [undefined, 3],
    ['warn', 2],
    ['error', 1],
  ] as const)('a console logger of level %s writes %d of the five levels', (level, count) => {
    const { lines, logger } = linesOf(level);
    for (const name of ['trace', 'debug', 'info', 'warn', 'error'] as const) logger[name]({}, name);
    expect(lines).toHaveLength(count);
    expect(lines.at(-1)).toBe('error error');
  });

  test('the console logger writes errors as their messages, and any value on one line', () => {
    const { lines, logger } = linesOf();
    logger.info({ err: new Error('no such pod'), pods: ['a\nb'], size: 2n, none: undefined, empty: '' }, 'Failed');
    expect(lines).toEqual(['info  Failed err="no such pod" pods=["a\\nb"] size="2" none=undefined empty=""']);
  });

  test('the console logger writes the reason for a value that cannot be JSON, and never throws', () => {
    class Node {
      readonly self = this;
    }
    const { lines, logger } = linesOf();
    logger.info({ node: new Node(), uid: 'u1' }, 'Looped');
    expect(lines).toEqual([expect.stringMatching(/^info {2}Looped node="Converting circular structure[^\n]* uid=u1$/)]);
  });

  test('the console logger writes to the standard error stream by default', () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      consoleLogger().info({ n: 1 }, 'Started');
      expect(write.mock.calls).toEqual([['info  Started n=1\n']]);
    } finally {
      write.mockRestore();
    }
  });

  test('W4: the console logger writes no secret, neither in a field nor inside an error text', () => {
    const { lines, logger } = linesOf();
    const err = new Error('GET https://me:pass-word@host failed with bearer abcdefgh1234');
    logger.child({ token: 'abc' }).error({ password: 'xyz', nested: { auth: 'uvw' }, err }, 'Refused');
    expect(lines[0]).not.toMatch(/abc|xyz|uvw|pass-word/);
    expect(lines[0]).toMatch(/^error Refused token=\[redacted] password=\[redacted]/);
  });
});
