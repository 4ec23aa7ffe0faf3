import { gunzipSync } from 'node:zlib';
import { ContainerState } from '@node-agent/cri-client';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ContainerLogManager, type ContainerLogManagerOptions } from '../src/container-log-manager.ts';
import { DIRECTORY, FakeRuntime, LOG } from './fixtures.ts';

const { signal } = new AbortController();
let runtime: FakeRuntime;

beforeEach(() => {
  runtime = new FakeRuntime();
});

function makeManager(options: ContainerLogManagerOptions = {}): ContainerLogManager {
  const { cri, fs, clock, logger } = runtime;
  return new ContainerLogManager({ cri, fs, clock, logger }, { maxSizeBytes: 100, ...options });
}

/** Runs one rotation pass and waits for the compressions that it started. */
async function rotateAndCompress(manager: ContainerLogManager): Promise<void> {
  await manager.rotateLogs(signal);
  await manager.compressed();
}

/** Returns all lines of all files of the log, oldest first. */
async function allLines(): Promise<string[]> {
  const names = (await runtime.names()).filter((name) => name !== '0.log').sort();
  const parts: string[] = [];
  for (const name of [...names, '0.log']) {
    const bytes = await runtime.fs.readFile(`${DIRECTORY}/${name}`);
    parts.push(new TextDecoder().decode(name.endsWith('.gz') ? gunzipSync(bytes) : bytes));
  }
  return parts
    .join('')
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').slice(3).join(' '));
}

