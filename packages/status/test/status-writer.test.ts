import type { ContainerStatus, Pod, PodStatus } from '@node-agent/pod-spec';
import { afterEach, describe, expect, test } from 'vitest';
import { apiStatus, makePod } from './builders.ts';
import { apiError } from './fake-api.ts';
import { setUpWriter, type WriterSetUp } from './writer-builders.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function setUp(...args: Parameters<typeof setUpWriter>): WriterSetUp {
  const made = setUpWriter(...args);
  stops.push(made.stop);
  return made;
}

function namedPod(name: string, metadata: Partial<Pod['metadata']> = {}): Pod {
  return makePod({}, { metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata } });
}

const web = namedPod('web');
const refused = () => ({ error: apiError(undefined, 'connection refused') });

describe('writes of changed statuses', () => {
  test('a changed status is written immediately with one PATCH', async () => {
    const { clock, api, manager, observed } = setUp();
    api.put(web);
    manager.setPodStatus(web, { phase: 'Running', podIP: '10.0.0.7' });
    await clock.advance(0);
    expect(api.calls).toEqual(['patch default/web']);
    expect(api.get('web')?.status).toMatchObject({ phase: 'Running', podIP: '10.0.0.7' });
    expect(observed).toEqual([0]);
  });

  test('the status of a pod that the watch does not show is written after a GET; the PATCH response is used for the next write', async () => {
    const { clock, api, manager, unseen } = setUp();
    api.put(web);
    unseen.add('uid-web');
    for (const phase of ['Pending', 'Running']) {
      manager.setPodStatus(web, { phase });
      await clock.advance(0);
    }
    expect(api.calls).toEqual(['get default/web', 'patch default/web', 'patch default/web']);
  });

  test('a status PATCH of an outdated object is rejected, and repeated on the current one', async () => {
    const { clock, api, manager, stale } = setUp();
    api.put({ ...web, status: { phase: 'Pending' } });
    const seen = api.get('web');
    if (seen) stale.set('uid-web', seen);
    api.put({ ...web, status: { phase: 'Failed', reason: 'NodeLost' } });
    manager.setPodStatus(web, { phase: 'Running', podIP: '10.0.0.7' });
    await clock.advance(200);
    expect(api.calls).toEqual(['patch default/web', 'get default/web', 'patch default/web']);
    expect(api.get('web')?.status).toMatchObject({ phase: 'Failed', reason: 'NodeLost', podIP: '10.0.0.7' });
  });

  test('a status that the API already shows is not written', async () => {
    const { clock, api, manager } = setUp();
    const status = { phase: 'Running', startTime: '2026-01-01T00:00:00Z' };
    api.put({ ...web, status });
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(60_000);
    expect(api.calls).toEqual([]);
  });

  test('S3: a status that changes during a write is written next, only the newest version', async () => {
    const { clock, api, manager } = setUp();
    api.put(web);
    api.fault = () => ({ delayMs: 100 });
    manager.setPodStatus(web, { phase: 'Pending' });
    await clock.advance(150);
    for (const phase of ['Pending', 'Running']) manager.setPodStatus(web, { phase, podIP: phase });
    await clock.advance(1_000);
    expect(api.patches.map(({ status }) => status.podIP)).toEqual([undefined, 'Running']);
    expect(api.mostAtOnce).toBe(1);
  });

  test('a status write of one pod does not wait for another pod’s, up to the limit of concurrent writes', async () => {
    const { clock, api, manager } = setUp({ concurrency: 2 });
    api.fault = (call) => (call.includes('/slow') ? { delayMs: 10_000 } : undefined);
    for (const name of ['slow1', 'web', 'slow2', 'last']) {
      const pod = namedPod(name);
      api.put(pod);
      manager.setPodStatus(pod, { phase: 'Running' });
    }
    await clock.advance(0);
    expect(api.get('web')?.status?.phase).toBe('Running');
    expect(api.get('last')?.status).toBeUndefined();
    await clock.advance(30_000);
    expect(['slow1', 'slow2', 'last'].map((name) => api.get(name)?.status?.phase)).toEqual(Array(3).fill('Running'));
  });

  test('the status latency metric is measured from the first change that has not been written yet', async () => {
    const { clock, api, manager, observed } = setUp();
    api.put(web);
    api.fault = refused;
    manager.setPodStatus(web, { phase: 'Pending' });
    await clock.advance(3_000);
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(1_000);
    api.fault = () => undefined;
    await clock.advance(10_000);
    expect(observed).toHaveLength(1);
    expect(observed[0]).toBeGreaterThanOrEqual(4);
    expect(observed[0]).toBeLessThan(10);
  });
});

