import { gzipSync } from 'node:zlib';
import { ContainerState, CriError } from '@node-agent/cri-client';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { ContainerLogManager } from '../src/container-log-manager.ts';
import type { LogChunk } from '../src/log-filter.ts';
import type { LogReadOptions } from '../src/log-options.ts';
import { ContainerLogReader } from '../src/log-reader.ts';
import { DIRECTORY, FakeRuntime, LOG, text } from './fixtures.ts';

const never = new AbortController().signal;
let runtime: FakeRuntime;

beforeEach(() => {
  runtime = new FakeRuntime();
});

function makeReader(): ContainerLogReader {
  const { cri, fs, clock, logger } = runtime;
  return new ContainerLogReader({ cri, fs, clock, logger });
}

async function read(options: LogReadOptions = {}, path = LOG): Promise<string> {
  const chunks: LogChunk[] = [];
  for await (const chunk of makeReader().read(path, options, never)) chunks.push(chunk);
  return text(chunks);
}

async function rotate(): Promise<void> {
  const { cri, fs, clock, logger } = runtime;
  const manager = new ContainerLogManager({ cri, fs, clock, logger }, { maxSizeBytes: 0, maxFiles: 10 });
  await manager.rotateLogs(never);
  await manager.compressed();
  await clock.advance(1000);
}

/**
 * Writes a log of three files: lines 1 to 5 compressed, 6 to 10 rotated, 11 to 15 current. The lines are one second
 * apart.
 */
async function writeRotated(): Promise<string[]> {
  const lines: string[] = [];
  for (let file = 0; file < 3; file++) {
    for (let line = 0; line < 5; line++) {
      lines.push(...(await runtime.write(1)));
      await runtime.clock.advance(1000);
    }
    if (file < 2) await rotate();
  }
  return lines;
}