describe('rotation of logs', () => {
  it('a log below its size limit is not rotated, and its path is requested only once', async () => {
    const manager = makeManager();
    await runtime.write(1);
    await rotateAndCompress(manager);
    await rotateAndCompress(manager);
    expect(await runtime.names()).toEqual(['0.log']);
    expect(runtime.calls).toEqual(['list', 'status', 'list']);
  });

  it('N7: rotations keep every line in order, up to the number of files', async () => {
    const manager = makeManager({ maxFiles: 4 });
    const written: string[] = [];
    for (let round = 0; round < 3; round++) {
      written.push(...(await runtime.write(5)));
      await rotateAndCompress(manager);
      await runtime.clock.advance(1000);
    }
    expect(await runtime.names()).toEqual([
      '0.log',
      '0.log.20260101-000000.gz',
      '0.log.20260101-000001.gz',
      '0.log.20260101-000002',
    ]);
    expect(await allLines()).toEqual(written);
    await runtime.write(5);
    await rotateAndCompress(manager);
    expect(await runtime.names()).toEqual([
      '0.log',
      '0.log.20260101-000001.gz',
      '0.log.20260101-000002.gz',
      '0.log.20260101-000003',
    ]);
  });

  it('N7: loses no line if two rotations happen within one second or the clock is set back', async () => {
    const manager = makeManager({ maxFiles: 10 });
    const written: string[] = [];
    for (const jumpMs of [0, 0, -3_600_000, 0]) {
      runtime.clock.jumpWallClock(jumpMs);
      written.push(...(await runtime.write(5)));
      await rotateAndCompress(manager);
    }
    expect(await allLines()).toEqual(written);
  });

  it("N7: restores the log's name if the runtime does not reopen it", async () => {
    const manager = makeManager();
    const written = await runtime.write(5);
    runtime.reopenFailure = 'before';
    await rotateAndCompress(manager);
    expect(await runtime.names()).toEqual(['0.log']);
    expect(runtime.logged).toMatchObject([{ containerId: 'c1', err: expect.objectContaining({ code: 'Rotation' }) }]);
    written.push(...(await runtime.write(1)));
    await rotateAndCompress(manager);
    expect(await allLines()).toEqual(written);
    expect((await runtime.names()).length).toBe(2);
  });

  it('N7: keeps the new file if the runtime reopened the log but its response was lost', async () => {
    const manager = makeManager();
    const written = await runtime.write(5);
    runtime.reopenFailure = 'after';
    await rotateAndCompress(manager);
    written.push(...(await runtime.write(1)));
    expect((await runtime.names()).length).toBe(2);
    expect(await allLines()).toEqual(written);
  });

  it('the runtime recreates a missing log, as after a crash between renaming and reopening', async () => {
    const manager = makeManager();
    await runtime.write(5);
    await runtime.fs.rename(LOG, `${LOG}.20250101-000000`);
    await rotateAndCompress(manager);
    expect(await runtime.names()).toEqual(['0.log', '0.log.20250101-000000']);
    expect(runtime.calls).toContain('reopen');
  });

  it('K1: keeps every line exactly once whenever the process is killed', async () => {
    for (let skip = 0; ; skip++) {
      runtime = new FakeRuntime();
      const written: string[] = [];
      for (let round = 0; round < 2; round++) {
        written.push(...(await runtime.write(5)));
        await rotateAndCompress(makeManager({ maxFiles: 6 }));
      }
      written.push(...(await runtime.write(5)));
      const fault = runtime.fs.injectFault({ code: 'EIO', skip, times: Number.POSITIVE_INFINITY });
      await rotateAndCompress(makeManager({ maxFiles: 6 }));
      fault.remove();
      await rotateAndCompress(makeManager({ maxFiles: 6 }));
      written.push(...(await runtime.write(5)));
      await rotateAndCompress(makeManager({ maxFiles: 6 }));
      expect(await allLines(), `killed at operation ${skip}`).toEqual(written);
      expect((await runtime.names()).filter((name) => name.endsWith('.tmp'))).toEqual([]);
      if (fault.hits === 0) break;
    }
  });

  it('unused files of an interrupted rotation are removed', async () => {
    await runtime.write(5);
    for (const name of ['20250101-000000', '20250101-000000.gz', '20250102-000000.tmp']) {
      await runtime.fs.writeFile(`${LOG}.${name}`, '');
    }
    await rotateAndCompress(makeManager({ maxFiles: 5 }));
    expect(await runtime.names()).toEqual(['0.log', '0.log.20250101-000000.gz', '0.log.20260101-000000']);
  });

  it('a compressed log keeps its mode', async () => {
    const manager = makeManager();
    await runtime.write(5);
    await runtime.fs.chmod(LOG, 0o640);
    await rotateAndCompress(manager);
    await runtime.write(5);
    await rotateAndCompress(manager);
    const compressed = (await runtime.names()).find((name) => name.endsWith('.gz'));
    expect(await runtime.fs.stat(`${DIRECTORY}/${compressed}`)).toMatchObject({ mode: 0o640 });
  });

  it('rotation continues if a full disk leaves no room for compression', async () => {
    const manager = makeManager({ maxFiles: 3 });
    await runtime.write(5);
    await rotateAndCompress(manager);
    await runtime.write(5);
    runtime.fs.injectFault({ operation: 'append', path: (path) => path.endsWith('.tmp'), code: 'ENOSPC', times: 9 });
    await rotateAndCompress(manager);
    expect((await runtime.names()).some((name) => name.endsWith('.tmp'))).toBe(false);
    expect(runtime.logged).toMatchObject([{ err: expect.objectContaining({ code: 'ENOSPC' }) }]);
    expect(await runtime.size('0.log')).toBe(0);
    await runtime.write(5);
    await rotateAndCompress(manager);
    expect((await runtime.names()).length).toBe(3);
  });

  /**
   * Creates three rotated files of a log that is no longer written. `fault` prevents the compression of the first file.
   */
  async function quietLog(manager: ContainerLogManager, times: number) {
    await runtime.write(5);
    await rotateAndCompress(manager);
    const fault = runtime.fs.injectFault({
      ...{ operation: 'append', path: `${LOG}.20260101-000000.tmp`, code: 'ENOSPC', times },
    });
    for (let round = 0; round < 2; round++) {
      await runtime.write(5);
      await rotateAndCompress(manager);
    }
    return fault;
  }

  const ALL_COMPRESSED = [
    '0.log',
    '0.log.20260101-000000.gz',
    '0.log.20260101-000001.gz',
    '0.log.20260101-000002',
  ] as const;

  it('compresses a rotated log in the pass after a failure, even if the log is no longer written', async () => {
    const manager = makeManager();
    const fault = await quietLog(manager, Number.POSITIVE_INFINITY);
    await rotateAndCompress(manager);
    expect(await runtime.names()).toContain('0.log.20260101-000000');
    fault.remove();
    await rotateAndCompress(manager);
    expect(await runtime.names()).toEqual(ALL_COMPRESSED);
    const { calls } = runtime;
    const before = calls.length;
    await rotateAndCompress(manager);
    expect(calls.slice(before)).toEqual(['list']);
  });

  it('compresses a rotated log after a failure, even if its container has exited', async () => {
    const manager = makeManager();
    const fault = await quietLog(manager, Number.POSITIVE_INFINITY);
    fault.remove();
    runtime.state = ContainerState.CONTAINER_EXITED;
    await rotateAndCompress(manager);
    expect(await runtime.names()).toEqual(ALL_COMPRESSED);
  });

  it('a compression that keeps failing is logged once, and again after it succeeded', async () => {
    const manager = makeManager();
    const fault = await quietLog(manager, Number.POSITIVE_INFINITY);
    for (let pass = 0; pass < 5; pass++) await rotateAndCompress(manager);
    expect(runtime.logged).toHaveLength(1);
    fault.remove();
    await rotateAndCompress(manager);
    runtime.fs.injectFault({ operation: 'append', path: `${LOG}.20260101-000002.tmp`, code: 'ENOSPC', times: 1 });
    await runtime.write(5);
    await rotateAndCompress(manager);
    expect(runtime.logged).toHaveLength(2);
  });

  it('compresses newer rotated files if an older one cannot be compressed', async () => {
    await quietLog(makeManager(), Number.POSITIVE_INFINITY);
    expect(await runtime.names()).toEqual([
      '0.log',
      '0.log.20260101-000000',
      '0.log.20260101-000001.gz',
      '0.log.20260101-000002',
    ]);
  });

  it('K1: compresses files that a killed process left uncompressed', async () => {
    const fault = await quietLog(makeManager(), Number.POSITIVE_INFINITY);
    fault.remove();
    await rotateAndCompress(makeManager());
    expect(await runtime.names()).toEqual(ALL_COMPRESSED);
  });

  /** The file system operations at which a compression hangs. */
  const STEPS = ['chmod', 'rename'] as const;

  /** Rotates twice. The compression of the first rotated file hangs at this operation until the fault is removed. */
  async function whileCompressing(manager: ContainerLogManager, operation: (typeof STEPS)[number]) {
    const written = await runtime.write(5);
    await rotateAndCompress(manager);
    const fault = runtime.fs.injectFault({
      ...{ operation, path: (path) => path.endsWith('.tmp'), code: 'EIO', hangs: true },
    });
    written.push(...(await runtime.write(5)));
    await manager.rotateLogs(signal);
    await vi.waitFor(() => expect(fault.hits).toBe(1));
    return { fault, written };
  }

  it.each(STEPS)(
    'N7: rotates a log while the compression of its older files hangs in %s, and loses no line',
    async (step) => {
      const manager = makeManager();
      const { fault, written } = await whileCompressing(manager, step);
      written.push(...(await runtime.write(5)));
      await manager.rotateLogs(signal);
      expect(await runtime.size('0.log')).toBe(0);
      expect(await runtime.names()).toContain('0.log.20260101-000000.tmp');
      fault.remove();
      await manager.compressed();
      expect(await runtime.names()).toEqual([
        '0.log',
        '0.log.20260101-000000.gz',
        '0.log.20260101-000001.gz',
        '0.log.20260101-000002',
      ]);
      expect(await allLines()).toEqual(written);
      expect(runtime.logged).toEqual([]);
    },
  );

  it.each(STEPS)(
    'removes a file beyond the limit while its compression hangs in %s, and leaves no compressed file',
    async (step) => {
      const manager = makeManager({ maxFiles: 3 });
      const { fault } = await whileCompressing(manager, step);
      await runtime.write(5);
      await manager.rotateLogs(signal);
      fault.remove();
      await manager.compressed();
      expect(await runtime.names()).toEqual(['0.log', '0.log.20260101-000001.gz', '0.log.20260101-000002']);
      expect(runtime.logged).toEqual([]);
    },
  );

  it.each(STEPS)('leaves no file of a log that is removed while a compression hangs in %s', async (step) => {
    const manager = makeManager();
    const { fault } = await whileCompressing(manager, step);
    await manager.clean('c1', signal);
    fault.remove();
    await manager.compressed();
    expect(await runtime.names()).toEqual([]);
    expect(runtime.logged).toEqual([]);
  });

  it('logs of containers that have exited or no longer exist are kept', async () => {
    await runtime.write(5);
    runtime.state = ContainerState.CONTAINER_EXITED;
    await rotateAndCompress(makeManager());
    expect(await runtime.names()).toEqual(['0.log']);
  });
});