describe('S8: status writes while the API server is unavailable', () => {
  test('S8: while the API server is down for hours, each pod is retried every 5 s, and then only the newest status is written', async () => {
    const { clock, api, manager } = setUp();
    api.put(web);
    api.fault = refused;
    for (let change = 0; change < 1_000; change++) {
      manager.setPodStatus(web, { phase: 'Running', podIP: `${change}` });
      await clock.advance(7_200);
    }
    expect(api.calls.length).toBeLessThan(2 * 3_600 * (1_000 / 5_000) + 10);
    expect(api.calls.length).toBeGreaterThan(1_400);
    api.fault = () => undefined;
    await clock.advance(5_000);
    expect(api.patches.map(({ status }) => status.podIP)).toEqual(['999']);
  });

  test('S8: after a failed patch the pod is read again, retried forever, and logged more and more rarely', async () => {
    const { clock, api, manager, lines } = setUp();
    api.put(web);
    api.fault = (call) => (call.startsWith('patch') ? { error: apiError(422, 'invalid') } : undefined);
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(3_600_000);
    expect(lines.filter(({ level }) => level === 'error').length).toBeLessThan(12);
    expect(api.calls.slice(0, 3)).toEqual(['patch default/web', 'get default/web', 'patch default/web']);
    api.fault = () => undefined;
    await clock.advance(5_000);
    expect(api.get('web')?.status?.phase).toBe('Running');
  });

  test('S8: changes of a status do not shorten the retry delays', async () => {
    const { clock, api, manager } = setUp();
    api.put(web);
    api.fault = refused;
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(20_000);
    const before = api.calls.length;
    for (let change = 0; change < 100; change++) {
      manager.setPodStatus(web, { phase: 'Running', podIP: `${change}` });
      await clock.advance(10);
    }
    expect(api.calls.length - before).toBeLessThanOrEqual(1);
  });

  test('S8: conflicts with other writers do not lengthen the retry delays', async () => {
    const { clock, api, manager } = setUp();
    api.put(web);
    api.fault = (call) =>
      call.startsWith('patch') ? { error: apiError(409, 'the object has been modified') } : undefined;
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(60_000);
    api.fault = () => undefined;
    await clock.advance(200);
    expect(api.get('web')?.status?.phase).toBe('Running');
  });

  test('S8: the retry delay that the API server requests is respected', async () => {
    const { clock, api, manager } = setUp();
    api.put(web);
    api.fault = () => ({ error: Object.assign(apiError(429), { retryAfterMs: 60_000 }) });
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(59_999);
    expect(api.calls).toHaveLength(1);
    await clock.advance(1);
    expect(api.calls).toHaveLength(2);
  });

  test.each([
    [Number.NaN, 200],
    [-1, 200],
    [Infinity, 200],
    [1e15, 600_000],
  ])(
    'S8: after the API server requested %s ms, a retry comes within %s ms, and not before half of that',
    async (retryAfterMs, waitMs) => {
      const { clock, api, manager } = setUp();
      api.put(web);
      api.fault = () => ({ error: Object.assign(apiError(429), { retryAfterMs }) });
      manager.setPodStatus(web, { phase: 'Running' });
      await clock.advance(waitMs / 2 - 1);
      expect(api.calls).toHaveLength(1);
      await clock.advance(waitMs / 2 + 1);
      expect(api.calls).toHaveLength(2);
    },
  );
});

