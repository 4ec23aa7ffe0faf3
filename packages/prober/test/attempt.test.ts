import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { sleep } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { HttpGetRequest } from '@node-agent/pod-net';
import { describe, expect, test } from 'vitest';
import { ProbeAttempt, type ProbePorts, type ProbeTarget } from '../src/attempt.ts';
import { container } from './builders.ts';

const signal = new AbortController().signal;
const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const coded = (code: string, message = code): Error => Object.assign(new Error(message), { code });
const never = (): Promise<never> => new Promise(() => {});

function attemptOf(ports: ProbePorts, clock = new FakeClock()) {
  const attempt = new ProbeAttempt(clock, ports);
  const run = (probe: ProbeTarget['probe'], fields: Partial<ProbeTarget> = {}) => {
    const target = { container: container('web'), containerId: 'c1', podIp: '10.0.0.5', timeoutMs: 1000, probe };
    return attempt.run({ ...target, ...fields }, signal);
  };
  return { clock, run };
}

describe('exec probe', () => {
  const exec = { exec: { command: ['test', '-f', '$(FILE)', '$(SECRET)', '$(OTHER)'] } };

  test("an exec probe runs the command with the container's environment variables that have a literal value", async () => {
    const calls: unknown[] = [];
    const { run } = attemptOf({
      exec: async (containerId, command, timeoutMs) => {
        calls.push([containerId, command, timeoutMs]);
        return { exitCode: 0, stdout: text('ok'), stderr: text('') };
      },
    });
    const env = [
      { name: 'FILE', value: '/ready' },
      { name: 'SECRET', valueFrom: {} },
    ];
    expect(await run(exec, { container: container('web', { env }) })).toEqual({ result: 'success', output: 'ok' });
    expect(calls).toEqual([['c1', ['test', '-f', '/ready', '', '$(OTHER)'], 1000]]);
  });

  test('W3: an exec probe is not run if its expanded command would fill the memory', async () => {
    const { run } = attemptOf({ exec: never });
    const env = [{ name: 'LARGE', value: 'x'.repeat(2 ** 20) }];
    const command = Array.from({ length: 17 }, () => '$(LARGE)');
    expect(await run({ exec: { command } }, { container: container('web', { env }) })).toEqual({
      result: 'error',
      output: 'more than 16777216 characters once variables are expanded',
    });
  });

  test('an exec probe fails if the runtime reports a timeout', async () => {
    const { run } = attemptOf({ exec: () => Promise.reject(coded('DEADLINE_EXCEEDED')) });
    const output = 'command timed out: "sleep 9" timed out after 1s';
    expect(await run({ exec: { command: ['sleep', '9'] } })).toEqual({ result: 'failure', output });
  });

  test('an exec probe is tried three times and has no result if the runtime cannot run it', async () => {
    let tries = 0;
    const { run } = attemptOf({
      exec: () => {
        tries++;
        return Promise.reject(coded('UNAVAILABLE', 'the runtime is away'));
      },
    });
    expect(await run(exec)).toEqual({ result: 'error', output: 'the runtime is away' });
    expect(tries).toBe(3);
  });

  const containerd = 'failed to exec in container: failed to start exec "e1": OCI runtime exec failed: exec failed: ';
  test.each([
    [
      'does not exist',
      `${containerd}unable to start container process: exec: "/nope": stat /nope: no such file or directory`,
    ],
    [
      'is not in PATH',
      `${containerd}unable to start container process: exec: "nope": executable file not found in $PATH: unknown`,
    ],
    [
      'is not executable',
      `${containerd}unable to start container process: exec: "/etc/passwd": permission denied: unknown`,
    ],
    ['is a directory', `${containerd}unable to start container process: exec: "/etc": is a directory: unknown`],
    [
      "does not exist, with CRI-O's error text",
      'command error: exec failed: unable to start container process: exec: "nope": executable file not found in $PATH, stdout: , stderr: , exit code -1',
    ],
    ['is for another architecture', `${containerd}exec /bin/probe: exec format error`],
    [
      "does not exist, with crun's error text",
      'OCI runtime exec failed: crun: executable file `nope` not found in $PATH: No such file or directory',
    ],
  ])('R2: an exec probe fails when its command %s', async (_, message) => {
    const { run } = attemptOf({ exec: () => Promise.reject(coded('UNKNOWN', message)) });
    expect(await run(exec)).toEqual({ result: 'failure', output: message });
  });

  test.each([
    ['the container has stopped', `${containerd}cannot exec in a stopped container: unknown`],
    [
      'no process ID is left',
      `${containerd}unable to start container process: can't get final child's PID from pipe: EOF`,
    ],
    [
      'the container is stopping',
      `${containerd}unable to start container process: open /proc/7/ns/mnt: no such file or directory`,
    ],
    [
      'the container does not exist any more',
      'failed to exec in container: failed to find container in store: not found',
    ],
  ])('R2: an exec probe has no result when %s', async (_, message) => {
    const { run } = attemptOf({ exec: () => Promise.reject(coded('UNKNOWN', message)) });
    expect(await run(exec)).toEqual({ result: 'error', output: message });
  });

  test('R3: an exec probe fails 2 min after its timeout if the runtime hangs', async () => {
    const { clock, run } = attemptOf({ exec: never });
    const outcome = run(exec);
    await clock.advance(120_999);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1);
    expect(await outcome).toMatchObject({ result: 'failure', output: expect.stringContaining('timed out after 1s') });
    expect(clock.pendingTimers).toBe(0);
  });

  test('an exec probe has the exit code of a command whose child process holds the output open past the timeout', async () => {
    const clock = new FakeClock();
    const late = async () => {
      await sleep(clock, 10_000);
      return { exitCode: 1, stdout: new Uint8Array(), stderr: new Uint8Array() };
    };
    const { run } = attemptOf({ exec: late }, clock);
    const outcome = run({ exec: { command: ['sh', '-c', 'sleep 10 & exit 1'] } });
    await clock.advance(10_000);
    expect(await outcome).toEqual({ result: 'failure', output: '' });
  });

  test.each([
    ['on the abort', (reject: (error: Error) => void) => reject(new DOMException('aborted', 'AbortError'))],
    [
      'later',
      (reject: (error: Error) => void) => queueMicrotask(() => reject(new DOMException('aborted', 'AbortError'))),
    ],
  ])(
    'R3: an exec probe whose command hangs fails when the runtime call rejects with AbortError %s',
    async (_, rejectBy) => {
      const exec = (_id: string, _command: readonly string[], _timeoutMs: number, ending: AbortSignal) =>
        new Promise<never>((_resolve, reject) => ending.addEventListener('abort', () => rejectBy(reject)));
      const { clock, run } = attemptOf({ exec });
      const outcome = run({ exec: { command: ['sleep', '9'] } }, { timeoutMs: 50 });
      await clock.advance(50);
      expect(await outcome).toEqual({ result: 'failure', output: 'command timed out: "sleep 9" timed out after 50ms' });
    },
  );

  test('an exec probe with a timeout below one second is ended by the prober, and fails', async () => {
    const { clock, run } = attemptOf({ exec: never });
    const outcome = run({ exec: { command: ['sleep', '9'] } }, { timeoutMs: 50 });
    await clock.advance(50);
    expect(await outcome).toEqual({ result: 'failure', output: 'command timed out: "sleep 9" timed out after 50ms' });
  });
});

