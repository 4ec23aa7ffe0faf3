import type { HttpGetRequest } from '@node-agent/pod-net';
import type { Container, Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { makePod, makeWorld, type StartedKubelet, startKubelet, type World } from './node.ts';

const main = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };

function hooked(lifecycle: NonNullable<Container['lifecycle']>, spec: Partial<Pod['spec']> = {}): Pod {
  return makePod('web', { containers: [{ ...main, lifecycle }], terminationGracePeriodSeconds: 30, ...spec });
}

function start(world: World): { readonly node: StartedKubelet; readonly requests: HttpGetRequest[] } {
  const requests: HttpGetRequest[] = [];
  const hookHttp = async (request: HttpGetRequest) => {
    requests.push(request);
    return { kind: 'answer', status: 500, body: '' } as const;
  };
  return { node: startKubelet(world, [], undefined, [], { hookHttp }), requests };
}

const status = ({ kubelet }: StartedKubelet) => kubelet.getPods()[0]?.status?.containerStatuses?.[0];
const said = ({ events }: World): string[] =>
  events
    .eventsOf({ kind: 'Pod', name: 'web', namespace: 'default', uid: 'uid-web' })
    .map(({ reason, message }) => `${reason}: ${message}`);
/** Returns the time until the pod's sandbox is removed, in milliseconds. */
async function msUntilGone({ clock, cri }: World): Promise<number> {
  const beganMs = clock.monotonic();
  const ready = async (): Promise<boolean> => (await cri.listPodSandbox({})).items.some(({ state }) => state === 0);
  while (await ready()) await clock.advance(100);
  return clock.monotonic() - beganMs;
}

describe('hooks of a node', () => {
  test('a pod is not ready before its postStart hook has completed, and a failed hook kills the container', async () => {
    const world = await makeWorld();
    const { node } = start(world);
    const command = ['sh', '-c', 'echo no; exit 3'];
    node.setPods([hooked({ postStart: { exec: { command } } }, { terminationGracePeriodSeconds: 2 })]);
    let waiting: { readonly reason?: string; readonly message?: string } | undefined;
    for (let n = 0; n < 500 && waiting?.reason !== 'PostStartHookError'; n++) {
      await world.clock.advance(20);
      waiting = status(node)?.state?.waiting;
    }
    expect(said(world)).toContain('FailedPostStartHook: PostStartHook failed');
    expect(said(world)).toContain('Killing: FailedPostStartHook');
    expect([waiting?.reason, status(node)?.ready]).toEqual(['PostStartHookError', false]);
    const pod = '"web_default(uid-web)"';
    const fault = "command 'sh -c echo no; exit 3' exited with 3: ";
    expect(waiting?.message).toBe(
      `Exec lifecycle hook ([${command.join(' ')}]) for Container "main" in Pod ${pod} failed - error: ${fault}, message: "no\\n"`,
    );
    await node.stop();
  });

  test('a preStop hook accepts any response, and the pod’s IP comes from the runtime', async () => {
    const world = await makeWorld();
    const { node, requests } = start(world);
    node.setPods([hooked({ preStop: { httpGet: { port: 80, path: '/bye', scheme: 'HTTP' } } })]);
    await world.clock.advance(5000);
    const podIP = node.kubelet.getPods()[0]?.status?.podIP;
    node.setPods([]);
    await msUntilGone(world);
    expect(requests).toMatchObject([{ host: podIP, port: 80, target: '/bye' }]);
    expect(said(world).some((words) => words.startsWith('FailedPreStopHook'))).toBe(false);
    await node.stop();
  });

  test('C5: a preStop sleep counts towards the grace period; a hook that never ends delays the stop by the whole grace period plus 2 s', async () => {
    const world = await makeWorld();
    const { node } = start(world);
    node.setPods([hooked({ preStop: { sleep: { seconds: 5 } } }, { terminationGracePeriodSeconds: 20 })]);
    await world.clock.advance(5000);
    node.setPods([]);
    const slept = await msUntilGone(world);
    expect([slept >= 20_000, slept < 22_000]).toEqual([true, true]);

    const endless = { preStop: { exec: { command: ['sleep', 'infinity'] } } };
    node.setPods([hooked(endless, { terminationGracePeriodSeconds: 10 })]);
    await world.clock.advance(5000);
    node.setPods([]);
    const waited = await msUntilGone(world);
    expect([waited >= 12_000, waited < 15_000]).toEqual([true, true]);
    await node.stop();
  });

  test('P6: the preStop hook of an orphaned pod is read from its container’s annotations', async () => {
    const world = await makeWorld();
    const first = start(world);
    first.node.setPods([
      hooked(
        { preStop: { httpGet: { port: 'web', path: '/bye', scheme: 'HTTP' } } },
        {
          containers: [
            {
              ...main,
              ports: [{ name: 'web', containerPort: 8080 }],
              lifecycle: { preStop: { httpGet: { port: 'web', path: '/bye', scheme: 'HTTP' } } },
            },
          ],
        },
      ),
    ]);
    await world.clock.advance(5000);
    const podIP = first.node.kubelet.getPods()[0]?.status?.podIP;
    await first.node.stop();
    const second = start(world);
    second.node.setPods([]);
    await world.clock.advance(10_000);
    await msUntilGone(world);
    expect(second.requests).toMatchObject([{ host: podIP, port: 8080, target: '/bye' }]);
    await second.node.stop();
  });
});