describe('periodic pass of the status writer', () => {
  test('a status that another client overwrote is written again within 10 s, or immediately after a call of hint', async () => {
    const { clock, api, manager, writer } = setUp();
    api.put(web);
    manager.setPodStatus(web, { phase: 'Running', podIP: '10.0.0.7' });
    await clock.advance(0);
    api.put({ ...web, status: { ...api.get('web')?.status, podIP: '10.9.9.9' } });
    await clock.advance(10_000);
    expect(api.get('web')?.status?.podIP).toBe('10.0.0.7');
    api.put({ ...web, status: { ...api.get('web')?.status, phase: 'Pending' } });
    writer.hint('uid-web');
    await clock.advance(0);
    expect(api.get('web')?.status?.phase).toBe('Running');
  });

  test('the periodic pass sends no requests if no status differs', async () => {
    const { clock, api, manager, writer } = setUp();
    api.put(web);
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(0);
    const before = api.calls.length;
    await clock.advance(3_600_000);
    writer.hint('uid-web');
    await clock.advance(0);
    expect(api.calls).toHaveLength(before);
  });

  test('the periodic pass uses the response of the last write if the watch lags', async () => {
    const { clock, api, manager, stale } = setUp();
    api.put(web);
    const seen = api.get('web');
    if (seen) stale.set('uid-web', seen);
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(60_000);
    expect(api.calls).toEqual(['patch default/web']);
    stale.clear();
    api.put({ ...web, status: { phase: 'Pending' } });
    await clock.advance(10_000);
    expect(api.get('web')?.status?.phase).toBe('Running');
  });

  test('K4: the status writer forgets pods without a status', async () => {
    const { clock, api, manager, writer } = setUp();
    for (let number = 0; number < 50; number++) {
      const pod = namedPod(`p${number}`);
      api.put(pod);
      manager.setPodStatus(pod, { phase: 'Running' });
    }
    api.fault = refused;
    await clock.advance(0);
    expect(writer.size).toBe(50);
    manager.removeOrphanedStatuses(new Set());
    await clock.advance(20_000);
    expect(writer.size).toBe(0);
  });
});

