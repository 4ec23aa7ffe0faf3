import type { HttpGetResult } from '@node-agent/pod-net';
import type { Container, Pod } from '@node-agent/pod-spec';
import { MetricsRegistry } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { ids, makePod, makeWorld, type StartedKubelet, startKubelet } from './node.ts';

const OK: HttpGetResult = { kind: 'answer', status: 200, body: 'fine' };
const BAD: HttpGetResult = { kind: 'answer', status: 503, body: '' };
const http = { httpGet: { port: 80, path: '/' }, periodSeconds: 1 };

function probed(name: string, fields: Partial<Container>, spec: Partial<Pod['spec']> = {}): Pod {
  const main = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
  return makePod(name, { containers: [{ ...main, ...fields }], ...spec });
}

async function setUp() {
  const world = await makeWorld();
  const registry = new MetricsRegistry();
  const target = { answer: OK, asked: 0 };
  const probePorts = {
    http: async () => {
      target.asked++;
      return target.answer;
    },
  };
  const start = (): StartedKubelet => startKubelet(world, [], undefined, [], { probePorts, probeMetrics: registry });
  return { ...world, registry, target, start };
}

const main = ({ kubelet }: StartedKubelet) => kubelet.getPods()[0]?.status?.containerStatuses?.[0];
const condition = ({ kubelet }: StartedKubelet, wanted: string): string | undefined =>
  kubelet.getPods()[0]?.status?.conditions?.find(({ type }) => type === wanted)?.status;

describe('probes of a node', () => {
  test('S7: a pod becomes ready in the turn of the event loop in which its probe succeeds, and not ready when it fails', async () => {
    const { clock, target, registry, start } = await setUp();
    const node = start();
    target.answer = BAD;
    node.setPods([probed('web', { readinessProbe: http })]);
    await clock.advance(10_000);
    expect([main(node)?.ready, condition(node, 'Ready')]).toEqual([false, 'False']);
    target.answer = OK;
    await clock.advance(1000);
    expect([main(node)?.ready, condition(node, 'Ready')]).toEqual([true, 'True']);
    target.answer = BAD;
    await clock.advance(3000);
    expect([main(node)?.ready, condition(node, 'Ready')]).toEqual([false, 'False']);
    expect(registry.text()).toContain('probe_type="Readiness",result="failed"');
    expect(node.kubelet.explain('default', 'web')?.probes).toMatchObject([{ kind: 'readiness', result: 'failure' }]);
    await node.stop();
  });

  test('if the gate for container restart policies is off, a container with restartPolicy Never restarts and is probed again', async () => {
    const world = await makeWorld();
    const { clock } = world;
    const restartFeatures = { containerRestartRules: false, restartAllContainers: false };
    const probePorts = { http: async () => OK };
    const node = startKubelet(world, [], undefined, [], { probePorts }, { restartFeatures });
    node.setPods([probed('web', { readinessProbe: http, restartPolicy: 'Never', command: ['sleep', '5'] })]);
    await clock.advance(2000);
    expect(main(node)).toMatchObject({ ready: true, restartCount: 0 });
    // The new container is created with a delay, so that the kubelet notices the exit of the old one.
    world.cri.faults.add({ rpc: 'createContainer', fault: { kind: 'delay', delayMs: 3000 } });
    await clock.advance(4000);
    expect(main(node)?.state?.terminated).toBeDefined();
    await clock.advance(4000);
    expect(main(node)).toMatchObject({ ready: true, restartCount: 1 });
    await node.stop();
  });

  test("R2: restarts a container whose liveness probe failed, within the probe's grace period", async () => {
    const { clock, cri, events, target, start } = await setUp();
    const node = start();
    const livenessProbe = { ...http, terminationGracePeriodSeconds: 7 };
    const pod = probed('web', { livenessProbe, command: ['sh', '-c', 'trap "" TERM; sleep infinity'] });
    node.setPods([{ ...pod, spec: { ...pod.spec, terminationGracePeriodSeconds: 60 } }]);
    await clock.advance(20_000);
    const before = main(node)?.containerID;
    target.answer = BAD;
    await clock.advance(2500);
    target.answer = OK;
    const stopping = clock.monotonic();
    while (main(node)?.state?.running && main(node)?.containerID === before) await clock.advance(500);
    expect(clock.monotonic() - stopping).toBeGreaterThan(5000);
    expect(clock.monotonic() - stopping).toBeLessThan(9000);
    await clock.advance(30_000);
    expect(main(node)).toMatchObject({ restartCount: 1, ready: true });
    expect(main(node)?.containerID).not.toBe(before);
    const said = events
      .eventsOf({ kind: 'Pod', ...pod.metadata })
      .map(({ reason, message }) => `${reason}: ${message}`);
    expect(said).toContain('Killing: Container main failed liveness probe, will be restarted');
    expect(said).toContain('Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 503');
    expect(await ids(cri)).toHaveLength(2);
    await node.stop();
  });

  test('R1: an exec startup probe that fails at first delays readiness until the container has started', async () => {
    const { clock, target, start } = await setUp();
    const node = start();
    const exec = { command: ['test', '-e', '/started'] };
    const startupProbe = { exec, periodSeconds: 1, failureThreshold: 60 };
    const command = ['sh', '-c', 'sleep 5; touch /started; sleep infinity'];
    node.setPods([probed('slow', { startupProbe, readinessProbe: http, command })]);
    await clock.advance(5000);
    expect([main(node)?.started, main(node)?.ready, target.asked]).toEqual([false, false, 0]);
    await clock.advance(3000);
    expect([main(node)?.started, main(node)?.ready]).toEqual([true, true]);
    expect(target.asked).toBeGreaterThan(0);
    await node.stop();
  });

  test('restarts a container whose startup probe has failed failureThreshold times', async () => {
    const { clock, target, start } = await setUp();
    const node = start();
    target.answer = BAD;
    node.setPods([probed('stuck', { startupProbe: { ...http, failureThreshold: 3 } })]);
    await clock.advance(20_000);
    expect(main(node)?.restartCount).toBeGreaterThan(0);
    await node.stop();
  });

  test('does not probe a pod that is gone (K4)', async () => {
    const { clock, target, registry, start } = await setUp();
    const node = start();
    node.setPods([probed('web', { readinessProbe: http, livenessProbe: http })]);
    await clock.advance(10_000);
    expect(registry.text()).toContain('pod="web"');
    node.setPods([]);
    await clock.advance(10_000);
    target.asked = 0;
    await clock.advance(10_000);
    expect([target.asked, registry.text()]).toEqual([0, '']);
    await node.stop();
  });

  test('S6: probes containers from before a kubelet restart immediately if their readiness is unknown', async () => {
    const { clock, start } = await setUp();
    const first = start();
    const pod = probed('web', { readinessProbe: { ...http, periodSeconds: 60 } });
    first.setPods([pod]);
    await clock.advance(120_000);
    expect(main(first)?.ready).toBe(true);
    await first.stop();
    const second = start();
    second.setPods([pod]);
    await clock.advance(1000);
    expect([main(second)?.ready, main(second)?.restartCount]).toEqual([true, 0]);
    await second.stop();
  });
});