function output(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

describe('reading a log', () => {
  it('the log reader yields all lines of all files, oldest first', async () => {
    const lines = await writeRotated();
    expect((await runtime.names()).length).toBe(3);
    expect(await read()).toBe(output(lines));
  });

  it.each([0, 1, 3, 5, 6, 10, 12, 15, 99])(
    'the log reader yields the last %d lines from as many files as needed',
    async (tailLines) => {
      const lines = await writeRotated();
      expect(await read({ tailLines })).toBe(output(tailLines === 0 ? [] : lines.slice(-tailLines)));
    },
  );

  it('the log reader yields lines that are not older than a number of seconds or than a time', async () => {
    const lines = await writeRotated();
    // The lines are one second apart; each of the two rotations adds one more second.
    expect(await read({ sinceSeconds: 5 })).toBe(output(lines.slice(-5)));
    expect(await read({ sinceSeconds: 8 })).toBe(output(lines.slice(-7)));
    expect(await read({ sinceTime: new Date(runtime.clock.now() - 2000).toISOString() })).toBe(output(lines.slice(-2)));
    expect(await read({ sinceSeconds: 8, sinceTime: new Date(runtime.clock.now() - 1000).toISOString() })).toBe(
      output(lines.slice(-1)),
    );
    expect(await read({ sinceSeconds: 1000, tailLines: 7 })).toBe(output(lines.slice(-7)));
  });

  it('the log reader does not open files that are older than the requested time', async () => {
    await writeRotated();
    const fault = runtime.fs.injectFault({
      operation: 'open',
      path: (path) => path.endsWith('.gz'),
      code: 'EIO',
      times: 9,
    });
    await read({ sinceSeconds: 2 });
    await read({ tailLines: 8 });
    expect(fault.hits).toBe(0);
  });

  it('the log reader separates streams, adds timestamps, and stops at the byte limit', async () => {
    await runtime.write(1, 'stdout');
    await runtime.write(1, 'stderr');
    await runtime.write(2, 'stdout');
    expect(await read({ stream: 'stderr' })).toBe('line 2\n');
    expect(await read({ timestamps: true, limitBytes: 33 })).toBe('2026-01-01T00:00:00.000000000Z li');
    const chunks: LogChunk[] = [];
    for await (const chunk of makeReader().read(LOG, {}, never)) chunks.push(chunk);
    expect(chunks.map((chunk) => `${chunk.stream} ${text([chunk])}`)).toEqual([
      'stdout line 1\n',
      'stderr line 2\n',
      'stdout line 3\nline 4\n',
    ]);
  });

  it('without follow, the log reader does not wait for output written during the read', async () => {
    await runtime.write(2);
    const chunks: LogChunk[] = [];
    for await (const chunk of makeReader().read(LOG, {}, never)) {
      chunks.push(chunk);
      await runtime.write(1);
    }
    expect(text(chunks)).toBe(output(['line 1', 'line 2']));
  });

  it("follows a symlink to the log, and finds the rotated files beside the symlink's target", async () => {
    const lines = await writeRotated();
    await runtime.fs.mkdir('/var/log/containers');
    await runtime.fs.symlink(LOG, '/var/log/containers/web.log');
    expect(await read({ tailLines: 8 }, '/var/log/containers/web.log')).toBe(output(lines.slice(-8)));
  });

  it('reads the existing files if the current file is missing during a rotation', async () => {
    const lines = await runtime.write(3);
    await runtime.fs.rename(LOG, `${LOG}.20260101-000000`);
    expect(await read()).toBe(output(lines));
  });

  it('reads a file that is compressed or removed between listing and opening', async () => {
    const lines = await writeRotated();
    const uncompressed = (await runtime.names())[2] ?? '';
    const path = `${DIRECTORY}/${uncompressed}`;
    const reader = makeReader().read(LOG, {}, never);
    const chunks = [(await reader.next()).value];
    await runtime.fs.writeFile(`${path}.gz`, gzipSync(await runtime.fs.readFile(path)));
    await runtime.fs.remove(path);
    for await (const chunk of reader) chunks.push(chunk);
    expect(text(chunks.flatMap((chunk) => chunk ?? []))).toBe(output(lines));

    const again = makeReader().read(LOG, {}, never);
    const rest = [(await again.next()).value];
    await runtime.fs.remove(`${path}.gz`);
    for await (const chunk of again) rest.push(chunk);
    expect(text(rest.flatMap((chunk) => chunk ?? []))).toBe(output([...lines.slice(0, 5), ...lines.slice(10)]));
  });

  it('no line is read twice if the log is rotated between opening it and listing the other files', async () => {
    const lines = await runtime.write(3);
    const { cri, fs, clock, logger } = runtime;
    const files = {
      open: fs.open.bind(fs),
      stat: fs.stat.bind(fs),
      realpath: fs.realpath.bind(fs),
      watch: fs.watch.bind(fs),
      readdir: async (path: string): ReturnType<typeof fs.readdir> => {
        await rotate();
        await runtime.write(1);
        return fs.readdir(path);
      },
    };
    const chunks: LogChunk[] = [];
    const reader = new ContainerLogReader({ cri, fs: files, clock, logger });
    for await (const chunk of reader.read(LOG, {}, never)) chunks.push(chunk);
    expect(text(chunks)).toBe(output(lines));
  });

  it('yields the readable part of a damaged compressed file, logs the damage, and continues', async () => {
    const lines = await writeRotated();
    const name = (await runtime.names())[1] ?? '';
    const bytes = await runtime.fs.readFile(`${DIRECTORY}/${name}`);
    await runtime.fs.writeFile(`${DIRECTORY}/${name}`, bytes.slice(0, 5));
    expect(await read()).toBe(output(lines.slice(5)));
    expect(await read({ tailLines: 12 })).toBe(output(lines.slice(5)));
    expect(runtime.logged[0]).toMatchObject({ path: `${DIRECTORY}/${name}`, message: 'Rotated log is damaged' });
  });

  it('the log reader skips and counts malformed lines', async () => {
    await runtime.writeRaw('garbage\n');
    const lines = await runtime.write(1);
    expect(await read()).toBe(output(lines));
    expect(runtime.logged).toMatchObject([{ malformedLines: 1 }]);
  });

  it('the log reader rejects a file in another format, a missing file, and invalid options', async () => {
    await runtime.writeRaw('plain "text"\nmore\n');
    await expect(read()).rejects.toMatchObject({
      code: 'UnsupportedFormat',
      message: 'failed to get parse function: unsupported log format: "plain \\"text\\"\\n"',
    });
    await expect(read({}, '/var/log/none')).rejects.toMatchObject({
      code: 'NotFound',
      message:
        'failed to try resolving symlinks in path "/var/log/none": lstat /var/log/none: no such file or directory',
    });
    await expect(read({ tailLines: -1 })).rejects.toMatchObject({ code: 'InvalidOptions' });
    await expect(read({ limitBytes: 1.5 })).rejects.toMatchObject({ code: 'InvalidOptions' });
    await expect(read({ sinceTime: 'noon' })).rejects.toMatchObject({ code: 'InvalidOptions' });
  });

  it("reads Docker's format through cri-dockerd's symlink, and no files rotated by Docker", async () => {
    const json = (log: string, stream: string, second: number) =>
      `${JSON.stringify({ log, stream, time: `2026-01-01T00:00:0${second}.5Z` })}\n`;
    const path = '/var/lib/docker/c1-json.log';
    await runtime.fs.mkdir('/var/lib/docker');
    await runtime.fs.mkdir(DIRECTORY);
    await runtime.fs.writeFile(`${path}.1`, json('before\n', 'stdout', 0));
    const long = 'é"\u0001'.repeat(4096);
    const lines = [
      json('one \n', 'stdout', 1),
      json(long, 'stdout', 2),
      json('\n', 'stdout', 3),
      json('oops\n', 'stderr', 4),
    ];
    await runtime.fs.writeFile(path, `${lines.join('')}{"log":"cut`);
    await runtime.fs.symlink(path, LOG);
    expect(await read()).toBe(`one \n${long}\noops\n`);
    expect(await read({ stream: 'stderr' })).toBe('oops\n');
    expect(await read({ tailLines: 1, timestamps: true })).toBe('2026-01-01T00:00:04.500000000Z oops\n');
    expect(await read({ sinceTime: '2026-01-01T00:00:03Z' })).toBe('\noops\n');
    expect(await read({ limitBytes: 6 })).toBe('one \n\ufffd');
  });

  it('a malformed line does not count as one of the last lines', async () => {
    await runtime.writeRaw(`${runtime.time()} stdout F one\nnoise\n${runtime.time()} stdout F two`);
    expect(await read({ tailLines: 2 })).toBe('one\ntwo');
    expect(await read({ tailLines: 1 })).toBe('two');
  });

  it('the log reader finds the last lines of any log', async () => {
    const line = fc.integer({ min: 0, max: 70_000 }).map((length) => 'x'.repeat(length));
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 6 }),
        fc.nat(7),
        fc.boolean(),
        async (lines, tailLines, unfinished) => {
          runtime = new FakeRuntime();
          for (const content of lines) await runtime.writeRaw(`${runtime.time()} stdout F ${content}\n`);
          if (unfinished) await runtime.writeRaw(`${runtime.time()} stdout F end`);
          else await runtime.writeRaw('');
          const wanted = tailLines === 0 ? [] : lines.slice(-tailLines);
          const end = unfinished && lines.length < tailLines ? 'end' : '';
          expect(await read({ tailLines })).toBe(output(wanted) + end);
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe('following a log', () => {
  /** Starts to follow the log, and returns the chunks as they arrive. */
  function follow(options: Omit<LogReadOptions, 'follow'> = {}): {
    readonly chunks: LogChunk[];
    readonly ended: Promise<unknown>;
    readonly controller: AbortController;
  } {
    const controller = new AbortController();
    const chunks: LogChunk[] = [];
    const run = async (): Promise<void> => {
      const all = { ...options, follow: { containerId: 'c1' } };
      for await (const chunk of makeReader().read(LOG, all, controller.signal)) chunks.push(chunk);
    };
    const ended = run().then(
      () => 'end of log',
      (error: unknown) => error,
    );
    return { chunks, ended, controller };
  }

  function leaks(): { readonly watches: number; readonly timers: number } {
    return { watches: runtime.fs.openWatches, timers: runtime.clock.pendingTimers };
  }

  it("following a log yields lines as they are written, and queries the container's state only once", async () => {
    const lines = await runtime.write(2);
    const { chunks, controller, ended } = follow();
    await runtime.clock.settle();
    expect(text(chunks)).toBe(output(lines));
    lines.push(...(await runtime.write(1)));
    await runtime.clock.settle();
    expect(text(chunks)).toBe(output(lines));
    expect(runtime.calls).toEqual(['status']);
    controller.abort(new Error('left'));
    expect(await ended).toMatchObject({ message: 'left' });
    expect(leaks()).toEqual({ watches: 0, timers: 0 });
  });

  it('following a log waits for the rest of a line', async () => {
    const { chunks, controller, ended } = follow();
    controller.signal.throwIfAborted();
    expect(await ended).toMatchObject({ code: 'NotFound' });
    await runtime.writeRaw(`${runtime.time()} stdout F half`);
    const second = follow();
    await runtime.clock.settle();
    expect(text(second.chunks)).toBe('');
    await runtime.writeRaw(' and half\n');
    await runtime.clock.settle();
    expect(text(second.chunks)).toBe('half and half\n');
    second.controller.abort();
    await second.ended;
    expect(chunks).toEqual([]);
  });

  it('W2: following a log ends when the container has exited and all output is read, and leaves no file open', async () => {
    const lines = await runtime.write(2);
    const { chunks, ended } = follow();
    await runtime.clock.advance(5000);
    lines.push(...(await runtime.write(1)));
    await runtime.writeRaw(`${runtime.time()} stdout F unfinished`);
    runtime.state = ContainerState.CONTAINER_EXITED;
    await runtime.clock.advance(2000);
    expect(await ended).toBe('end of log');
    expect(text(chunks)).toBe(`${output(lines)}unfinished`);
    expect(leaks()).toEqual({ watches: 0, timers: 0 });
  });

  it('W2: following a log ends immediately if the container has already exited', async () => {
    const lines = await runtime.write(2);
    runtime.state = ContainerState.CONTAINER_EXITED;
    const { chunks, ended } = follow();
    await runtime.clock.settle();
    expect(await Promise.race([ended, 'still following'])).toBe('end of log');
    expect(text(chunks)).toBe(output(lines));
    expect(leaks()).toEqual({ watches: 0, timers: 0 });
  });

  it('W2: following a log leaves no file open when the consumer stops reading', async () => {
    await runtime.write(2);
    for await (const chunk of makeReader().read(LOG, { follow: { containerId: 'c1' } }, never)) {
      expect(text([chunk])).toBe('line 1\nline 2\n');
      break;
    }
    expect(leaks()).toEqual({ watches: 0, timers: 0 });
  });

  it('following a log ends when the container no longer exists, and continues while the runtime does not respond', async () => {
    await runtime.write(1);
    const { ended } = follow();
    runtime.statusFailure = new CriError({ rpc: 'ContainerStatus', code: 'UNAVAILABLE', details: 'restarting' });
    await runtime.clock.advance(5000);
    expect(await Promise.race([ended, 'still following'])).toBe('still following');
    runtime.statusFailure = new CriError({ rpc: 'ContainerStatus', code: 'NOT_FOUND', details: 'gone' });
    await runtime.clock.advance(2000);
    expect(await ended).toBe('end of log');
  });

  it('following a log throws other errors of the runtime', async () => {
    await runtime.write(1);
    const { ended } = follow();
    runtime.statusFailure = new CriError({ rpc: 'ContainerStatus', code: 'INTERNAL', details: 'broken' });
    await runtime.clock.advance(2000);
    expect(await ended).toMatchObject({ code: 'INTERNAL' });
    expect(leaks()).toEqual({ watches: 0, timers: 0 });
  });

  it('N7: no line is lost or repeated when the followed log is rotated, however late the reader checks', async () => {
    for (const rotations of [1, 2, 4]) {
      runtime = new FakeRuntime();
      const lines = await runtime.write(3);
      const { chunks, ended } = follow();
      await runtime.clock.settle();
      for (let round = 0; round < rotations; round++) {
        const { cri, fs, clock, logger } = runtime;
        lines.push(...(await runtime.write(2)));
        const manager = new ContainerLogManager({ cri, fs, clock, logger }, { maxSizeBytes: 0, maxFiles: 10 });
        await manager.rotateLogs(never);
        await manager.compressed();
        lines.push(...(await runtime.write(2)));
      }
      runtime.state = ContainerState.CONTAINER_EXITED;
      // Compressed files are read with the help of real threads.
      for (let turn = 0; turn < 50 && text(chunks) !== output(lines); turn++) {
        await new Promise((resolve) => setImmediate(resolve));
        await runtime.clock.advance(1000);
      }
      expect(await ended).toBe('end of log');
      expect(text(chunks)).toBe(output(lines));
      expect(leaks()).toEqual({ watches: 0, timers: 0 });
    }
  });

  it('N7: reads output written to the old file between the last check and the switch to the new file', async () => {
    const lines = await runtime.write(1);
    const { cri, fs, clock, logger } = runtime;
    let isFirstLook = true;
    const files = {
      open: fs.open.bind(fs),
      readdir: fs.readdir.bind(fs),
      realpath: fs.realpath.bind(fs),
      watch: fs.watch.bind(fs),
      stat: async (path: string): ReturnType<typeof fs.stat> => {
        if (path === LOG && isFirstLook) {
          isFirstLook = false;
          lines.push(...(await runtime.write(1)));
          await fs.rename(LOG, `${LOG}.20260101-000000`);
          await runtime.reopen();
          lines.push(...(await runtime.write(1)));
        }
        return fs.stat(path);
      },
    };
    const reader = new ContainerLogReader({ cri, fs: files, clock, logger });
    const chunks: LogChunk[] = [];
    for await (const chunk of reader.read(LOG, { follow: { containerId: 'c1' } }, never)) {
      chunks.push(chunk);
      if (text([chunk]).endsWith('line 3\n')) break;
    }
    expect(text(chunks)).toBe(output(lines));
  });

  it('N7: a slow reader misses no file that was created and rotated away in the meantime', async () => {
    const lines = await runtime.write(2);
    const following = makeReader().read(LOG, { follow: { containerId: 'c1' } }, never);
    const chunks: LogChunk[] = [];
    const next = async (): Promise<boolean> => {
      const { value, done } = await following.next();
      if (value) chunks.push(value);
      return !done;
    };
    await next();
    for (let round = 0; round < 4; round++) {
      lines.push(...(await runtime.write(2)));
      await rotate();
    }
    lines.push(...(await runtime.write(1)));
    while (text(chunks).length < output(lines).length && (await next()));
    await following.return();
    expect(text(chunks)).toBe(output(lines));
    expect(leaks()).toEqual({ watches: 0, timers: 0 });
  });

  it('following a log continues from the beginning of a log that is truncated in place', async () => {
    const lines = await runtime.write(3);
    const { chunks, controller, ended } = follow();
    await runtime.clock.settle();
    await runtime.fs.writeFile(LOG, '');
    await runtime.clock.settle();
    lines.push(...(await runtime.write(1)));
    await runtime.clock.settle();
    expect(text(chunks)).toBe(output(lines));
    // A line whose rest was lost to truncation is not joined with the line after it.
    await runtime.writeRaw(`${runtime.time()} stdout F cut`);
    await runtime.clock.settle();
    await runtime.fs.writeFile(LOG, '');
    lines.push(...(await runtime.write(1)));
    await runtime.clock.settle();
    expect(text(chunks)).toBe(`${output(lines.slice(0, 4))}cut${output(lines.slice(4))}`);
    controller.abort();
    await ended;
    expect(leaks()).toEqual({ watches: 0, timers: 0 });
  });

  it('reads the rest of a log that was truncated when its container exited', async () => {
    const lines = await runtime.write(3);
    const { chunks, ended } = follow();
    await runtime.clock.settle();
    runtime.state = ContainerState.CONTAINER_EXITED;
    await runtime.fs.writeFile(LOG, '');
    lines.push(...(await runtime.write(1)));
    await runtime.clock.advance(2000);
    expect(await ended).toBe('end of log');
    expect(text(chunks)).toBe(output(lines));
  });

  it('following a log starts with the last lines, and adds timestamps at line starts', async () => {
    await writeRotated();
    const { chunks, controller, ended } = follow({ tailLines: 7, timestamps: true });
    await runtime.clock.advance(100);
    await runtime.write(1);
    await runtime.clock.advance(100);
    controller.abort();
    await ended;
    const lines = text(chunks).split('\n').slice(0, -1);
    expect(lines.map((line) => line.slice(31))).toEqual([9, 10, 11, 12, 13, 14, 15, 16].map((n) => `line ${n}`));
    for (const line of lines) expect(line).toMatch(/^2026-01-01T00:00:\d\d\.\d{9}Z /);
  });

  it('following a log stops at the byte limit', async () => {
    await runtime.write(1);
    const { chunks, ended } = follow({ limitBytes: 9 });
    await runtime.write(1);
    await runtime.clock.settle();
    await runtime.write(1);
    await runtime.clock.settle();
    expect(await ended).toBe('end of log');
    expect(text(chunks)).toBe('line 1\nli');
  });

  it('following a log polls the file if the file cannot be watched', async () => {
    await runtime.write(1);
    runtime.fs.injectFault({ operation: 'watch', code: 'ENOSPC' });
    const { chunks, controller, ended } = follow();
    await runtime.clock.settle();
    await runtime.write(1);
    await runtime.clock.settle();
    expect(text(chunks)).toBe('line 1\n');
    await runtime.clock.advance(1000);
    expect(text(chunks)).toBe('line 1\nline 2\n');
    controller.abort();
    await ended;
  });
});
