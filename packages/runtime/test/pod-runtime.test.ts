import { CriError } from '@node-agent/cri-client';
import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { readRuntimeStatus } from '../src/status/runtime-status.ts';
import { pod } from './builders.ts';
import { Machine, once, sleeper } from './machine.ts';

describe('start of a new pod', () => {
  test('a new pod gets its sandbox, its containers, and the usual events', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a'), sleeper('b')] });

    const result = await machine.sync(kubelet, web);

    expect(result).toEqual({
      results: [
        { action: 'CreatePodSandbox', target: 'web_default(uid-1)' },
        { action: 'StartContainer', target: 'a' },
        { action: 'StartContainer', target: 'b' },
      ],
    });
    expect(machine.live()).toEqual(['a/0', 'b/0']);
    expect(machine.events.toSorted()).toEqual([
      'Normal Created containers{a}: Container created',
      'Normal Created containers{b}: Container created',
      'Normal Started containers{a}: Container started',
      'Normal Started containers{b}: Container started',
    ]);
    expect(Object.fromEntries(machine.counts)).toEqual({
      'kubelet_started_pods_total{}': 1,
      'kubelet_started_containers_total{"container_type":"container"}': 2,
    });
    expect(await machine.sync(kubelet, web)).toEqual({ results: [] });
  });

  test('the status of a new pod has names, states, IP, hash and attempt of its containers', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')] });
    await machine.sync(kubelet, web);

    const status = await machine.status(kubelet, web);
    expect(status.ips).toHaveLength(1);
    expect(status.sandboxes).toMatchObject([{ state: 'ready', attempt: 0, hostNetwork: false }]);
    expect(status.containers).toMatchObject([
      { name: 'a', state: 'running', restartCount: 0, image: 'docker.io/library/busybox:latest' },
    ]);
    const pods = await machine.settle(kubelet.getPods());
    expect(pods).toMatchObject([{ uid: 'uid-1', name: 'web', namespace: 'default' }]);
    expect(pods[0]?.containers[0]?.hash).toBe(status.containers[0]?.hash);
  });

  test('container logs get symbolic links for log collectors, and log and link are removed with the container', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const web = pod({ restartPolicy: 'Never', containers: [once('a', 0)] });
    await machine.sync(kubelet, web);
    await machine.clock.advance(10);
    const id = (await machine.status(kubelet, web)).containers[0]?.id ?? '';
    const link = `/var/log/containers/web_default_a-${id}.log`;
    expect(await machine.fs.readlink(link)).toBe('/var/log/pods/default_web_uid-1/a/0.log');

    await machine.settle(kubelet.removeContainer(id, new AbortController().signal));
    expect(machine.fs.paths().filter((path) => path.endsWith('.log'))).toEqual([]);
    await machine.settle(kubelet.removeContainer(id, new AbortController().signal));
  });

  test('the pod status has the termination messages of exited containers', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const terminationMessagePath = '/dev/termination-log';
    const terminationMessagePolicy = 'FallbackToLogsOnError';
    const wordy = (name: string, command: string) =>
      sleeper(name, { command: ['sh', '-c', command], terminationMessagePath, terminationMessagePolicy });
    const web = pod({
      restartPolicy: 'Never',
      containers: [wordy('a', 'echo bye > /dev/termination-log; exit 1'), wordy('b', 'echo oops; exit 1')],
    });
    await machine.sync(kubelet, web);
    await machine.clock.advance(10);
    const { containers } = await machine.status(kubelet, web);
    const messages = Object.fromEntries(containers.map(({ name, message }) => [name, message]));
    expect(messages).toEqual({ a: 'bye\n', b: 'oops\n' });
  });

  test('init containers start one at a time, then the main containers', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const web = pod({ initContainers: [once('i1'), once('i2')], containers: [sleeper('a')] });
    const seen: string[] = [];
    for (let n = 0; n < 3; n++) {
      const { results } = await machine.sync(kubelet, web);
      seen.push(results.map(({ target }) => target).join());
      await machine.clock.advance(10);
    }
    expect(seen).toEqual(['web_default(uid-1),i1', 'i2', 'a']);
  });

  test('images of a new pod are pulled while its sandbox starts', async () => {
    const pulls: string[] = [];
    const machine = new Machine({
      runtime: { latencies: { runPodSandboxMs: 100 } },
      images: {
        ensureImageExists: async (_pod, { name }) => {
          pulls.push(`${name} at ${machine.clock.monotonic()}`);
          return { imageRef: 'busybox' };
        },
      },
    });
    await machine.sync(machine.kubelet(), pod({ containers: [sleeper('a'), sleeper('b')] }));
    expect(pulls).toEqual(['a at 0', 'b at 0']);
  });

  test('a sync that fails before the sandbox ends only after the directory of the logs was made', async () => {
    const network = {
      podDns: () => Promise.reject(new Error('no resolv.conf')),
      hostname: () => ({ hostname: 'web', domain: '' }),
    };
    const machine = new Machine({ components: { network } });
    const hang = machine.fs.injectFault({ operation: 'mkdir', code: 'EIO', hangs: true, path: '/var/log/pods' });
    const { signal } = new AbortController();
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')] });
    const status = await machine.status(kubelet, web);
    let isOver = false;
    const sync = kubelet.syncPod(web, status, signal).finally(() => (isOver = true));
    await machine.clock.settle();
    expect([hang.hits, isOver]).toEqual([1, false]);
    hang.remove();
    expect((await machine.settle(sync)).results).toMatchObject([{ action: 'CreatePodSandbox', error: {} }]);
    expect(machine.fs.names('/var/log/pods')).toEqual(['default_web_uid-1']);
  });

  test('no sandbox is created before the directory of the logs was made, and a failure fails the sandbox', async () => {
    const machine = new Machine();
    machine.fs.injectFault({ operation: 'mkdir', code: 'ENOSPC', path: '/var/log/pods' });
    const web = pod({ containers: [sleeper('a')] });
    const { results } = await machine.sync(machine.kubelet(), web);
    expect(results).toMatchObject([
      { action: 'CreatePodSandbox', error: { message: expect.stringContaining('ENOSPC') } },
    ]);
    expect((await machine.status(machine.kubelet(), web)).sandboxes).toEqual([]);
    const hang = machine.fs.injectFault({ operation: 'mkdir', code: 'EIO', hangs: true, path: '/var/log/pods' });
    await machine.clock.advance(60_000);
    const kubelet = machine.kubelet();
    const sync = machine
      .status(kubelet, web)
      .then((status) => kubelet.syncPod(web, status, new AbortController().signal));
    await machine.clock.settle();
    expect((await machine.status(kubelet, web)).sandboxes).toEqual([]);
    hang.remove();
    await machine.settle(sync);
    expect(machine.live()).toEqual(['a/0']);
  });

  test('resources of the first containers of a new pod are recorded while its sandbox starts, and before they are created', async () => {
    const start = async (web: Pod, isFull: boolean) => {
      const recorded: string[] = [];
      const containerApplied = async (_uid: string, name: string): Promise<void> => {
        recorded.push(`${name} at ${machine.clock.monotonic()}`);
        if (isFull) throw new Error('no space left on device');
      };
      const nothing = {
        appliedToContainer: () => undefined,
        appliedToPod: () => undefined,
        podApplied: async () => {},
      };
      const machine = new Machine({
        runtime: { latencies: { runPodSandboxMs: 100 } },
        components: { applied: { ...nothing, containerApplied } },
      });
      const { results } = await machine.sync(machine.kubelet(), web);
      return { recorded, last: results.at(-1), live: machine.live() };
    };
    const withInit = await start(pod({ initContainers: [once('i')], containers: [sleeper('a')] }), false);
    expect(withInit.recorded).toEqual(['i at 0', 'i at 100']);
    const onFullDisk = await start(pod({ containers: [sleeper('a')] }), true);
    expect(onFullDisk).toMatchObject({
      recorded: ['a at 0', 'a at 100'],
      last: { action: 'StartContainer', error: { message: 'no space left on device' } },
      live: [],
    });
  });
});

