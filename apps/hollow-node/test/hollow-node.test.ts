import { resources } from '@node-agent/kube-client';
import type { Call } from '@node-agent/server';
import { afterEach, expect, test } from 'vitest';
import { parseProfile } from '../src/profile.ts';
import { World } from './world.ts';

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.stop();
});

function startWorld(...args: ConstructorParameters<typeof World>): World {
  const world = new World(...args);
  worlds.push(world);
  world.start();
  return world;
}

/** Returns the text of an endpoint of a node's kubelet server. */
async function answerOf(
  world: World,
  nodeName: string,
  endpoint: 'containerLogs' | 'resourceMetrics' | 'stats',
  params: object = {},
): Promise<string> {
  const handler = world.fleet.nodes.get(nodeName)?.handlers.endpoints[endpoint];
  if (handler === undefined) throw new Error(`node ${nodeName} has no endpoint ${endpoint}`);
  const call = {
    ...{ method: 'GET', headers: {}, params, query: new URLSearchParams(), signal: new AbortController().signal },
    body: (async function* () {})(),
  } as unknown as Call;
  const answer = await handler(call);
  if ('body' in answer) return String(answer.body);
  if ('bytes' in answer) return Buffer.from(answer.bytes).toString();
  let text = '';
  if ('stream' in answer) for await (const chunk of answer.stream) text += Buffer.from(chunk).toString();
  return text;
}

const LOG_PARAMS = { namespace: 'default', pod: 'web', container: 'main' };

test('three nodes register and become Ready with their own names, sizes and ranges of pod addresses', async () => {
  const world = startWorld(3);
  await world.seconds(3);
  const nodes = (await world.client.list(resources.nodes)).items;
  expect(nodes.map(({ metadata }) => metadata.name)).toEqual(['hollow-0', 'hollow-1', 'hollow-2']);
  for (const { metadata, status } of nodes) {
    expect(await world.ready(metadata.name ?? '')).toBe('True');
    expect(metadata.labels).toMatchObject({ purpose: 'load', 'kubernetes.io/hostname': metadata.name });
    expect(status?.capacity).toMatchObject({ cpu: '4', memory: '16Gi', pods: '110' });
  }
});

