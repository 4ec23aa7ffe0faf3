import { FakeClock } from '@node-agent/async/testing';
import { type ContainerStatus, messages } from '@node-agent/cri-client';
import { MemoryFileSystem } from '@node-agent/host/testing';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tailOfCriLog } from '../src/status/cri-log-tail.ts';
import { joinMessages, readTerminationMessage } from '../src/status/termination-message.ts';

const FILE = '/var/lib/kubelet/pods/u/containers/a/1';
const LOG = '/var/log/pods/a/0.log';
const stamp = '2026-01-01T00:00:00.000000000Z stdout';

async function message(
  files: Readonly<Record<string, string>>,
  extra: { exitCode?: number; reason?: string; policy?: string; path?: string; fault?: string } = {},
): Promise<string> {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  await fs.mkdir('/var/lib/kubelet/pods/u/containers/a');
  await fs.mkdir('/var/log/pods/a');
  for (const [path, content] of Object.entries(files)) await fs.writeFile(path, content);
  const { exitCode = 1, reason = 'Error', policy = 'FallbackToLogsOnError', path = '/dev/termination-log' } = extra;
  if (extra.fault !== undefined) fs.injectFault({ code: extra.fault, operation: 'open' });
  const status: ContainerStatus = messages.ContainerStatus.create({
    exitCode,
    reason,
    logPath: LOG,
    mounts: [{ containerPath: '/dev/termination-log', hostPath: FILE }],
    annotations: {
      'io.kubernetes.container.terminationMessagePath': path,
      'io.kubernetes.container.terminationMessagePolicy': policy,
    },
  });
  return readTerminationMessage(fs, status);
}

describe('W5: hostile termination message files', () => {
  const read = async (make: (fs: MemoryFileSystem) => Promise<void>): Promise<string> => {
    const fs = new MemoryFileSystem({ clock: new FakeClock() });
    await fs.mkdir('/var/lib/kubelet/pods/u/containers/a');
    await fs.writeFile('/secret', 'of the node');
    await make(fs);
    const status = messages.ContainerStatus.create({
      mounts: [{ containerPath: '/dev/termination-log', hostPath: FILE }],
      annotations: { 'io.kubernetes.container.terminationMessagePath': '/dev/termination-log' },
    });
    return readTerminationMessage(fs, status);
  };

  test('W5: a symbolic link as termination message file is not followed', async () => {
    expect(await read((fs) => fs.symlink('/secret', FILE))).toBe(
      `Error on reading termination log ${FILE}: ELOOP: too many symbolic links encountered, open '${FILE}'`,
    );
  });

  test.each(['fifo', 'socket', 'charDevice'] as const)(
    'W5: a %s as termination message file is not opened',
    async (kind) => {
      expect(await read(async (fs) => fs.makeSpecial(FILE, kind))).toMatch(/^Error on reading termination log .*ENXIO/);
    },
  );

  test('W5: only the end of a large termination message file is read', async () => {
    expect(await read((fs) => fs.writeFile(FILE, `${'x'.repeat(100_000)}end`))).toHaveLength(4096);
  });
});