describe('tries of a probe attempt', () => {
  test('a probe is not tried again after the first result of any kind', async () => {
    const answers = [
      { kind: 'answer' as const, status: 200, body: 'ha', bodyFault: 'unexpected EOF' },
      { kind: 'fault' as const, message: 'refused' },
    ];
    const { run } = attemptOf({ http: async () => answers.shift() ?? { kind: 'fault', message: 'a third one' } });
    expect(await run({ httpGet: { port: 80 } })).toEqual({ result: 'failure', output: 'refused' });
  });

  test('R3: all tries of a probe share its timeout', async () => {
    const clock = new FakeClock();
    const timeouts: number[] = [];
    const { run } = attemptOf(
      {
        http: async (_, timeoutMs) => {
          timeouts.push(timeoutMs);
          await clock.advance(600);
          return { kind: 'answer', status: 200, body: '', bodyFault: 'slow' };
        },
      },
      clock,
    );
    expect(await run({ httpGet: { port: 80 } })).toEqual({ result: 'broken', output: 'slow' });
    expect(timeouts).toEqual([1000, 400]);
  });
});

describe('cancelled probe attempt', () => {
  test('a cancelled probe ends immediately while the server sends nothing, and closes the connection', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const ending = new AbortController();
    const clock = new FakeClock();
    const target = { container: container('web'), containerId: 'c1', podIp: '127.0.0.1', timeoutMs: 1000 };
    const run = new ProbeAttempt(clock, {}).run({ ...target, probe: { httpGet: { port } } }, ending.signal);
    const [socket] = (await once(server, 'connection')) as [Socket];
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    ending.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    await closed;
    expect(clock.pendingTimers).toBe(0);
    await new Promise((resolve) => server.close(resolve));
  });

  test('a cancelled probe ends immediately even if the runtime call ignores the signal', async () => {
    const ending = new AbortController();
    const attempt = new ProbeAttempt(new FakeClock(), { http: never, exec: never });
    const target = { container: container('web'), containerId: 'c1', podIp: '127.0.0.1', timeoutMs: 1000 };
    const runs = [{ httpGet: { port: 80 } }, { exec: { command: ['true'] } }].map((probe) =>
      attempt.run({ ...target, probe }, ending.signal),
    );
    ending.abort(new Error('enough'));
    for (const run of runs) await expect(run).rejects.toThrow('enough');
  });
});

