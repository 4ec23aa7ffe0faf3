import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import { createLogger, SplitOutput } from '../src/index.ts';
import { moduleLevels } from '../src/vmodule.ts';

describe('logging.vmodule', () => {
  it.each([
    ['pleg', 'pleg.ts', 'debug'],
    ['pleg', 'pleg/index.js', 'debug'],
    ['pleg', 'event-stream.ts', undefined],
    ['event-*', 'event-stream.ts', 'debug'],
    ['ple?', 'pleg.ts', 'debug'],
    ['[p-q]leg', 'pleg.ts', 'debug'],
    ['p.eg', 'pleg.ts', undefined],
    ['p(eg', 'p(eg.ts', 'debug'],
  ])('the vmodule pattern %s with verbosity 4 sets for the file %s the level %s', (filePattern, file, expected) => {
    expect(moduleLevels([{ filePattern, verbosity: 4 }])({ file, line: 1 })).toBe(expected);
  });

  it('the first vmodule pattern that matches a file sets its level', () => {
    const levelAt = moduleLevels([
      { filePattern: 'pl*', verbosity: 0 },
      { filePattern: 'pleg', verbosity: 9 },
    ]);
    expect(levelAt({ file: 'pleg.ts', line: 1 })).toBe('info');
  });

  it('a vmodule pattern adds the debug lines of matching files only, and removes no line', async () => {
    const lines: string[] = [];
    const write = (line: string): void => void lines.push(line);
    const here = await createLogger({ vmodule: [{ filePattern: 'log-options*', verbosity: 4 }], write });
    const elsewhere = await createLogger({ vmodule: [{ filePattern: 'pleg', verbosity: 4 }], write });
    for (const logger of [here.child({ component: 'x' }), elsewhere]) {
      logger.trace({}, 'trace');
      logger.debug({}, 'debug');
      logger.info({}, 'info');
    }
    expect(lines.map((line) => /\] "(\w+)"/.exec(line)?.[1])).toEqual(['debug', 'info', 'info']);
  });
});

describe('split streams', () => {
  it.each(['text', 'json'] as const)('the log format %s marks errors, and no other lines', async (format) => {
    const written: boolean[] = [];
    const logger = await createLogger({ format, write: (_line, isError) => void written.push(isError) });
    logger.info({}, 'a');
    logger.warn({}, 'b');
    logger.child({ x: 1 }).error({}, 'c');
    logger.info({}, 'd');
    expect(written).toEqual([false, false, true, false]);
  });

  const output = (infoBufferBytes: number) => {
    const clock = new FakeClock();
    const written: string[] = [];
    const split = new SplitOutput({
      info: (text) => void written.push(`out:${text}`),
      error: (text) => void written.push(`err:${text}`),
      ...{ infoBufferBytes, flushMs: 5_000, clock },
    });
    return { clock, written, split };
  };

  it('SplitOutput without a buffer writes each line immediately', () => {
    const { written, split } = output(0);
    split.write('a\n', false);
    split.write('b\n', true);
    expect(written).toEqual(['out:a\n', 'err:b\n']);
  });

  it('SplitOutput buffers lines up to the buffer size and for the flush interval, but no errors', async () => {
    const { clock, written, split } = output(5);
    split.write('a\n', false);
    split.write('e\n', true);
    split.write('b\n', false);
    expect(written).toEqual(['err:e\n']);
    split.write('cc\n', false);
    expect(written).toEqual(['err:e\n', 'out:a\nb\n']);
    await clock.advance(5_000);
    expect(written.at(-1)).toBe('out:cc\n');
    split.write('longer than the buffer\n', false);
    expect(written.at(-1)).toBe('out:longer than the buffer\n');
    split.write('d\n', false);
    split.flush();
    split.flush();
    expect(written.at(-1)).toBe('out:d\n');
  });
});