describe('restarts of containers and sandboxes', () => {
  test('C2: a crashing container waits 10 s, then 20 s, from its exit', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const web = pod({ containers: [once('a', 1)] });
    await machine.sync(kubelet, web);
    await machine.clock.advance(5);
    expect((await machine.sync(kubelet, web)).results).toEqual([{ action: 'StartContainer', target: 'a' }]);
    await machine.clock.advance(5);

    const held = await machine.sync(kubelet, web);
    const message = 'back-off 10s restarting failed container=a pod=web_default(uid-1)';
    expect(held.results).toMatchObject([{ error: { reason: 'CrashLoopBackOff', message } }]);
    expect(kubelet.lastErrors('uid-1', 'a')).toMatchObject({ reason: 'CrashLoopBackOff', message });
    expect(machine.events.at(-1)).toBe(
      'Warning BackOff containers{a}: Back-off restarting failed container a in pod web_default(uid-1)',
    );
    const wait = (held.error?.retryAtMs ?? 0) - machine.clock.monotonic();
    expect(wait).toBeGreaterThan(9_900);
    expect(wait).toBeLessThanOrEqual(10_000);

    await machine.clock.advance(wait);
    expect((await machine.sync(kubelet, web)).error).toBeUndefined();
    expect(kubelet.lastErrors('uid-1', 'a')).toBeUndefined();
    await machine.clock.advance(5);
    expect((await machine.sync(kubelet, web)).error?.message).toContain('back-off 20s restarting');
  });

  test('C2: a kubelet restart does not restart a crashing container early', async () => {
    const machine = new Machine();
    const web = pod({ containers: [once('a', 1)] });
    const first = machine.kubelet();
    for (let n = 0; n < 3; n++) {
      await machine.sync(first, web);
      await machine.clock.advance(n === 1 ? 10_005 : 5);
    }
    const second = machine.kubelet();
    const result = await machine.sync(second, web);
    expect(result.error?.message).toContain('back-off 20s restarting failed container=a');
    await machine.clock.advance((result.error?.retryAtMs ?? 0) - machine.clock.monotonic());
    expect((await machine.sync(second, web)).error).toBeUndefined();
  });

  test('a changed image replaces the container, with an event about the changed definition', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, pod({ containers: [sleeper('a')] }));
    const changed = pod({ containers: [sleeper('a', { image: 'registry.k8s.io/pause:3.10', command: [] })] });
    await machine.sync(kubelet, changed);
    expect(machine.live()).toEqual(['a/1']);
    expect(machine.events).toContain('Normal Killing containers{a}: Container a definition changed, will be restarted');
  });

  test('a dead sandbox is replaced with all its containers', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const web = pod({ initContainers: [once('i')], containers: [sleeper('a')] });
    await machine.sync(kubelet, web);
    await machine.clock.advance(10);
    await machine.sync(kubelet, web);
    const [sandbox] = (await machine.status(kubelet, web)).sandboxes;
    machine.cri.killSandbox(sandbox?.id ?? '');

    expect((await machine.sync(kubelet, web)).results.map(({ action, target }) => `${action} ${target}`)).toEqual([
      'KillContainer a',
      'KillPodSandbox uid-1',
      'CreatePodSandbox web_default(uid-1)',
      'StartContainer i',
    ]);
    expect(machine.events).toContain('Normal SandboxChanged : Pod sandbox changed, it will be killed and re-created.');
    await machine.clock.advance(10);
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual(['a/1']);
    const status = await machine.status(kubelet, web);
    expect(status.sandboxes.map(({ attempt }) => attempt)).toEqual([1, 0]);
    // C3: the record of the init container was removed together with its sandbox.
    expect(status.containers.filter(({ name }) => name === 'i')).toMatchObject([
      { sandboxId: status.sandboxes[0]?.id },
    ]);
  });

  test('S3: restart counts of init containers and sidecars continue in a new sandbox', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const sidecars = ['s1', 's2'].map((name) => sleeper(name, { restartPolicy: 'Always' }));
    const web = pod({ initContainers: [once('i1'), ...sidecars, once('i2')], containers: [sleeper('a')] });
    const counts = async (): Promise<string[]> => {
      for (let sync = 0; sync < 6; sync++) {
        await machine.sync(kubelet, web);
        await machine.clock.advance(10_000);
      }
      const { containers } = await machine.status(kubelet, web);
      return containers.map(({ name, restartCount }) => `${name}/${restartCount}`).toSorted();
    };
    expect(await counts()).toEqual(['a/0', 'i1/0', 'i2/0', 's1/0', 's2/0']);
    for (const expected of [1, 2]) {
      const [sandbox] = (await machine.status(kubelet, web)).sandboxes;
      machine.cri.killSandbox(sandbox?.id ?? '');
      const now = await counts();
      for (const name of ['a', 'i1', 'i2', 's1', 's2']) expect(now).toContain(`${name}/${expected}`);
    }
  });

  test('RestartAllContainers restarts the pod in one sync in the same sandbox', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
    const web = pod({
      restartPolicy: 'Never',
      containers: [once('a', 42, { restartPolicy: 'Never', restartPolicyRules: rules }), sleeper('b')],
    });
    await machine.sync(kubelet, web);
    await machine.clock.advance(10);
    const { results } = await machine.sync(kubelet, web);
    expect(results.map(({ action, target }) => `${action} ${target}`).slice(0, 2)).toEqual([
      'RemoveContainer b',
      'RemoveContainer a',
    ]);
    const { containers, sandboxes } = await machine.status(kubelet, web);
    expect(sandboxes).toHaveLength(1);
    expect(containers.map(({ name, restartCount }) => `${name}/${restartCount}`).toSorted()).toEqual(['a/1', 'b/1']);
  });
});