test('a pod runs until it is Ready with an address of its node, and an event reports the start', async () => {
  const world = startWorld(3);
  await world.seconds(3);
  const probe = { httpGet: { path: '/healthz', port: 80 }, periodSeconds: 1 };
  const containers = [{ name: 'main', image: 'registry.example/app:1', readinessProbe: probe }];
  await world.createPod('web', 'hollow-2', { containers });
  await world.seconds(3);
  const { status } = (await world.pod('web')) ?? {};
  expect(status).toMatchObject({ phase: 'Running', hostIP: '192.0.2.10' });
  expect(status?.podIP).toMatch(/^10\.128\.2\./);
  expect(status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
  const events = (await world.client.list(resources.coreEvents)).items;
  expect(events.some(({ reason, source }) => reason === 'Started' && source?.host === 'hollow-2')).toBe(true);
});

test('a hollow node has the resources and the start events that kubectl describe shows of a real node', async () => {
  const world = startWorld(1);
  await world.seconds(5);
  const { status } = await world.client.get(resources.nodes, { name: 'hollow-0' });
  const expected = ['cpu', 'ephemeral-storage', 'hugepages-1Gi', 'hugepages-2Mi', 'memory', 'pods'];
  expect(Object.keys(status?.capacity ?? {}).sort()).toEqual(expected);
  expect(Object.keys(status?.allocatable ?? {}).sort()).toEqual(expected);
  expect(status?.capacity).toMatchObject({ 'hugepages-2Mi': '0', 'hugepages-1Gi': '0' });
  const events = (await world.client.list(resources.coreEvents)).items;
  // kubectl describe finds the events whose UID is the name of the node.
  const reasons = events.filter(({ involvedObject }) => involvedObject.uid === 'hollow-0').map(({ reason }) => reason);
  expect(new Set(reasons)).toEqual(
    new Set([
      ...['Starting', 'NodeAllocatableEnforced', 'NodeHasSufficientMemory', 'NodeHasNoDiskPressure'],
      'NodeHasSufficientPID',
    ]),
  );
});

test("the pod CIDR in the Node object replaces the pod CIDR of the node's plan", async () => {
  const world = startWorld(1);
  await world.seconds(3);
  const patch = { type: 'merge', body: { spec: { podCIDR: '10.7.3.0/24', podCIDRs: ['10.7.3.0/24'] } } } as const;
  await world.client.patch(resources.nodes, patch, { name: 'hollow-0' });
  await world.seconds(20);
  await world.createPod('web', 'hollow-0');
  await world.seconds(3);
  expect((await world.pod('web'))?.status?.podIP).toMatch(/^10\.7\.3\./);
});

test('the kubelet server of a node serves container logs, usage of pods and the stats summary', async () => {
  const world = startWorld(1);
  await world.seconds(3);
  const behaviour = { output: [{ text: 'hello\n' }], usage: { cpuNanoCores: 250_000_000, memoryBytes: 64 * 2 ** 20 } };
  await world.createPod('web', 'hollow-0', {}, { 'fake-cri.node-agent.dev/behaviour': JSON.stringify(behaviour) });
  await world.seconds(10);
  expect(await answerOf(world, 'hollow-0', 'containerLogs', LOG_PARAMS)).toBe('hello\n');
  const metrics = await answerOf(world, 'hollow-0', 'resourceMetrics');
  expect(metrics).toMatch(/^node_memory_working_set_bytes 38\d{7}/m);
  expect(metrics).toMatch(/^node_cpu_usage_seconds_total [1-9]|^node_cpu_usage_seconds_total 0\.[0-9]*[1-9]/m);
  expect(metrics).toContain(
    'container_memory_working_set_bytes{container="main",namespace="default",pod="web"} 67108864',
  );
  const summary = JSON.parse(await answerOf(world, 'hollow-0', 'stats'));
  expect(summary.node).toMatchObject({ nodeName: 'hollow-0', memory: { workingSetBytes: expect.any(Number) } });
  expect(summary.pods[0].containers[0].cpu.usageNanoCores).toBe(250_000_000);
});

test('a rule of a profile that matches an image sets the usage of the containers whose pod names that image', async () => {
  const rules = [{ match: { image: '*/idle:*' }, cpu: '5m' }, { cpu: '100m' }];
  const world = startWorld(1, { runtime: { script: parseProfile(JSON.stringify({ rules }), 'profile.yaml') } });
  await world.seconds(3);
  const containers = ['busy', 'idle'].map((name) => ({ name, image: `registry.example/${name}:1` }));
  await world.createPod('web', 'hollow-0', { containers });
  await world.seconds(10);
  await answerOf(world, 'hollow-0', 'stats');
  await world.seconds(10);
  const { pods } = JSON.parse(await answerOf(world, 'hollow-0', 'stats')) as Summary;
  const usage = pods[0]?.containers.map(({ name, cpu }) => [name, cpu.usageNanoCores]);
  expect(Object.fromEntries(usage ?? [])).toEqual({ busy: 100_000_000, idle: 5_000_000 });
});

interface Summary {
  readonly pods: readonly {
    readonly containers: readonly { readonly name: string; readonly cpu: { readonly usageNanoCores: number } }[];
  }[];
}

test('a deleted pod terminates and is removed from the API server', async () => {
  const world = startWorld(1);
  await world.seconds(3);
  await world.createPod('web', 'hollow-0');
  await world.seconds(3);
  await world.client.delete(resources.pods, { name: 'web', namespace: 'default' });
  await world.seconds(5);
  expect(await world.pod('web')).toBeUndefined();
});

test('a pod of a Job ends as Failed if its scripted exit code is not 0, and otherwise as Succeeded', async () => {
  const script = ({ name }: { readonly name: string }) => ({ exitAfterMs: 500, exitCode: name === 'bad' ? 3 : 0 });
  const world = startWorld(1, { runtime: { script } });
  await world.seconds(3);
  for (const name of ['good', 'bad']) {
    const containers = [{ name, image: 'registry.example/job:1' }];
    await world.createPod(name, 'hollow-0', { containers, restartPolicy: 'Never' });
  }
  await world.seconds(5);
  expect((await world.pod('good'))?.status?.phase).toBe('Succeeded');
  expect((await world.pod('bad'))?.status?.phase).toBe('Failed');
});

test('a node that was removed and added again restarts its pods, as after a reboot', async () => {
  const world = startWorld(2);
  await world.seconds(3);
  await world.createPod('web', 'hollow-1');
  await world.seconds(3);
  await world.fleet.remove('hollow-1');
  expect([...world.fleet.nodes.keys()]).toEqual(['hollow-0']);
  const [, plan] = world.plans;
  if (plan === undefined) throw new Error('there is no second node');
  void world.fleet.add(plan, world.controller.signal);
  await world.seconds(15);
  expect(await world.ready('hollow-1')).toBe('True');
  const { status } = (await world.pod('web')) ?? {};
  expect(status?.containerStatuses?.[0]).toMatchObject({ ready: true, restartCount: 1 });
});

test('a node whose Node object was deleted registers again', async () => {
  const world = startWorld(2);
  await world.seconds(3);
  await world.client.delete(resources.nodes, { name: 'hollow-0' });
  await world.seconds(40);
  expect(await world.ready('hollow-0')).toBe('True');
});

test('three nodes share one watch of pods, and renew their leases in time', async () => {
  const world = startWorld(3);
  await world.seconds(3);
  const seen: { readonly verb: string; readonly resource: string; readonly atMs: number; readonly name: string }[] = [];
  world.api.onRequest(({ verb, resource, atMs, name }) => seen.push({ verb, resource, atMs, name }));
  await world.seconds(60);
  const renewals = seen.filter(({ resource, verb }) => resource === 'leases' && verb !== 'get');
  for (const { name } of world.plans) {
    const times = renewals.filter((one) => one.name === name).map(({ atMs }) => atMs);
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
    expect(Math.max(...gaps)).toBeLessThan(15_000);
  }
  expect(seen.filter(({ verb, resource }) => verb === 'watch' && resource === 'pods').length).toBeLessThanOrEqual(1);
});

test('SIGTERM ends three nodes with pods without a delay, and leaves no timer', async () => {
  const world = new World(3);
  world.start();
  await world.seconds(3);
  for (const { name } of world.plans) await world.createPod(`pod-of-${name}`, name);
  await world.seconds(3);
  const startedAtMs = world.clock.now();
  await world.stop();
  expect(world.clock.now()).toBe(startedAtMs);
  expect(world.clock.pendingTimers).toBe(0);
  expect((await world.pod('pod-of-hollow-0'))?.status?.phase).toBe('Running');
});