describe('status of a pod that no longer exists in the API', () => {
  test.each([
    ['gone from the API', undefined],
    ['replaced by another pod of its name', namedPod('web', { uid: 'uid-new' })],
  ])('the status of a pod that is %s is not written', async (_name, there) => {
    const { clock, api, manager } = setUp();
    if (there) api.put(there);
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(60_000);
    expect(api.calls).toEqual(['get default/web']);
    expect(api.get('web')?.status).toBeUndefined();
  });

  test('a write that the Node authorizer forbids because the pod is gone is logged at debug level and tried once', async () => {
    const { clock, api, manager, unseen, lines } = setUp();
    api.put(web);
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(0);
    unseen.add('uid-web');
    api.fault = () => ({ error: apiError(403, "no relationship found between node 'a' and this object") });
    const before = api.calls.length;
    for (const podIP of ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']) {
      manager.setPodStatus(web, { phase: 'Running', podIP });
      await clock.advance(10_000);
    }
    expect(api.calls.slice(before)).toEqual(['patch default/web']);
    expect(lines.filter(({ level }) => level !== 'debug')).toEqual([]);
    expect(lines.filter(({ message }) => message === 'Pod does not exist on the server').length).toBe(1);
  });

  test('a pod whose deletion is forbidden because it is gone counts as deleted', async () => {
    const { clock, api, manager, held, unseen, lines } = setUp();
    const ending = namedPod('web', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    api.put(ending);
    held.add('uid-web');
    manager.setPodStatus(ending, { phase: 'Succeeded' });
    manager.terminatePod(ending);
    await clock.advance(0);
    unseen.add('uid-web');
    api.fault = (call) => (call.startsWith('delete') ? { error: apiError(403) } : undefined);
    held.delete('uid-web');
    await clock.advance(60_000);
    expect(api.calls.filter((call) => call.startsWith('delete')).length).toBe(1);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('a forbidden write of a pod that the watch shows is retried, because the Node authorizer may learn of a new pod later', async () => {
    const { clock, api, manager, lines } = setUp();
    api.put(web);
    api.fault = () => ({ error: apiError(403) });
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(300);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    await clock.advance(60_000);
    expect(lines.some(({ level }) => level === 'error')).toBe(true);
    api.fault = () => undefined;
    await clock.advance(5_000);
    expect(api.get('web')?.status?.phase).toBe('Running');
  });

  test('S4: a pod that was replaced by another one between read and patch is not changed', async () => {
    const { clock, api, manager } = setUp();
    api.put(web);
    api.fault = (call) => (call.startsWith('patch') ? { delayMs: 100 } : undefined);
    manager.setPodStatus(web, { phase: 'Running' });
    await clock.advance(50);
    api.put(namedPod('web', { uid: 'uid-new' }));
    await clock.advance(60_000);
    expect(api.get('web')?.status).toBeUndefined();
    expect(api.calls).toEqual(['patch default/web', 'get default/web']);
  });
});

describe('S2: writes of terminal phases', () => {
  test('S2: a terminal phase is withheld while containers may run, and written afterwards without another change', async () => {
    const { clock, api, manager, running } = setUp();
    api.put({ ...web, status: { phase: 'Running' } });
    running.add('uid-web');
    manager.setPodStatus(web, { phase: 'Failed', reason: 'Evicted', podIP: '10.0.0.7' });
    await clock.advance(9_000);
    expect(api.get('web')?.status).toMatchObject({ phase: 'Running', podIP: '10.0.0.7' });
    expect(api.calls).toHaveLength(1);
    running.delete('uid-web');
    await clock.advance(250);
    expect(api.get('web')?.status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  });

  test('S2: a withheld terminal phase is written immediately after a call of hint', async () => {
    const { clock, api, manager, running, writer } = setUp();
    api.put({ ...web, status: { phase: 'Running' } });
    running.add('uid-web');
    manager.setPodStatus(web, { phase: 'Succeeded' });
    await clock.advance(0);
    running.delete('uid-web');
    writer.hint('uid-web');
    await clock.advance(0);
    expect(api.phases.get('uid-web')).toEqual(['Running', 'Succeeded']);
  });
});

test('S1: a terminal phase that another client set is kept', async () => {
  const { clock, api, manager } = setUp();
  api.put({ ...web, status: { phase: 'Failed', reason: 'NodeLost' } });
  manager.setPodStatus(web, { phase: 'Running', podIP: '10.0.0.7' });
  await clock.advance(0);
  expect(api.get('web')?.status).toMatchObject({ phase: 'Failed', reason: 'NodeLost', podIP: '10.0.0.7' });
});

test('S1: a pod that another client sets to a terminal phase between read and write stays terminal', async () => {
  const { clock, api, manager } = setUp();
  api.put({ ...web, status: { phase: 'Pending' } });
  api.fault = (call) => (call.startsWith('patch') ? { delayMs: 100 } : undefined);
  manager.setPodStatus(web, { phase: 'Running', podIP: '10.0.0.7' });
  await clock.advance(50);
  api.put({ ...web, status: { phase: 'Failed', reason: 'NodeLost' } });
  await clock.advance(1_000);
  expect(api.get('web')?.status).toMatchObject({ phase: 'Failed', reason: 'NodeLost', podIP: '10.0.0.7' });
  expect(api.phases.get('uid-web')).toEqual(['Pending', 'Failed']);
});

test("S6: the API's status is kept until a restarted kubelet has generated its own", async () => {
  const { clock, api, manager } = setUp();
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2025-12-31T00:00:00Z' }];
  const shown = { ...web, status: { phase: 'Running', startTime: '2025-12-31T00:00:00Z', conditions } };
  api.put(shown);
  manager.setPodStatus(shown, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
  await clock.advance(0);
  expect(api.patches).toEqual([]);
});

test('S7: a readiness gate is included in the next status, and an older status does not undo it', async () => {
  const { clock, api, manager } = setUp();
  const gate = { type: 'example.com/ready', status: 'True' };
  const before = {
    conditions: [
      { ...gate, status: 'False' },
      { type: 'Ready', status: 'False' },
    ],
  };
  api.put({ ...web, status: { phase: 'Running', conditions: [gate] } });
  manager.setPodStatus(web, { phase: 'Running', ...before });
  await clock.advance(0);
  const types = Object.fromEntries(api.get('web')?.status?.conditions?.map((one) => [one.type, one.status]) ?? []);
  expect(types).toEqual({ 'example.com/ready': 'True', Ready: 'False' });
});

describe('S5: deletion of a terminated pod', () => {
  const going = namedPod('web', { deletionTimestamp: '2026-01-01T00:00:00Z' });
  const running = { phase: 'Running', containerStatuses: [apiStatus('main', 'running')] };

  test('S5: the API object of a pod is deleted once its last status is written and its resources are released', async () => {
    const { clock, api, manager, held } = setUp();
    api.put({ ...going, status: running });
    held.add('uid-web');
    manager.setPodStatus(going, { phase: 'Failed' });
    await clock.advance(20_000);
    manager.terminatePod(going);
    await clock.advance(5_000);
    expect(api.get('web')?.status?.phase).toBe('Failed');
    const before = api.calls.length;
    held.delete('uid-web');
    await clock.advance(250);
    expect(api.calls.slice(before)).toEqual(['delete(0) default/web']);
    await clock.advance(60_000);
    expect(api.calls).toHaveLength(before + 1);
  });

  test('S5: the API object of a pod is deleted immediately if no resources are left', async () => {
    const { clock, api, manager } = setUp();
    api.put({ ...going, status: running });
    manager.terminatePod({ ...going, status: running });
    await clock.advance(0);
    expect(api.calls).toEqual(['patch default/web', 'delete(0) default/web']);
    expect(api.phases.get('uid-web')).toEqual(['Running', 'Failed']);
  });

  test('S5: the API object of a pod is deleted later if its deletion is requested after it terminated', async () => {
    const { clock, api, manager } = setUp();
    api.put(web);
    manager.terminatePod(web);
    await clock.advance(0);
    expect(api.get('web')?.status?.phase).toBe('Failed');
    api.put({ ...going, status: api.get('web')?.status ?? {} });
    await clock.advance(10_000);
    expect(api.get('web')).toBeUndefined();
  });

  test('S5: the API object of a pod is not deleted while the pod is not finished', async () => {
    const { clock, api, manager } = setUp();
    api.put({ ...going, status: running });
    manager.setPodStatus(going, { phase: 'Succeeded' });
    await clock.advance(60_000);
    expect(api.get('web')?.status?.phase).toBe('Succeeded');
  });

  test("S5: a failed deletion of a pod's API object is repeated, even if the watch does not show the pod", async () => {
    const { clock, api, manager, unseen } = setUp();
    api.put({ ...going, status: running });
    unseen.add('uid-web');
    api.fault = (call) => (call.startsWith('delete') ? refused() : undefined);
    manager.terminatePod({ ...going, status: running });
    await clock.advance(8_000);
    api.fault = () => undefined;
    await clock.advance(5_000);
    expect(api.get('web')).toBeUndefined();
  });

  test('S5: the API object of another pod with the same name is not deleted', async () => {
    const { clock, api, manager } = setUp();
    api.put({ ...going, status: running });
    api.fault = (call) => (call.startsWith('delete') ? { delayMs: 100 } : undefined);
    manager.terminatePod({ ...going, status: running });
    await clock.advance(50);
    api.put(namedPod('web', { uid: 'uid-new' }));
    await clock.advance(60_000);
    expect(api.get('web')?.metadata.uid).toBe('uid-new');
  });
});

describe('status of a static pod', () => {
  const annotated = (uid: string, annotations: Readonly<Record<string, string>>) =>
    namedPod('web', { uid, annotations });
  const pod = annotated('uid-static', { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h1' });
  const mirror = annotated('uid-mirror', { 'kubernetes.io/config.mirror': 'h1' });

  test('the status of a static pod waits for its mirror pod and is then written to it', async () => {
    const { clock, api, manager } = setUp();
    manager.setPodStatus(pod, { phase: 'Running' });
    await clock.advance(60_000);
    expect(api.calls).toEqual([]);
    api.put(mirror);
    await clock.advance(10_000);
    expect(api.patches).toMatchObject([{ metadata: { uid: 'uid-mirror' }, status: { phase: 'Running' } }]);
  });

  test('the status of a static pod is written to a new mirror pod immediately after a call of hint', async () => {
    const { clock, api, manager, writer } = setUp();
    api.put(mirror);
    manager.setPodStatus(pod, { phase: 'Running' });
    await clock.advance(0);
    api.put({ ...mirror, metadata: { ...mirror.metadata, uid: 'uid-mirror-2' } });
    writer.hint('uid-static');
    await clock.advance(0);
    expect(api.get('web')).toMatchObject({ metadata: { uid: 'uid-mirror-2' }, status: { phase: 'Running' } });
  });

  test('S2: the terminal phase of a static pod is withheld while its own containers may run', async () => {
    const { clock, api, manager, running } = setUp();
    api.put({ ...mirror, status: { phase: 'Running' } });
    running.add('uid-static');
    manager.setPodStatus(pod, { phase: 'Succeeded' });
    await clock.advance(1_000);
    expect(api.get('web')?.status?.phase).toBe('Running');
    running.delete('uid-static');
    await clock.advance(1_000);
    expect(api.get('web')?.status?.phase).toBe('Succeeded');
  });

  test('S5: the status writer does not delete mirror pods', async () => {
    const { clock, api, manager } = setUp();
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    api.put({ ...mirror, metadata: { ...mirror.metadata, deletionTimestamp }, status: { phase: 'Failed' } });
    manager.terminatePod({ ...pod, status: { phase: 'Failed' } });
    await clock.advance(60_000);
    expect(api.get('web')).toBeDefined();
  });

  const ended = { name: 'main', state: { terminated: { exitCode: 0 } } };
  const runs = { name: 'main', state: { running: {} } };
  const containers = (one: object): PodStatus => ({ containerStatuses: [one as ContainerStatus] });

  test('F3: a restarted static pod gets a new mirror pod if the old one cannot show its status', async () => {
    const { clock, api, manager, writer, replaced, lines, observed } = setUp();
    api.put({ ...mirror, status: { phase: 'Succeeded', ...containers(ended) } });
    api.fault = (call) =>
      call.startsWith('patch') && api.get('web')?.metadata.uid === 'uid-mirror'
        ? { error: apiError(422, 'may not be transitioned to non-terminated state') }
        : undefined;
    manager.setPodStatus(pod, { phase: 'Running', ...containers(runs) });
    await clock.advance(30_000);
    manager.setPodStatus(pod, { phase: 'Running', podIP: '10.0.0.7', ...containers(runs) });
    await clock.advance(30_000);
    expect(api.calls).toEqual(['patch default/web']);
    expect(replaced).toEqual(['uid-mirror']);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    api.put({ ...mirror, metadata: { ...mirror.metadata, uid: 'uid-mirror-2' } });
    writer.hint('uid-static');
    await clock.advance(0);
    expect(api.get('web')?.status).toMatchObject({ phase: 'Running', podIP: '10.0.0.7' });
    expect(observed).toEqual([60]);
  });

  test('a rejected status of a static pod is retried in the same mirror pod', async () => {
    const { clock, api, manager, replaced } = setUp();
    api.put({ ...mirror, status: { phase: 'Running', ...containers(runs) } });
    api.fault = (call) => (call.startsWith('patch') ? { error: apiError(422, 'invalid') } : undefined);
    manager.setPodStatus(pod, { phase: 'Running', podIP: '10.0.0.7', ...containers(runs) });
    await clock.advance(60_000);
    expect(api.calls.length).toBeGreaterThan(10);
    expect(replaced).toEqual([]);
  });

  test('S6: after a kubelet restart, a static pod keeps the start time of its mirror pod', async () => {
    const { clock, api, manager } = setUp();
    api.put({ ...mirror, status: { phase: 'Running', startTime: '2025-12-31T00:00:00Z' } });
    manager.setPodStatus(pod, { phase: 'Running' });
    await clock.advance(0);
    expect(api.patches).toEqual([]);
  });
});

test('disposal of the status writer waits for writes in progress and leaves no timer', async () => {
  const { clock, api, manager, stop, writer } = setUpWriter();
  api.put(web);
  api.fault = () => ({ delayMs: 10_000 });
  manager.setPodStatus(web, { phase: 'Running' });
  await clock.advance(1_000);
  await stop();
  await writer[Symbol.asyncDispose]();
  expect(clock.pendingTimers).toBe(0);
});