describe('container with a failed probe', () => {
  test('C6: a failed probe of an exited container changes nothing: exit code and restartPolicy decide', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const web = pod({ restartPolicy: 'OnFailure', containers: [sleeper('a'), sleeper('b')] });
    await machine.sync(kubelet, web);
    const stale = await machine.status(kubelet, web);
    const a = machine.cri.liveContainers().find(({ name }) => name === 'a')?.id ?? '';
    machine.cri.killContainer(a, { exitCode: 0, oomKilled: false });
    machine.liveness.set(a, 'failure');

    expect(await machine.settle(kubelet.syncPod(web, stale, new AbortController().signal))).toEqual({ results: [] });
    expect(machine.live()).toEqual(['b/0']);
    expect(machine.events.filter((event) => event.includes('Killing'))).toEqual([]);
  });

  test('P7: if a probe failed because the container exited, and that exit restarts all containers, the sync does nothing and returns isOutdated', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
    const a = sleeper('a', { restartPolicy: 'Never', restartPolicyRules });
    const web = pod({ restartPolicy: 'Never', containers: [a, sleeper('b')] });
    await machine.sync(kubelet, web);
    const stale = await machine.status(kubelet, web);
    const id = machine.cri.liveContainers().find(({ name }) => name === 'a')?.id ?? '';
    machine.cri.killContainer(id, { exitCode: 42, oomKilled: false });
    machine.liveness.set(id, 'failure');

    const result = await machine.settle(kubelet.syncPod(web, stale, new AbortController().signal));
    expect(result).toEqual({ results: [], isOutdated: true });
    expect(machine.live()).toEqual(['b/0']);
    await machine.sync(kubelet, web);
    expect(machine.live().toSorted()).toEqual(['a/1', 'b/1']);
  });

  test('R2: a failed probe of a running container stops it, and its restartPolicy decides about a restart', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const web = pod({ restartPolicy: 'OnFailure', containers: [sleeper('a')] });
    await machine.sync(kubelet, web);
    machine.liveness.set(machine.cri.liveContainers()[0]?.id ?? '', 'failure');
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual(['a/1']);
  });
});

