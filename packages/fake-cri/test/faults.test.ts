import { seededRandom } from '@node-agent/async';
import { type ContainerEventResponse, ContainerEventType, ContainerState, NamespaceMode } from '@node-agent/cri-client';
import { describe, expect, test } from 'vitest';
import { type RpcFault, seededFaults } from '../src/index.ts';
import { containerConfig, sandboxConfig, startPod, type World, world } from './support.ts';

/** Returns the outcome of a call and the time that it took. */
async function outcome(it: World, call: Promise<unknown>): Promise<{ code: string; afterMs: number }> {
  const before = it.clock.monotonic();
  let result: { code: string; afterMs: number } | undefined;
  call.then(
    () => {
      result = { code: 'OK', afterMs: it.clock.monotonic() - before };
    },
    (error: { code: string }) => {
      result = { code: error.code, afterMs: it.clock.monotonic() - before };
    },
  );
  await it.clock.settle();
  for (let turn = 0; result === undefined && turn < 1000; turn++) {
    if (!(await it.clock.advanceToNext())) await it.clock.settle();
  }
  return result ?? { code: 'PENDING', afterMs: it.clock.monotonic() - before };
}

async function sandboxes(it: World): Promise<number> {
  return (await it.runtime.listPodSandbox({})).items.length;
}

