import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { captureLogger } from '@node-agent/telemetry/testing';
import { describe, expect, it } from 'vitest';
import { adjustOpenFiles, parseOpenFileLimits } from '../src/process/open-files.ts';
import type { CommandResult, RunCommand } from '../src/process/run-command.ts';
import { runCommand } from '../src/process/run-command.ts';

const OK: CommandResult = { code: 0, stderr: '', isMissing: false };
const DENIED: CommandResult = { code: 1, stderr: 'Operation not permitted', isMissing: false };
const limits = (soft: number | string, hard: number | string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 ${hard}               files\n`;

async function adjusted(shown: string, maxOpenFiles: number, answers: readonly CommandResult[]) {
  const { logger, lines } = captureLogger();
  const calls: string[] = [];
  const left = [...answers];
  const run: RunCommand = async (program, args) => {
    calls.push([program, ...args].join(' '));
    return left.shift() ?? OK;
  };
  const fs = { readFile: async () => Buffer.from(shown) };
  await adjustOpenFiles({ fs, logger, run }, 7, maxOpenFiles, new AbortController().signal);
  return { calls, lines };
}

describe('the limit of open files', () => {
  it.each([
    [limits(1024, 524288), { soft: 1024, hard: 524288 }],
    [limits('unlimited', 'unlimited'), { soft: Number.POSITIVE_INFINITY, hard: Number.POSITIVE_INFINITY }],
    ['', undefined],
  ])('parses the limits of open files from %j: %j', (text, expected) => {
    expect(parseOpenFileLimits(text)).toEqual(expected);
  });

  it('sets the soft and the hard limit of open files, and does not run prlimit if both limits are already set', async () => {
    expect(await adjusted(limits(1024, 4096), 2000, [OK])).toMatchObject({
      calls: ['prlimit --pid=7 --nofile=2000:2000'],
      lines: [],
    });
    expect((await adjusted(limits(2000, 2000), 2000, [])).calls).toEqual([]);
  });

  it('without the right to raise the hard limit of open files, raises the soft limit to the hard limit and logs it', async () => {
    const { calls, lines } = await adjusted(limits(1024, 4096), 1_000_000, [DENIED, OK]);
    expect(calls).toEqual(['prlimit --pid=7 --nofile=1000000:1000000', 'prlimit --pid=7 --nofile=4096:']);
    expect(lines).toMatchObject([
      { level: 'warn', fields: { hardLimit: 4096, because: 'Operation not permitted', maxOpenFiles: 1_000_000 } },
    ]);
  });

  it('prlimit changes the limit of open files of a real process', async () => {
    const child = execFileSync('sh', ['-c', 'sleep 5 >/dev/null 2>&1 & echo $!'], { encoding: 'utf8' }).trim();
    try {
      const result = await runCommand('prlimit', [`--pid=${child}`, '--nofile=300:400'], new AbortController().signal);
      expect(result).toMatchObject({ code: 0 });
      expect(parseOpenFileLimits(readFileSync(`/proc/${child}/limits`, 'utf8'))).toEqual({ soft: 300, hard: 400 });
    } finally {
      process.kill(Number(child));
    }
    expect(await runCommand('no-such-program', [], new AbortController().signal)).toMatchObject({ isMissing: true });
  });
});