describe("failures of a pod's start", () => {
  test('a sandbox that cannot be created causes an event and a failed result, not an exception', async () => {
    const machine = new Machine();
    machine.cri.faults.add({
      rpc: 'runPodSandbox',
      times: 1,
      fault: { kind: 'error', code: 'UNKNOWN', message: 'no network' },
    });
    const kubelet = machine.kubelet();
    const result = await machine.sync(kubelet, pod({ containers: [sleeper('a')] }));
    expect(result.results).toMatchObject([{ action: 'CreatePodSandbox', error: { reason: 'CreatePodSandboxError' } }]);
    expect(machine.events).toEqual([
      expect.stringMatching(/^Warning FailedCreatePodSandBox : Failed to create pod sandbox: .*no network/),
    ]);
    expect(machine.counts.get('kubelet_started_pods_errors_total{}')).toBe(1);
    expect(result.error?.message).toMatch(
      /^failed to "CreatePodSandbox" for "web_default\(uid-1\)" with CreatePodSandboxError: /,
    );
  });

  test('images are pulled while the first sandbox is created; if a sandbox could not be created, they are pulled only once a sandbox exists', async () => {
    const wanted: string[] = [];
    let handler = (): string => {
      throw new Error('runtimeclass.node.k8s.io "gvisor" not found');
    };
    const machine = new Machine({
      images: {
        ensureImageExists: async (_pod, { name, image = '' }) => {
          wanted.push(name ?? '');
          return { imageRef: image };
        },
      },
      components: { runtimeHandler: async () => handler() },
    });
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')] });
    for (let sync = 0; sync < 3; sync++) await machine.sync(kubelet, web);
    expect(wanted).toEqual(['a']);
    expect(machine.events).toEqual(
      Array(3).fill(
        'Warning FailedCreatePodSandBox : Failed to create pod sandbox: runtimeclass.node.k8s.io "gvisor" not found',
      ),
    );
    handler = () => '';
    await machine.sync(kubelet, web);
    expect(wanted).toEqual(['a', 'a']);
    expect((await machine.status(kubelet, web)).containers).toMatchObject([{ name: 'a', state: 'running' }]);
  });

  test("image pulls are cancelled if the pod's sandbox cannot be created", async () => {
    const pulls: AbortSignal[] = [];
    const machine = new Machine({
      images: {
        ensureImageExists: (_pod, _container, _config, _handler, signal) => {
          pulls.push(signal);
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        },
      },
    });
    machine.cri.faults.add({ rpc: 'runPodSandbox', fault: { kind: 'error', code: 'UNKNOWN', message: 'no network' } });
    const result = await machine.sync(machine.kubelet(), pod({ containers: [sleeper('a'), sleeper('b')] }));
    expect(result.results.map(({ action }) => action)).toEqual(['CreatePodSandbox']);
    expect(pulls.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  test('no sandbox failure is reported for a terminating pod', async () => {
    const machine = new Machine({ components: { isPodTerminationRequested: () => true } });
    machine.cri.faults.add({ rpc: 'runPodSandbox', fault: { kind: 'error', code: 'UNKNOWN' } });
    expect(await machine.sync(machine.kubelet(), pod({ containers: [sleeper('a')] }))).toEqual({ results: [] });
    expect(machine.events).toEqual([]);
  });

  test.each([
    ['createContainer', 'CreateContainerError'],
    ['startContainer', 'RunContainerError'],
  ] as const)('a failed %s makes only its own container wait, with the reason %s', async (rpc, reason) => {
    const machine = new Machine();
    machine.cri.faults.add({ rpc, times: 1, fault: { kind: 'error', code: 'INTERNAL', message: 'disk on fire' } });
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a'), sleeper('b')] });
    await machine.sync(kubelet, web);
    expect(kubelet.lastErrors('uid-1', 'a')).toEqual({ reason, message: 'disk on fire' });
    expect(kubelet.lastErrors('uid-1', 'b')).toBeUndefined();
    expect(machine.events).toContain('Warning Failed containers{a}: Error: disk on fire');
    expect(machine.live()).toEqual(['b/0']);
    expect(
      machine.counts.get(`kubelet_started_containers_errors_total{"container_type":"container","code":"${reason}"}`),
    ).toBe(1);
    await machine.sync(kubelet, web);
    expect(machine.live().toSorted()).toEqual(['a/0', 'b/0']);
  });

  test('the event of a failed container start is the same for each attempt, with the name instead of the ID', async () => {
    const machine = new Machine();
    const cri = new Proxy(machine.cri, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'startContainer') return typeof value === 'function' ? value.bind(target) : value;
        return async ({ containerId = '' }) => {
          throw new CriError({ rpc: 'StartContainer', code: 'UNKNOWN', details: `no task for "${containerId}"` });
        };
      },
    });
    const kubelet = machine.kubelet(cri);
    await machine.sync(kubelet, pod({ containers: [sleeper('a')] }));
    expect(machine.events).toContain('Warning Failed containers{a}: Error: no task for "a"');
    expect(kubelet.lastErrors('uid-1', 'a')?.message).not.toContain('"a"');
  });

  test('a failed pull makes its container wait with the reason, and no container is created', async () => {
    const refuse = Object.assign(new Error('registry said no'), { code: 'ErrImagePull' });
    const machine = new Machine({ images: { ensureImageExists: () => Promise.reject(refuse) } });
    const kubelet = machine.kubelet();
    const result = await machine.sync(kubelet, pod({ containers: [sleeper('a')] }));
    expect(result.results.at(-1)).toMatchObject({ error: { reason: 'ErrImagePull', message: 'registry said no' } });
    expect(machine.events).toEqual(['Warning Failed containers{a}: Error: ErrImagePull']);
  });

  test('a container with a Secret but no API server waits with CreateContainerConfigError', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, pod({ containers: [sleeper('a', { envFrom: [{ secretRef: { name: 's' } }] })] }));
    expect(kubelet.lastErrors('uid-1', 'a')).toMatchObject({ reason: 'CreateContainerConfigError' });
  });

  test('no container starts while a container that must be killed still exists', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, pod({ containers: [sleeper('a')] }));
    machine.cri.faults.add({ rpc: 'stopContainer', times: 1, fault: { kind: 'error', code: 'INTERNAL' } });
    const changed = pod({ containers: [sleeper('a', { image: 'registry.k8s.io/pause:3.10' }), sleeper('b')] });
    const { results } = await machine.sync(kubelet, changed);
    expect(results).toMatchObject([{ action: 'KillContainer', target: 'a', error: { reason: 'KillContainerError' } }]);
    expect(machine.live()).toEqual(['a/0']);
    await machine.sync(kubelet, changed);
    expect(machine.live().toSorted()).toEqual(['a/1', 'b/0']);
  });

  test('a container with a postStart hook is killed with the reason if the runtime has no component that runs hooks', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const lifecycle = { postStart: { exec: { command: ['true'] } } };
    await machine.sync(kubelet, pod({ containers: [sleeper('a', { lifecycle })] }));
    expect(machine.live()).toEqual([]);
    expect(machine.events).toContain('Warning FailedPostStartHook containers{a}: PostStartHook failed');
    expect(kubelet.lastErrors('uid-1', 'a')).toEqual({
      reason: 'PostStartHookError',
      message: 'container a: lifecycle.postStart is not supported by this kubelet',
    });
  });

  test('a running postStart hook delays the start of later containers only', async () => {
    const order: string[] = [];
    const machine = new Machine({
      hooks: {
        postStart: async (_pod, { name }) => {
          order.push(`hook of ${name} with ${machine.live().join()}`);
        },
        preStop: async () => {},
      },
      options: { startConcurrency: 8 },
    });
    const lifecycle = { postStart: { exec: { command: ['true'] } } };
    const web = pod({ containers: [sleeper('a'), sleeper('b', { lifecycle }), sleeper('c'), sleeper('d')] });
    await machine.sync(machine.kubelet(), web);
    expect(order).toEqual(['hook of b with a/0,b/0']);
    expect(machine.live()).toEqual(['a/0', 'b/0', 'c/0', 'd/0']);
  });

  test('a container that must not run as root leaves no files, however often its start is retried', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const refused = sleeper('a', { terminationMessagePath: '/dev/termination-log' });
    const web = pod({ containers: [refused], securityContext: { runAsNonRoot: true } });
    for (let tries = 0; tries < 3; tries++) await machine.sync(kubelet, web);
    expect(kubelet.lastErrors('uid-1', 'a')).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'container has runAsNonRoot and image will run as root (pod: "web_default(uid-1)", container: a)',
    });
    expect(machine.fs.paths().filter((path) => path.includes('/containers/a/'))).toEqual([]);
  });

  test('a full disk prevents the termination message file, not the container', async () => {
    const machine = new Machine();
    machine.fs.injectFault({ operation: 'write', code: 'ENOSPC', path: '/var/lib/kubelet', times: 9 });
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a', { terminationMessagePath: '/dev/termination-log' })] });
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual(['a/0']);
    expect(machine.warnings).toContain('Failed to create the termination message file');
  });

  test.each(['empty', 'noMetadata', 'unknownState', 'noIds', 'noLabels'] as const)(
    'C1: invalid runtime responses (%s) stop no container and start no second one',
    async (nonsense) => {
      const machine = new Machine();
      const kubelet = machine.kubelet();
      const web = pod({ containers: [sleeper('a')] });
      await machine.sync(kubelet, web);
      const undo = machine.cri.faults.add({ rpc: '*', fault: { kind: 'nonsense', nonsense } });
      for (let n = 0; n < 3; n++) {
        await machine.sync(kubelet, web).catch(() => {});
        await machine.clock.advance(1_000);
        expect(machine.live()).toEqual(['a/0']);
      }
      undo();
      for (let n = 0; n < 3; n++) await machine.sync(kubelet, web);
      expect(machine.live()).toEqual(['a/0']);
    },
  );
});

test('returns the status of the runtime', async () => {
  const machine = new Machine();
  machine.cri.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'cni config uninitialized');
  expect(await machine.settle(readRuntimeStatus(machine.cri))).toMatchObject({
    runtimeReady: { ok: true },
    networkReady: { ok: false, reason: 'NetworkPluginNotReady', message: 'cni config uninitialized' },
  });
});

test('events of the runtime contain the pod', async () => {
  const machine = new Machine();
  const kubelet = machine.kubelet();
  const stop = new AbortController();
  const news: string[] = [];
  const reading = (async () => {
    for await (const { podUid, podName, podNamespace } of kubelet.containerEvents(stop.signal)) {
      news.push(`${podUid} ${podNamespace}/${podName}`);
    }
  })().catch(() => {});
  await machine.clock.settle();
  await machine.sync(kubelet, pod({ containers: [sleeper('a')] }));
  stop.abort();
  await reading;
  expect(new Set(news)).toEqual(new Set(['uid-1 default/web']));
});
