import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeClock } from '@node-agent/async/testing';
import type { HttpGetRequest, HttpGetResult } from '@node-agent/pod-net';
import type { LifecycleHandler, Pod } from '@node-agent/pod-spec';
import { MemoryEventRecorder, MetricsRegistry } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import type { LifecycleHooksComponents } from '../src/components.ts';
import { LifecycleHooks } from '../src/lifecycle-hooks.ts';

const container = { name: 'web', image: 'x', ports: [{ name: 'admin', containerPort: 9000 }] };
const pod: Pod = {
  metadata: { name: 'p', namespace: 'default', uid: '1' },
  spec: { containers: [container] },
};
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const OK: HttpGetResult = { kind: 'answer', status: 200, body: '' };
const PLAIN: HttpGetResult = {
  kind: 'fault',
  message: 'Get "https://10.0.0.5:443/": http: server gave HTTP response to HTTPS client',
};

function setUp(components: Partial<LifecycleHooksComponents> = {}) {
  const clock = new FakeClock();
  const registry = new MetricsRegistry();
  const recorder = new MemoryEventRecorder(() => clock.now());
  const requests: HttpGetRequest[] = [];
  const commands: unknown[] = [];
  const answers: HttpGetResult[] = [];
  const controller = new AbortController();
  const hooks = new LifecycleHooks({
    ...{ clock, recorder, metrics: registry },
    exec: async (...call) => {
      commands.push(call.slice(0, 3));
      return { exitCode: 0, stdout: bytes(''), stderr: bytes('') };
    },
    podIps: async () => ['10.0.0.5', 'fd00::5'],
    http: async (request) => {
      requests.push(request);
      return answers.shift() ?? OK;
    },
    ...components,
  });
  const run = (handler: LifecycleHandler) => hooks.postStart(pod, container, 'c1', handler, controller.signal);
  return { clock, registry, recorder, requests, commands, answers, controller, hooks, run };
}

describe('exec hook', () => {
  const handler = { exec: { command: ['sh', '-c', 'x'] } };

  test('an exec hook runs the command in the container without a timeout', async () => {
    const { run, commands } = setUp();
    await run(handler);
    expect(commands).toEqual([['c1', ['sh', '-c', 'x'], 0]]);
  });

  test('an exec hook fails with upstream’s message', async () => {
    const { run } = setUp({ exec: async () => ({ exitCode: 3, stdout: bytes('out'), stderr: bytes('err') }) });
    const message = `Exec lifecycle hook ([sh -c x]) for Container "web" in Pod "p_default(1)" failed - error: command 'sh -c x' exited with 3: err, message: "outerr"`;
    await expect(run(handler)).rejects.toMatchObject({ code: 'Failed', message });
  });

  test("the error of an exec hook shows up to 10 KiB of the command's output, quoted as in Go", async () => {
    const output = (...parts: (string | number[])[]): Uint8Array =>
      Buffer.concat(parts.map((part) => Buffer.from(part)));
    const { run } = setUp({
      exec: async () => ({ exitCode: 1, stdout: output('\u001b[31m“no”\t', [0, 0x7f, 0xff]), stderr: bytes('') }),
    });
    await expect(run(handler)).rejects.toThrow(/, message: "\\x1b\[31m“no”\\t\\x00\\x7f\\xff"$/);
    const long = setUp({
      exec: async () => ({ exitCode: 1, stdout: bytes('a'.repeat(20_000)), stderr: bytes('') }),
    });
    await expect(long.run(handler)).rejects.toThrow(/, message: "a{10240}"$/);
  });

  test('an exec hook fails if the runtime cannot run the command', async () => {
    const { run } = setUp({ exec: () => Promise.reject(new Error('the runtime is away')) });
    await expect(run(handler)).rejects.toThrow('failed - error: the runtime is away, message: ""');
  });

  test('an aborted exec hook rejects with the reason of its signal', async () => {
    const { run, controller } = setUp({
      exec: (_id, _command, _timeoutMs, signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('canceled')))),
    });
    const hook = run(handler);
    controller.abort(new Error('the grace period is over'));
    await expect(hook).rejects.toThrow('the grace period is over');
  });
});