describe('a call with an injected fault', () => {
  const run = async (fault: RpcFault) => {
    const it = await world();
    it.runtime.faults.add({ rpc: 'runPodSandbox', fault, times: 1 });
    const result = await outcome(it, it.runtime.runPodSandbox({ config: sandboxConfig() }));
    return { it, result };
  };

  test('with the fault error, the call fails and the runtime does nothing', async () => {
    const { it, result } = await run({ kind: 'error', code: 'RESOURCE_EXHAUSTED', message: 'no room' });
    expect(result).toEqual({ code: 'RESOURCE_EXHAUSTED', afterMs: 0 });
    expect(await sandboxes(it)).toBe(0);
  });

  test('with the fault delay, the call succeeds after the delay', async () => {
    const { it, result } = await run({ kind: 'delay', delayMs: 700 });
    expect(result).toEqual({ code: 'OK', afterMs: 700 });
    expect(await sandboxes(it)).toBe(1);
  });

  test('with the fault hang, the call ends with DEADLINE_EXCEEDED after 2 min and the runtime does nothing', async () => {
    const { it, result } = await run({ kind: 'hang' });
    expect(result).toEqual({ code: 'DEADLINE_EXCEEDED', afterMs: 120_000 });
    expect(await sandboxes(it)).toBe(0);
  });

  test('with the fault hang, the caller can abort the call', async () => {
    const it = await world();
    it.runtime.faults.add({ rpc: '*', fault: { kind: 'hang', timeoutMs: Number.POSITIVE_INFINITY } });
    const abort = new AbortController();
    const call = outcome(it, it.runtime.version({}, abort.signal));
    abort.abort();
    expect(await call).toEqual({ code: 'CANCELLED', afterMs: 0 });
    expect(it.clock.pendingTimers).toBe(0);
  });

  test('C1: lateSuccess: the caller times out, the runtime still creates the sandbox and rejects a second one', async () => {
    const { it, result } = await run({ kind: 'lateSuccess', timeoutMs: 100, workDelayMs: 300 });
    expect(result).toEqual({ code: 'DEADLINE_EXCEEDED', afterMs: 100 });
    expect(await sandboxes(it)).toBe(0);
    await it.clock.advance(200);
    expect(await sandboxes(it)).toBe(1);
    await expect(it.runtime.runPodSandbox({ config: sandboxConfig() })).rejects.toThrow('is reserved for');
  });

  test('C1: answerLost: the runtime creates the sandbox, the caller gets UNAVAILABLE, and a second sandbox is rejected', async () => {
    const { it, result } = await run({ kind: 'answerLost' });
    expect(result).toEqual({ code: 'UNAVAILABLE', afterMs: 0 });
    expect(await sandboxes(it)).toBe(1);
    await expect(it.runtime.runPodSandbox({ config: sandboxConfig() })).rejects.toThrow('is reserved for');
  });

  test('with the fault nonsense, the response is unusable as the fault specifies', async () => {
    const it = await world();
    const { containerId } = await startPod(it, ['sleep', 'infinity']);
    const list = async (nonsense: 'empty' | 'noMetadata' | 'unknownState' | 'noIds' | 'noLabels') => {
      it.runtime.faults.add({ rpc: 'listContainers', fault: { kind: 'nonsense', nonsense }, times: 1 });
      return (await it.runtime.listContainers({})).containers;
    };
    expect(await list('empty')).toEqual([]);
    expect((await list('noMetadata'))[0]).toMatchObject({ id: containerId, metadata: null });
    expect((await list('unknownState'))[0]?.state).toBe(77);
    expect((await list('noIds'))[0]).toMatchObject({ id: '', podSandboxId: '' });
    it.runtime.faults.add({ rpc: 'containerStatus', fault: { kind: 'nonsense', nonsense: 'empty' }, times: 1 });
    expect((await it.runtime.containerStatus({ containerId })).status).toBeNull();
    expect((await it.runtime.containerStatus({ containerId })).status?.id).toBe(containerId);
  });

  test('a fault rule respects times, skip and when, and can be removed', async () => {
    const it = await world();
    const code = async (podSandboxId: string): Promise<string> =>
      (await outcome(it, it.runtime.podSandboxStatus({ podSandboxId }))).code;
    const { faults } = it.runtime;
    faults.add({ rpc: ['podSandboxStatus', 'version'], fault: { kind: 'error', code: 'INTERNAL' }, skip: 1, times: 2 });
    expect([await code('x'), await code('x'), await code('x'), await code('x')]).toEqual([
      'NOT_FOUND',
      'INTERNAL',
      'INTERNAL',
      'NOT_FOUND',
    ]);
    const takeBack = faults.add({
      rpc: '*',
      when: (request: object) => 'podSandboxId' in request && request.podSandboxId === 'bad',
      fault: { kind: 'error', code: 'ABORTED' },
    });
    expect([await code('bad'), await code('good')]).toEqual(['ABORTED', 'NOT_FOUND']);
    takeBack();
    expect(await code('bad')).toBe('NOT_FOUND');
    faults.add({ rpc: '*', fault: { kind: 'error', code: 'ABORTED' } });
    faults.clear();
    expect(await code('bad')).toBe('NOT_FOUND');
    expect(() => faults.add({ rpc: '*', fault: { kind: 'hang' }, times: -1 })).toThrow(TypeError);
  });
});

describe('container events of the fake runtime', () => {
  async function heardBy(it: World, act: () => Promise<unknown>): Promise<string[]> {
    const heard: ContainerEventResponse[] = [];
    const abort = new AbortController();
    const reading = (async () => {
      for await (const event of it.runtime.getContainerEvents({}, abort.signal)) heard.push(event);
    })().catch(() => {});
    await act();
    await it.clock.advance(10_000);
    abort.abort();
    await reading;
    const names = Object.keys(ContainerEventType).map((name) => name.split('_')[1]?.toLowerCase());
    return heard.map((event) => `${names[event.containerEventType]} ${event.containersStatuses.length}`);
  }
  const made = (it: World) => () => startPod(it, ['sh', '-c', 'sleep 1; exit 3']);

  test('events report a pod’s life with the statuses at that time', async () => {
    const it = await world();
    expect(await heardBy(it, made(it))).toEqual(['created 0', 'started 0', 'created 1', 'started 1', 'stopped 1']);
  });

  test('fault rules drop, duplicate and delay events', async () => {
    const it = await world();
    it.runtime.faults.add({ event: 'created', fault: { kind: 'drop' }, times: 1 });
    it.runtime.faults.add({ event: 'created', fault: { kind: 'delay', delayMs: 500 } });
    it.runtime.faults.add({ event: 'stopped', fault: { kind: 'duplicate' } });
    expect(await heardBy(it, made(it))).toEqual(['started 0', 'started 1', 'created 1', 'stopped 1', 'stopped 1']);
  });

  test('events are kept for five minutes for a first subscriber and then dropped', async () => {
    const it = await world();
    await startPod(it, ['sleep', 'infinity']);
    await it.clock.advance(299_000);
    expect(await heardBy(it, async () => {})).toHaveLength(4);
    const late = await world();
    await startPod(late, ['sleep', 'infinity']);
    await late.clock.advance(301_000);
    expect(await heardBy(late, async () => {})).toHaveLength(0);
  });
});

