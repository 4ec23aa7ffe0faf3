import { FakeClock } from '@node-agent/async/testing';
import type { Metrics } from '@node-agent/telemetry';
import { afterEach, describe, expect, it } from 'vitest';
import { CriClient } from '../src/index.ts';
import { Failure, type Handlers, serve, socketDirectory, someVersion } from './fake-server.ts';

/** Creates a metrics registry that records every count and observation as a line. */
function recorder(): { lines: string[]; metrics: Metrics } {
  const lines: string[] = [];
  const note = (name: string) => (labels: object, value: number) => {
    lines.push(`${name.replace('kubelet_', '')}${JSON.stringify(Object.values(labels))} ${value}`);
  };
  return {
    lines,
    metrics: {
      counter: ({ name }) => ({ inc: (labels, by = 1) => note(name)(labels, by) }),
      gauge: ({ name }) => ({ set: note(name) }),
      histogram: ({ name }) => ({ observe: note(name) }),
    },
  };
}

const cleanUps: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function setUp(handlers: Handlers) {
  const directory = socketDirectory();
  const socket = `${directory.path}/cri.sock`;
  const server = await serve(`unix:${socket}`, handlers);
  const { lines, metrics } = recorder();
  const clock = new FakeClock();
  const runtime = new CriClient({ clock, metrics }, { endpoint: `unix://${socket}` });
  cleanUps.push(
    () => runtime.close(),
    () => server.stop(),
    directory.remove,
  );
  return { clock, lines, runtime };
}

describe('metrics of calls', () => {
  it('metrics count each call with its duration, and failed calls', async () => {
    const { clock, lines, runtime } = await setUp({
      version: async () => {
        await clock.advance(250);
        return someVersion;
      },
      startContainer: () => Promise.reject(new Failure('INTERNAL', 'no')),
    });
    await runtime.version({});
    await expect(runtime.startContainer({})).rejects.toThrow('no');
    expect(lines).toEqual([
      'runtime_operations_total["version"] 1',
      'runtime_operations_duration_seconds["version"] 0.25',
      'runtime_operations_total["start_container"] 1',
      'runtime_operations_duration_seconds["start_container"] 0',
      'runtime_operations_errors_total["start_container"] 1',
    ]);
  });

  it('metrics count an incomplete response as a failure, and a sandbox by its runtime handler', async () => {
    const { lines, runtime } = await setUp({ runPodSandbox: () => ({}) });
    await expect(runtime.runPodSandbox({ runtimeHandler: 'kata' })).rejects.toThrow('incomplete');
    expect(lines).toEqual([
      'runtime_operations_total["run_podsandbox"] 1',
      'runtime_operations_duration_seconds["run_podsandbox"] 0',
      'runtime_operations_errors_total["run_podsandbox"] 1',
      'run_podsandbox_duration_seconds["kata"] 0',
      'run_podsandbox_errors_total["kata"] 1',
    ]);
  });

  it('metrics count a failed exec of a probe as a failed call, as upstream does', async () => {
    let exitCode = 1;
    const { lines, runtime } = await setUp({ execSync: () => ({ exitCode }) });
    expect(await runtime.execSync({ cmd: ['false'] })).toMatchObject({ exitCode: 1 });
    expect(lines).toEqual([
      'runtime_operations_total["exec_sync"] 1',
      'runtime_operations_duration_seconds["exec_sync"] 0',
      'runtime_operations_errors_total["exec_sync"] 1',
    ]);
    lines.length = 0;
    exitCode = 0;
    await runtime.execSync({ cmd: ['true'] });
    expect(lines.filter((line) => line.includes('errors'))).toEqual([]);
  });

  it('metrics count a list once, whether it used the streaming RPC, the plain RPC or both', async () => {
    const { lines, runtime } = await setUp({ listImages: () => ({}) });
    await runtime.listImages({});
    expect(lines.filter((line) => line.includes('total'))).toEqual(['runtime_operations_total["list_images"] 1']);
  });

  it('metrics count a stream when it ends, and do not count a reader that stops as a failure', async () => {
    const { lines, runtime } = await setUp({
      async *getContainerEvents() {
        yield { containerId: 'a' };
        throw new Failure('UNAVAILABLE', 'restart');
      },
    });
    for await (const _ of runtime.getContainerEvents({})) break;
    expect(lines).toEqual(['runtime_operations_total["get_container_events"] 1', expect.stringContaining('duration')]);
    lines.length = 0;
    const read = async (): Promise<void> => {
      for await (const _ of runtime.getContainerEvents({}));
    };
    await expect(read()).rejects.toThrow('restart');
    expect(lines).toContain('runtime_operations_errors_total["get_container_events"] 1');
  });
});