describe('target of a probe', () => {
  test('each attempt of an httpGet probe sends a new request', async () => {
    const requests: unknown[] = [];
    const { run } = attemptOf({
      http: async (request) => {
        requests.push(request);
        return { kind: 'answer', status: 204, body: '' };
      },
    });
    const ports = [{ name: 'web', containerPort: 8080 }];
    await run({ httpGet: { port: 'web', path: '/z' } }, { container: container('web', { ports }) });
    const headers = [
      ['User-Agent', 'kube-probe/1.36'],
      ['Accept', '*/*'],
    ];
    expect(requests).toEqual([{ scheme: 'http', host: '10.0.0.5', port: 8080, target: '/z', headers }]);
  });

  test('a probe uses the pod’s current IP even after an earlier attempt used another', async () => {
    const asked: HttpGetRequest[] = [];
    const { run } = attemptOf({
      http: async (request) => {
        asked.push(request);
        return { kind: 'answer', status: 204, body: '' };
      },
    });
    const probe = { httpGet: { port: 80 } };
    const same = container('web', {});
    for (const podIp of ['10.0.0.5', '10.0.0.5', '10.0.0.6', '10.0.0.5']) await run(probe, { podIp, container: same });
    expect(asked.map(({ host }) => host)).toEqual(['10.0.0.5', '10.0.0.5', '10.0.0.6', '10.0.0.5']);
    expect(asked[1]).toBe(asked[0]);
  });

  test('a tcpSocket probe connects to the pod or to the host that it names', async () => {
    const hosts: string[] = [];
    const { run } = attemptOf({
      tcp: async ({ host }) => {
        hosts.push(host);
        return hosts.length === 1 ? undefined : 'dial tcp: refused';
      },
    });
    expect(await run({ tcpSocket: { port: 80 } })).toEqual({ result: 'success', output: '' });
    expect(await run({ tcpSocket: { port: 80, host: 'a.example' } })).toEqual({
      result: 'failure',
      output: 'dial tcp: refused',
    });
    expect(hosts).toEqual(['10.0.0.5', 'a.example']);
  });

  test('a grpc probe calls the pod with the service name', async () => {
    const targets: unknown[] = [];
    const { run } = attemptOf({
      grpc: async (target) => {
        targets.push(target);
        return { result: 'success', output: '' };
      },
    });
    await run({ grpc: { port: 5000, service: 'a.b' } });
    expect(targets).toEqual([
      { host: '10.0.0.5', port: 5000, service: 'a.b', timeoutMs: 1000, userAgent: 'kube-probe/1.36' },
    ]);
  });

  test.each([
    [{ httpGet: { port: 'nope' } }, 'strconv.Atoi: parsing "nope": invalid syntax'],
    [{ tcpSocket: { port: 0 } }, 'invalid port number: 0'],
    [{}, 'missing probe handler for web'],
    [{ exec: { command: ['x'] } }, 'exec is not supported'],
  ])('the probe %j cannot be run, and its output says why', async (probe, output) => {
    expect(await attemptOf({}).run(probe)).toEqual({ result: 'error', output });
  });
});

test.each([Number.NaN, 0, -1, '5' as never])('ProbeAttempt rejects a timeout of %s', async (timeoutMs) => {
  const { run } = attemptOf({ tcp: never });
  const message = `timeoutMs must be above 0, not ${timeoutMs}`;
  await expect(run({ tcpSocket: { port: 80 } }, { timeoutMs })).rejects.toThrow(message);
});