describe('a crash of the fake runtime', () => {
  test('K2: containers keep running and exit as scripted during a crash, and the runtime knows their ids and states after recovery', async () => {
    const it = await world();
    const { containerId } = await startPod(it, ['sh', '-c', 'sleep 5; exit 3']);
    it.runtime.crash();
    expect((await outcome(it, it.runtime.version({}))).code).toBe('UNAVAILABLE');
    await it.clock.advance(2000);
    it.runtime.recover();
    expect((await it.runtime.containerStatus({ containerId })).status?.state).toBe(ContainerState.CONTAINER_RUNNING);
    it.runtime.crash();
    await it.clock.advance(4000);
    it.runtime.recover();
    expect((await it.runtime.containerStatus({ containerId })).status).toMatchObject({ exitCode: 3, reason: 'Error' });
  });

  test('a crash ends open calls and event streams, and events during the downtime are lost', async () => {
    const it = await world({ latencies: { startContainerMs: 1000 } });
    const listening = (async () => {
      const heard: number[] = [];
      try {
        for await (const event of it.runtime.getContainerEvents({})) heard.push(event.containerEventType);
      } catch (error) {
        return { heard, code: (error as { code: string }).code };
      }
      return { heard, code: 'ended' };
    })();
    const config = sandboxConfig();
    const { podSandboxId } = await it.runtime.runPodSandbox({ config });
    const { containerId } = await it.runtime.createContainer({
      podSandboxId,
      config: containerConfig(['sh', '-c', 'exit 0']),
      sandboxConfig: config,
    });
    const starting = outcome(it, it.runtime.startContainer({ containerId }));
    await Promise.resolve();
    it.runtime.crash();
    expect(await starting).toEqual({ code: 'UNAVAILABLE', afterMs: 0 });
    expect(await listening).toEqual({ heard: [0, 1, 0], code: 'UNAVAILABLE' });
    it.runtime.recover();
    expect((await it.runtime.containerStatus({ containerId })).status?.state).toBe(ContainerState.CONTAINER_CREATED);
  });

  test('recover with exitCodesLost loses only the exit codes of containers that exited during the downtime', async () => {
    const it = await world();
    const { podSandboxId, containerId: before } = await startPod(it, ['false']);
    await it.clock.settle();
    const config = containerConfig(['sh', '-c', 'sleep 1; exit 3'], { metadata: { name: 'second', attempt: 0 } });
    const { containerId } = await it.runtime.createContainer({ podSandboxId, config, sandboxConfig: sandboxConfig() });
    await it.runtime.startContainer({ containerId });
    it.runtime.crash();
    await it.clock.advance(2000);
    it.runtime.recover({ exitCodesLost: true });
    expect((await it.runtime.containerStatus({ containerId })).status).toMatchObject({
      exitCode: 255,
      reason: 'Unknown',
    });
    expect((await it.runtime.containerStatus({ containerId: before })).status?.exitCode).toBe(1);
  });

  test('recover with died ends the selected containers', async () => {
    const it = await world();
    const { containerId } = await startPod(it, ['sleep', 'infinity']);
    it.runtime.crash();
    it.runtime.recover({ died: ({ name, podUid }) => name === 'main' && podUid === 'uid-1' });
    expect((await it.runtime.containerStatus({ containerId })).status).toMatchObject({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 255,
      reason: 'Unknown',
    });
    expect(it.runtime.liveContainers()).toEqual([]);
  });
});