describe('httpGet hook', () => {
  test('an httpGet hook sends the request to the pod’s first IP and the named port, and accepts any response', async () => {
    const { run, requests, answers } = setUp();
    answers.push({ kind: 'answer', status: 500, body: '' });
    await run({ httpGet: { path: '/stop', port: 'admin', httpHeaders: [{ name: 'x-a', value: 'b' }] } });
    const headers = [
      ['User-Agent', 'kube-lifecycle/1.36'],
      ['Accept', '*/*'],
      ['X-A', 'b'],
    ];
    expect(requests).toEqual([{ scheme: 'http', host: '10.0.0.5', port: 9000, target: '/stop', headers }]);
  });

  test('an httpGet hook sends the request to a named host without reading the pod’s IP', async () => {
    const podIps = () => Promise.reject(new Error('not to be asked'));
    const { run, requests } = setUp({ podIps });
    await run({ httpGet: { host: 'a.example', port: 80 } });
    expect(requests[0]).toMatchObject({ host: 'a.example' });
  });

  test('an httpGet hook fails with upstream’s message if there is no response', async () => {
    const { run, answers } = setUp();
    answers.push({ kind: 'fault', message: 'Get "http://10.0.0.5:80/x": EOF' });
    const message =
      'HTTP lifecycle hook (/x) for Container "web" in Pod "p_default(1)" failed - error: Get "http://10.0.0.5:80/x": EOF';
    await expect(run({ httpGet: { path: '/x', port: 80 } })).rejects.toMatchObject({ code: 'Failed', message });
  });

  test.each([
    [{ port: 'nope' }, 'strconv.Atoi: parsing "nope": invalid syntax'],
    [{ port: 0 }, 'invalid port number: 0'],
  ])('an httpGet hook with %j fails', async (httpGet, words) => {
    await expect(setUp().run({ httpGet })).rejects.toThrow(words);
  });

  test('an httpGet hook of a pod without an IP fails', async () => {
    const { run } = setUp({ podIps: async () => [] });
    await expect(run({ httpGet: { port: 80 } })).rejects.toThrow('failed to find networking container of pod p');
  });

  test('an HTTPS hook is repeated over plain HTTP without authorization if the server responds in HTTP, with an event', async () => {
    const { run, requests, answers, recorder, registry } = setUp();
    answers.push(PLAIN, OK);
    const httpHeaders = [{ name: 'Authorization', value: 'Bearer x' }];
    await run({ httpGet: { scheme: 'HTTPS', port: 443, path: '/', httpHeaders } });
    expect(requests.map(({ scheme }) => scheme)).toEqual(['https', 'http']);
    expect(requests.map(({ headers }) => headers.some(([name]) => name === 'Authorization'))).toEqual([true, false]);
    expect(recorder.eventsOf({ kind: 'Pod', namespace: 'default', name: 'p', uid: '1' })).toMatchObject([
      {
        type: 'Warning',
        reason: 'LifecycleHTTPFallback',
        message: 'request to HTTPS lifecycle hook 10.0.0.5:443 got HTTP response, retry with HTTP succeeded',
      },
    ]);
    expect(registry.text()).toContain('kubelet_lifecycle_handler_http_fallbacks_total 1\n');
  });

  test('an HTTPS hook fails with the first error if the request over plain HTTP fails, too', async () => {
    const { run, answers, recorder } = setUp();
    answers.push(PLAIN, { kind: 'fault', message: 'EOF' });
    await expect(run({ httpGet: { scheme: 'HTTPS', port: 443 } })).rejects.toThrow(
      'gave HTTP response to HTTPS client',
    );
    expect(recorder.eventsOf({ kind: 'Pod', namespace: 'default', name: 'p', uid: '1' })).toEqual([]);
  });

  test('hooks use the real network by default', async () => {
    const paths: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const base = setUp();
    const hooks = new LifecycleHooks({
      ...{ clock: base.clock, recorder: base.recorder, metrics: base.registry },
      exec: () => Promise.reject(new Error('not to be asked')),
      podIps: async () => ['127.0.0.1'],
    });
    const handler = { httpGet: { port, path: '/bye', scheme: 'HTTPS' } };
    await hooks.preStop(pod, container, 'c1', handler, 1000, new AbortController().signal);
    expect(paths).toEqual(['/bye']);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('sleep hook', () => {
  test('a sleep hook waits for the configured seconds', async () => {
    const { run, clock } = setUp();
    let done = false;
    const hook = run({ sleep: { seconds: 5 } }).then(() => {
      done = true;
    });
    await clock.advance(4999);
    expect(done).toBe(false);
    await clock.advance(1);
    await hook;
    expect(done).toBe(true);
  });

  test('a sleep hook of 0 seconds ends immediately', async () => {
    const { run, clock } = setUp();
    await run({ sleep: { seconds: 0 } });
    expect(clock.pendingTimers).toBe(0);
  });

  test('an aborted sleep hook fails and is counted', async () => {
    const { run, controller, registry, clock } = setUp();
    const hook = run({ sleep: { seconds: 5 } });
    controller.abort(new Error('over'));
    await expect(hook).rejects.toMatchObject({
      code: 'Ended',
      message:
        'Sleep lifecycle hook (5) for Container "web" in Pod "p_default(1)" failed - error: container terminated before sleep hook finished',
    });
    expect(registry.text()).toContain('kubelet_sleep_action_terminated_early_total 1\n');
    expect(clock.pendingTimers).toBe(0);
  });
});

test.each([
  [{ tcpSocket: { port: 80 } }, '&TCPSocketAction{Port:{0 80 },Host:,}'],
  [{ tcpSocket: { port: 'http', host: 'db' } }, '&TCPSocketAction{Port:{1 0 http},Host:db,}'],
  [{}, 'nil'],
])('the hook %j cannot be run, as in upstream', async (handler, tcpSocket) => {
  await expect(setUp().run(handler)).rejects.toMatchObject({
    code: 'Invalid',
    message: `Cannot run handler: invalid handler: &LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${tcpSocket},Sleep:nil,}`,
  });
});
