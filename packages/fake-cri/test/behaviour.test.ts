import { ContainerState } from '@node-agent/cri-client';
import { describe, expect, test } from 'vitest';
import { BEHAVIOUR_ANNOTATION, type Behaviour, parseBehaviour, type ScriptedContainer } from '../src/index.ts';
import { LOGS, readText, startPod, type World, world } from './support.ts';

async function scripted(behaviour: Behaviour): Promise<World & { containerId: string }> {
  const it = await world({ script: () => behaviour });
  return { ...it, ...(await startPod(it, ['sleep', 'infinity'])) };
}

async function status(it: World & { containerId: string }) {
  return (await it.runtime.containerStatus({ containerId: it.containerId })).status;
}

describe('a scripted container', () => {
  test('a scripted container exits at the scripted time with the scripted exit code, after printing the due output', async () => {
    const output = [
      { text: 'late\n', atMs: 900 },
      { text: 'first\n' },
      { text: 'err\n', stream: 'stderr' as const, atMs: 1000 },
      { text: 'never', atMs: 1001 },
    ];
    const it = await scripted({ exitAfterMs: 1000, exitCode: 4, output });
    await it.clock.advance(999);
    expect((await status(it))?.state).toBe(ContainerState.CONTAINER_RUNNING);
    await it.clock.advance(1);
    expect(await status(it)).toMatchObject({ exitCode: 4, reason: 'Error' });
    const log = await readText(it.fs, `${LOGS}/main_0.log`);
    expect(log.match(/(?<= F ).*/g)).toEqual(['first', 'late', 'err']);
    expect(it.clock.pendingTimers).toBe(0);
  });

  test('a container with oomKilled exits with reason OOMKilled', async () => {
    const it = await scripted({ exitAfterMs: 10, oomKilled: true });
    await it.clock.advance(10);
    expect(await status(it)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  });

  test('SIGTERM ends a scripted container with the scripted exit code and delay, unless SIGTERM is ignored', async () => {
    const stop = async (behaviour: Behaviour): Promise<[number | undefined, number]> => {
      const it = await scripted(behaviour);
      await it.clock.settle();
      const before = it.clock.monotonic();
      let doneMs = Number.NaN;
      const stopped = it.runtime.stopContainer({ containerId: it.containerId, timeout: 10 }).then(() => {
        doneMs = it.clock.monotonic() - before;
      });
      await it.clock.advance(20_000);
      await stopped;
      expect(it.clock.pendingTimers).toBe(0);
      return [(await status(it))?.exitCode, doneMs];
    };
    expect(await stop({ termExitCode: 143 })).toEqual([143, 0]);
    expect(await stop({ termExitCode: 0 })).toEqual([0, 0]);
    expect(await stop({ stopDelayMs: 3000 })).toEqual([143, 3000]);
    expect(await stop({ stopDelayMs: 30_000 })).toEqual([137, 10_000]);
    expect(await stop({ ignoreTerm: true })).toEqual([137, 10_000]);
    expect(await stop({ ignoreTerm: true, killDelayMs: 2000 })).toEqual([137, 12_000]);
  });

  test('a container with an unknown command runs until it is stopped', async () => {
    const it = await world();
    await it.runtime.pullImage({ image: { image: 'nginx' } });
    const { containerId } = await startPod(it, ['nginx', '-g', 'daemon off;'], { image: { image: 'nginx' } });
    await it.clock.advance(3_600_000);
    expect(it.runtime.liveContainers()).toHaveLength(1);
    await it.runtime.stopContainer({ containerId, timeout: 30 });
    expect((await it.runtime.containerStatus({ containerId })).status?.exitCode).toBe(143);
  });

  test('a script gets the image as the pod names it, although the kubelet creates containers with an image ID', async () => {
    const images: string[] = [];
    const script = ({ image }: ScriptedContainer): undefined => void images.push(image);
    for (const userSpecifiedImage of ['nginx', '']) {
      const it = await world({ script });
      const { imageRef } = await it.runtime.pullImage({ image: { image: 'nginx' } });
      const image = userSpecifiedImage === '' ? 'nginx' : imageRef;
      await startPod(it, ['nginx'], { image: { image, userSpecifiedImage } });
    }
    expect(images).toEqual(['nginx', 'nginx']);
  });

  test('startDelayMs delays the start of a container', async () => {
    const it = await world({ script: () => ({ startDelayMs: 5000 }) });
    const started = startPod(it, ['sleep', '1000']);
    await it.clock.advance(4999);
    expect(it.runtime.liveContainers()).toHaveLength(0);
    await it.clock.advance(1);
    await started;
    expect(it.runtime.liveContainers()).toHaveLength(1);
  });

  test('startError makes StartContainer fail with its message', async () => {
    const it = await world({ script: () => ({ startError: 'no such device' }) });
    await expect(startPod(it, ['x'])).rejects.toMatchObject({
      code: 'UNKNOWN',
      details: expect.stringContaining('no such device'),
    });
    const { containers } = await it.runtime.listContainers({});
    const containerId = containers[0]?.id ?? '';
    expect((await it.runtime.containerStatus({ containerId })).status).toMatchObject({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 128,
      reason: 'StartError',
      message: expect.stringContaining('no such device'),
    });
  });

  test('exec returns scripted results, and runs commands of the small shell otherwise', async () => {
    const it = await scripted({ exec: { 'check health': { stdout: 'bad', exitCode: 1 } } });
    const exec = (...cmd: string[]) => it.runtime.execSync({ containerId: it.containerId, cmd });
    const checked = await exec('check', 'health');
    expect([new TextDecoder().decode(checked.stdout), checked.exitCode]).toEqual(['bad', 1]);
    expect((await exec('sh', '-c', 'exit 5')).exitCode).toBe(5);
    await expect(exec('unheard-of')).rejects.toThrow('not found in $PATH');
  });

  test('stats report the scripted usage', async () => {
    const it = await scripted({ usage: { cpuNanoCores: 250_000_000, memoryBytes: 1000 } });
    await it.clock.advance(4000);
    const { stats } = await it.runtime.containerStats({ containerId: it.containerId });
    expect(stats?.cpu?.usageCoreNanoSeconds?.value).toBe(1e9);
    expect(stats?.memory?.workingSetBytes?.value).toBe(1000);
  });

  test('the annotation of a container or of its pod scripts the container', async () => {
    const it = await world();
    const annotations = { [BEHAVIOUR_ANNOTATION]: '{"exitAfterMs":50,"exitCode":9}' };
    const { containerId } = await startPod(it, ['sleep', 'infinity'], { annotations });
    await it.clock.advance(50);
    expect((await it.runtime.containerStatus({ containerId })).status?.exitCode).toBe(9);
    const wrong = { [BEHAVIOUR_ANNOTATION]: '{"exitAfter":50}' };
    const other = await world();
    await expect(startPod(other, ['true'], { annotations: wrong })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: expect.stringContaining('exitAfter: unknown field'),
    });
  });
});

test.each([
  ['{', 'must be JSON'],
  ['[]', 'must be an object'],
  ['{"exitCode":1.5}', 'exitCode: must be a non-negative integer'],
  ['{"exitCode":-1}', 'exitCode: must be a non-negative integer'],
  ['{"ignoreTerm":"yes"}', 'ignoreTerm: must be true or false'],
  ['{"output":[{"text":1}]}', 'output: [0].text: must be a string'],
  ['{"output":[{"text":"a","stream":"x"}]}', 'output: [0].stream: must be stdout or stderr'],
  ['{"exec":{"a b":{"code":1}}}', 'exec: "a b".code: unknown field'],
  ['{"usage":{"cpu":1}}', 'usage: must be'],
  ['{"program":"x"}', 'program: unknown field'],
])('parseBehaviour rejects %s with %s', (json, words) => {
  expect(() => parseBehaviour(json)).toThrow(words);
});