describe('ContainerLogManager.start', () => {
  it('N7: logs are checked immediately and then at every interval, however long a pass takes, until the abort', async () => {
    const controller = new AbortController();
    const running = makeManager({ monitorIntervalMs: 3000 }).start(controller.signal);
    await runtime.write(5);
    await runtime.clock.advance(2999);
    expect(runtime.calls.filter((call) => call === 'list')).toHaveLength(1);
    await runtime.clock.advance(1);
    expect(await runtime.size('0.log')).toBe(0);
    runtime.cri.listContainers = async () => Promise.reject(new Error('down'));
    await runtime.clock.advance(3000);
    expect(runtime.logged.at(-1)).toMatchObject({ message: 'Failed to rotate container logs' });
    controller.abort();
    await running;
    expect(runtime.clock.pendingTimers).toBe(0);
  });

  it('N7: a compression longer than an interval delays no check, and is awaited at the end', async () => {
    const controller = new AbortController();
    await runtime.write(5);
    await runtime.fs.writeFile(`${LOG}.20250101-000000`, 'old');
    const fault = runtime.fs.injectFault({
      ...{ operation: 'chmod', path: (path) => path.endsWith('.tmp'), code: 'EIO', hangs: true },
    });
    let hasEnded = false;
    const running = makeManager({ monitorIntervalMs: 3000 })
      .start(controller.signal)
      .then(() => {
        hasEnded = true;
      });
    await vi.waitFor(() => expect(fault.hits).toBe(1));
    await runtime.write(5);
    await runtime.clock.advance(3000);
    expect(await runtime.size('0.log')).toBe(0);
    controller.abort();
    await runtime.clock.settle();
    expect(hasEnded).toBe(false);
    fault.remove();
    await running;
    const names = await runtime.names();
    expect(names).toContain('0.log.20250101-000000');
    expect(names.filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('ContainerLogManager checks no log if the size is not limited', async () => {
    const manager = makeManager({ maxSizeBytes: -1 });
    await runtime.write(5);
    await rotateAndCompress(manager);
    expect(runtime.calls).toEqual([]);
    expect(await runtime.names()).toEqual(['0.log']);
  });

  it('K4: sets no timer while the size of logs is not limited, and checks the logs as soon as a limit is set', async () => {
    const manager = makeManager({ maxSizeBytes: -1 });
    const stop = new AbortController();
    const running = manager.start(stop.signal);
    await runtime.write(5);
    await runtime.clock.advance(60_000);
    expect(runtime.clock.pendingTimers).toBe(0);
    manager.update({ maxSizeBytes: -1, maxFiles: 3 });
    await runtime.clock.advance(0);
    expect(runtime.clock.pendingTimers).toBe(0);
    manager.update({ maxSizeBytes: 100 });
    await runtime.clock.advance(0);
    expect(await runtime.names()).toHaveLength(2);
    expect(runtime.clock.pendingTimers).toBe(1);
    manager.update({ maxSizeBytes: -1 });
    await runtime.clock.advance(10_000);
    expect(runtime.clock.pendingTimers).toBe(0);
    stop.abort();
    await running;
  });

  it('N7: applies a new size and a new number of files to the next pass, and a new interval after it', async () => {
    const manager = makeManager({ maxSizeBytes: -1, monitorIntervalMs: 10_000 });
    const stop = new AbortController();
    const running = manager.start(stop.signal);
    for (let round = 0; round < 3; round++) {
      await runtime.write(5);
      await runtime.clock.advance(10_000);
    }
    expect(await runtime.names()).toEqual(['0.log']);
    manager.update({ maxSizeBytes: 100, maxFiles: 2, monitorIntervalMs: 3_000 });
    await runtime.clock.advance(10_000);
    expect(await runtime.names()).toHaveLength(2);
    await runtime.write(5);
    await runtime.clock.advance(3_000);
    expect(await runtime.names()).toHaveLength(2);
    expect(() => manager.update({ maxFiles: 1 })).toThrow(expect.objectContaining({ code: 'InvalidOptions' }));
    stop.abort();
    await runtime.clock.advance(0);
    await running;
  });

  it.each([{ maxFiles: 1 }, { workers: 0 }, { monitorIntervalMs: 0 }, { monitorIntervalMs: Number.NaN }])(
    'ContainerLogManager refuses the options %j',
    (options) => {
      expect(() => makeManager(options)).toThrow(expect.objectContaining({ code: 'InvalidOptions' }));
    },
  );
});

describe('ContainerLogManager.clean', () => {
  it('clean removes all logs of a container and no others', async () => {
    await runtime.write(1);
    for (const name of ['0.log.20250101-000000.gz', '0.log.x', '10.log', '0.logs']) {
      await runtime.fs.writeFile(`${DIRECTORY}/${name}`, '');
    }
    await makeManager().clean('c1', signal);
    expect(await runtime.names()).toEqual(['0.logs', '10.log']);
  });

  it('clean succeeds if the directory does not exist', async () => {
    await makeManager().clean('c1', signal);
    expect(await runtime.fs.exists(DIRECTORY)).toBe(false);
  });
});
