import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { ConfigError, defaultConfiguration, type KubeletConfiguration } from '@node-agent/config';
import { nodeFileSystem as fs } from '@node-agent/host';
import { silentLogger } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ConfigurationReload } from '../src/configuration/configuration-reload.ts';
import { watchConfiguration } from '../src/configuration/configuration-watch.ts';

function setUp(start: Partial<KubeletConfiguration> = {}) {
  const { logger, lines } = captureLogger();
  const files = { configuration: defaultConfiguration(start), error: undefined as Error | undefined };
  const applied: Partial<KubeletConfiguration>[] = [];
  const events: string[] = [];
  const state = { fails: false };
  const reload = new ConfigurationReload(
    {
      logger,
      load: async () => {
        if (files.error !== undefined) throw files.error;
        return files;
      },
      apply({ maxPods, port }) {
        applied.push({ maxPods, port });
        if (state.fails) {
          state.fails = false;
          throw new Error('a component rejects it');
        }
      },
      tell: (type, reason, message) => events.push(`${type} ${reason}: ${message}`),
    },
    files.configuration,
  );
  const change = async (values: Partial<KubeletConfiguration>): Promise<boolean> => {
    files.configuration = { ...files.configuration, ...values };
    return await reload.reload();
  };
  return { reload, change, files, applied, events, lines, state };
}

describe('a changed configuration', () => {
  test('applies changed live fields, and names fields that need a restart in an event and in the state', async () => {
    const { reload, change, applied, events } = setUp({ maxPods: 10, port: 10_250 });
    await change({ maxPods: 20, port: 10_251 });
    expect(applied).toEqual([{ maxPods: 20, port: 10_250 }]);
    expect(reload.current).toMatchObject({ maxPods: 20, port: 10_250 });
    expect(reload.state).toEqual({ needsRestart: ['port'] });
    expect(events).toEqual([
      'Normal ConfigurationChanged: Applied changed configuration: maxPods',
      'Warning ConfigurationNeedsRestart: Needs a restart of the kubelet: port',
    ]);
  });

  test('a changed field that needs a restart is reported once, until the file has the running value again', async () => {
    const { reload, change, applied, events } = setUp({ port: 10_250 });
    await change({ port: 10_251 });
    await reload.reload();
    expect(events).toHaveLength(1);
    await change({ port: 10_250 });
    expect([reload.state, applied]).toEqual([undefined, []]);
  });

  test('an invalid configuration changes nothing, and the error with file and field is logged once', async () => {
    const { reload, change, files, applied, events, lines } = setUp({ maxPods: 10 });
    const origin = { source: 'file', file: '/etc/kubelet.yaml', line: 3, column: 10 } as const;
    files.error = new ConfigError('invalid', [{ path: 'maxPods', message: 'must not be negative', origin }]);
    expect(await change({ maxPods: -1 })).toBe(false);
    await reload.reload();
    expect([applied, reload.current.maxPods]).toEqual([[], 10]);
    const problem = '/etc/kubelet.yaml:3:10: maxPods: must not be negative';
    expect(reload.state).toEqual({ needsRestart: [], problems: [problem] });
    expect(events).toEqual([`Warning ConfigurationInvalid: The previous configuration stays in force: ${problem}`]);
    expect(lines.filter((line) => JSON.stringify(line).includes('stays in force'))).toHaveLength(1);
    files.error = undefined;
    expect(await change({ maxPods: 11 })).toBe(true);
    expect([reload.state, reload.current.maxPods]).toEqual([undefined, 11]);
  });

  test('a changed configuration is rolled back if a component rejects a value', async () => {
    const { reload, change, applied, state } = setUp({ maxPods: 10 });
    state.fails = true;
    expect(await change({ maxPods: 20 })).toBe(false);
    expect(applied.map(({ maxPods }) => maxPods)).toEqual([20, 10]);
    expect([reload.current.maxPods, reload.state?.problems]).toEqual([10, ['a component rejects it']]);
  });
});

describe('watchConfiguration', () => {
  let directory = '';
  let reloads = 0;
  let request = (): void => {};
  const ending = new AbortController();
  let running: Promise<void>;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'configuration-'));
    await mkdir(join(directory, 'conf.d/inner'), { recursive: true });
    reloads = 0;
  });
  afterEach(async () => {
    ending.abort();
    await running;
    await rm(directory, { recursive: true });
  });

  test('reads the configuration again after a file was replaced, after a drop-in or a directory of drop-ins was added, and on request', async () => {
    const onRequest = (listener: () => void) => {
      request = listener;
      return () => {};
    };
    const reload = async (): Promise<void> => void reloads++;
    running = watchConfiguration(
      { fs, clock: systemClock, logger: silentLogger, onRequest, reload },
      { file: join(directory, 'kubelet.yaml'), directory: join(directory, 'conf.d') },
      ending.signal,
    );
    const reloaded = async (change: () => Promise<unknown>): Promise<void> => {
      // The first reload is requested when the watches are established.
      await vi.waitFor(() => expect(reloads).toBeGreaterThan(0));
      await vi.waitFor(async () => {
        const before = reloads;
        await change();
        await vi.waitFor(() => expect(reloads).toBeGreaterThan(before), 2_000);
      }, 15_000);
    };
    let serial = 0;
    const replace = (name: string) => async (): Promise<void> => {
      await writeFile(join(directory, '.draft'), String(serial++));
      await rename(join(directory, '.draft'), join(directory, name));
    };
    await reloaded(replace('kubelet.yaml'));
    await reloaded(replace('conf.d/10.conf'));
    await reloaded(replace('conf.d/inner/20.conf'));
    await mkdir(join(directory, 'conf.d/later'));
    await reloaded(replace('conf.d/later/30.conf'));
    await reloaded(async () => request());
  }, 60_000);

  test('watching the configuration ends on abort, even if reading the files never ends', async () => {
    const reading = Promise.withResolvers<void>();
    const reload = (): Promise<void> => {
      reading.resolve();
      return new Promise(() => {});
    };
    const stop = new AbortController();
    const onRequest = (listener: () => void) => {
      listener();
      return () => {};
    };
    running = watchConfiguration(
      { fs, clock: systemClock, logger: silentLogger, onRequest, reload },
      { file: join(directory, 'kubelet.yaml'), directory: '' },
      stop.signal,
    );
    await reading.promise;
    stop.abort();
    await expect(running).resolves.toBeUndefined();
  });
});