describe('the termination message', () => {
  const log = `${stamp} F one\n${stamp} F two\n`;
  test.each([
    ['the termination message is what the container wrote into its file', { [FILE]: 'bye', [LOG]: log }, {}, 'bye'],
    ['the termination message keeps a byte order mark', { [FILE]: '\ufeffbye' }, {}, '\ufeffbye'],
    ['the termination message may consist of a byte order mark', { [FILE]: '\ufeff', [LOG]: log }, {}, '\ufeff'],
    [
      'the termination message is found if the pod names its path without a leading slash',
      { [FILE]: 'bye' },
      { path: 'dev/termination-log' },
      'bye',
    ],
    [
      'the termination message is the end of the log if the file is empty and the container failed',
      { [FILE]: '', [LOG]: log },
      {},
      'one\ntwo\n',
    ],
    ['the termination message is the end of the log if there is no file', { [LOG]: log }, {}, 'one\ntwo\n'],
    [
      'the termination message is the end of the log if the container has no termination message path',
      { [FILE]: 'other', [LOG]: log },
      { path: '' },
      'one\ntwo\n',
    ],
    ['the termination message is empty if the container succeeded', { [FILE]: '', [LOG]: log }, { exitCode: 0 }, ''],
    [
      'the termination message is empty if the container could not be started',
      { [FILE]: '', [LOG]: log },
      { reason: 'ContainerCannotRun' },
      '',
    ],
    [
      'the termination message is empty with the policy File and an empty file',
      { [FILE]: '', [LOG]: log },
      { policy: 'File' },
      '',
    ],
    [
      'the termination message is the last 4 KiB of a long file',
      { [FILE]: `x${'y'.repeat(4096)}` },
      {},
      'y'.repeat(4096),
    ],
    [
      'the termination message contains the error of reading the file',
      { [FILE]: 'bye' },
      { fault: 'EIO' },
      `Error on reading termination log ${FILE}: `,
    ],
    [
      'the termination message says that there is no log if there is no file',
      {},
      {},
      'Error on reading termination message from logs: ',
    ],
  ] as const)('reads the termination message of an exited container: %s', async (_name, files, extra, expected) => {
    const actual = await message(files, extra);
    if (expected.startsWith('Error on')) expect(actual.startsWith(expected)).toBe(true);
    else expect(actual).toBe(expected);
  });

  test('the termination message from the log is the last 80 lines, up to 2 KiB', async () => {
    const lines = Array.from({ length: 500 }, (_, n) => `${stamp} F ${n}`).join('\n');
    const read = await message({ [LOG]: `${lines}\n` });
    expect(read).toBe(Array.from({ length: 80 }, (_, n) => `${n + 420}\n`).join(''));
    const long = Array.from({ length: 90 }, (_, n) => `${stamp} F ${n} ${'z'.repeat(100)}`).join('\n');
    const cut = await message({ [LOG]: `${long}\n` });
    expect(Buffer.byteLength(cut)).toBe(2048);
    expect(cut.endsWith(`89 ${'z'.repeat(100)}\n`)).toBe(true);
  });

  test('the termination message is read from the log even if its last line is longer than one read', async () => {
    const read = await message({ [LOG]: `${stamp} F first\n${stamp} F ${'w'.repeat(100_000)}\n` });
    expect(read).toBe(`${'w'.repeat(2047)}\n`);
  });

  test("the termination message is appended to the runtime's message", () => {
    expect([joinMessages('', ''), joinMessages('a', ''), joinMessages('', 'b'), joinMessages('a', 'b')]).toEqual([
      '',
      'a',
      'b',
      'a: b',
    ]);
  });
});

describe('the tail of a log', () => {
  const tail = (text: string, fromStart = true) => tailOfCriLog(Buffer.from(text), fromStart, 80, 2048);

  test('the tail of a log joins partial lines', () => {
    expect(tail(`${stamp} P ab\n${stamp} F cd\n`).text).toBe('abcd\n');
    expect(tail(`${stamp} P:x ab\n`).text).toBe('ab');
  });

  test('the tail of a log omits malformed lines, and the tail of an empty log is empty', () => {
    expect(tail(`garbage\n${stamp} F ok\n`).text).toBe('ok\n');
    expect(tail('').text).toBe('');
    expect(tail(`${stamp} F`).text).toBe('\n');
    expect(tail('{broken\n{"log":7}\n').text).toBe('');
  });

  test("the tail of a log in Docker's format is read", () => {
    const line = (log: string) => `${JSON.stringify({ log, stream: 'stderr', time: '2026-01-01T00:00:00Z' })}\n`;
    expect(tail(`${line('one ')}${line('line\n')}${line('"oops"\n')}`).text).toBe('one line\n"oops"\n');
  });

  test('the tail of a log does not begin with the rest of a cut line', () => {
    expect(tail(`00Z stdout F half\n${stamp} F whole\n`, false)).toEqual({ text: 'whole\n', complete: false });
  });

  test('the tail of any log is no longer than requested and cuts no character', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 40 })),
        fc.integer({ min: 4, max: 60 }),
        (lines, maxBytes) => {
          const log = lines.map((line) => `${stamp} F ${line.replaceAll('\n', ' ')}\n`).join('');
          const { text } = tailOfCriLog(Buffer.from(log), true, 80, maxBytes);
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
          expect(
            lines
              .map((line) => `${line.replaceAll('\n', ' ')}\n`)
              .join('')
              .endsWith(text),
          ).toBe(true);
        },
      ),
    );
  });
});