test('after a power loss, the runtime reports all containers as exited and all sandboxes as not ready', async () => {
  const it = await world();
  const { podSandboxId, containerId } = await startPod(it, ['sleep', 'infinity']);
  expect(it.runtime.powerOff()).toEqual([podSandboxId]);
  expect(it.runtime.down).toBe(true);
  expect(it.runtime.liveContainers()).toEqual([]);
  expect(it.runtime.powerOff()).toEqual([]);
  it.runtime.recover();
  expect((await it.runtime.podSandboxStatus({ podSandboxId })).status?.state).toBe(1);
  expect((await it.runtime.containerStatus({ containerId })).status).toMatchObject({
    state: ContainerState.CONTAINER_EXITED,
    exitCode: 255,
    reason: 'Unknown',
  });
});

test('the runtime reports a killed container, a killed sandbox and a missing network', async () => {
  const it = await world();
  const { podSandboxId, containerId } = await startPod(it, ['sleep', 'infinity']);
  it.runtime.killContainer(containerId, { oomKilled: true });
  await it.clock.settle();
  expect((await it.runtime.containerStatus({ containerId })).status).toMatchObject({
    exitCode: 137,
    reason: 'OOMKilled',
  });
  it.runtime.killSandbox(podSandboxId);
  expect((await it.runtime.podSandboxStatus({ podSandboxId })).status?.state).toBe(1);
  it.runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'cni plugin not initialized');
  const config = sandboxConfig({ metadata: { name: 'other', namespace: 'n', uid: 'u', attempt: 0 } });
  await expect(it.runtime.runPodSandbox({ config })).rejects.toThrow('cni plugin not initialized');
  expect((await it.runtime.status({})).status?.conditions[1]).toMatchObject({
    status: false,
    reason: 'NetworkPluginNotReady',
  });
});

test('a killed sandbox ends only the containers that share its PID namespace', async () => {
  const it = await world();
  const { podSandboxId, containerId } = await startPod(it, ['sleep', 'infinity']);
  const config = containerConfig(['sleep', 'infinity'], {
    metadata: { name: 'sharing', attempt: 0 },
    linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.POD } } },
  });
  const sharing = await it.runtime.createContainer({ podSandboxId, config, sandboxConfig: sandboxConfig() });
  await it.runtime.startContainer(sharing);
  it.runtime.killSandbox(podSandboxId);
  await it.clock.settle();
  expect((await it.runtime.containerStatus(sharing)).status?.exitCode).toBe(137);
  expect(it.runtime.liveContainers().map((live) => live.id)).toEqual([containerId]);
});

test('the same seed gives the same faults and ids, and another seed gives others', async () => {
  const trace = async (seed: number): Promise<string> => {
    const it = await world({}, seed);
    const lines: string[] = [];
    it.runtime.faults.useSource(seededFaults(seededRandom(seed), { rpc: 0.3, event: 0.3 }));
    it.runtime.faults.onFault(({ target, fault }) => lines.push(`${target} ${JSON.stringify(fault)}`));
    for (let attempt = 0; attempt < 30; attempt++) {
      const config = sandboxConfig({ metadata: { name: 'web', namespace: 'default', uid: 'uid-1', attempt } });
      const result = await outcome(it, it.runtime.runPodSandbox({ config }));
      lines.push(`${result.code} ${result.afterMs}`);
    }
    it.runtime.faults.clear();
    lines.push(...(await it.runtime.listPodSandbox({})).items.map((item) => item.id));
    return lines.join('\n');
  };
  const first = await trace(42);
  expect(first).toContain('runPodSandbox');
  expect(await trace(42)).toBe(first);
  expect(await trace(43)).not.toBe(first);
});
