import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { FakeClock } from '@node-agent/async/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Call } from '../src/endpoints/call.ts';
import { InspectorProfiler, type Profiler, pprofEndpoints, ServerError } from '../src/index.ts';
import { encodeProfile } from '../src/pprof/encode-profile.ts';
import { deltaOf, type Profile } from '../src/pprof/profile.ts';
import { TraceEvents } from '../src/pprof/trace-events.ts';
import { frame, profile } from './profiles.ts';

const HAS_GO = ((): boolean => {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
/** The first call of `go tool pprof` on a machine compiles it. */
const TIMEOUT_MS = 300_000;

/** Returns a profiler whose profiles are empty, except for the methods in `parts`. */
function profilerOf(parts: Partial<Profiler> = {}): Profiler {
  const none = async (): Promise<Profile> => profile([]);
  return { cpu: none, heap: none, allocations: none, trace: async () => Buffer.from('{}'), ...parts };
}

function callOf(path: string, signal = new AbortController().signal, onTime = (): void => {}): Call {
  const [name = '', query = ''] = path.split('?');
  const params = { namespace: '', pod: '', uid: '', container: '', check: '' };
  return {
    ...{ method: 'GET', headers: {}, remoteAddress: '127.0.0.1', signal, user: { name: 'u', groups: [] } },
    takeTime: onTime,
    body: async () => Buffer.from(''),
    path: '/',
    params: { ...params, rest: name === '' ? [] : name.split('/') },
    query: new URLSearchParams(query),
  };
}

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

async function ask(profiler: Profiler, call: Call, clock = new FakeClock()): Promise<Got> {
  const tasks = () => [
    ['container c: ContainerCreating', 'default/web', 'pod worker'],
    ['Timeout', 'event loop'],
    ['Timeout', 'event loop'],
  ];
  const answer = await pprofEndpoints({
    clock,
    profiler,
    tasks,
    commandLine: ['/bin/node', 'kubelet', '-v=2'],
  }).pprof?.(call);
  if (answer === undefined || 'stream' in answer) throw new Error('there is no whole answer');
  return { ...answer, bytes: Buffer.from('body' in answer ? answer.body : answer.bytes) };
}

describe('/debug/pprof', () => {
  it('pprof lists its profiles, returns the command line, and reports that no symbols are needed', async () => {
    const index = await ask(profilerOf(), callOf(''));
    expect(index.headers['Content-Type']).toContain('text/html');
    for (const name of ['allocs', 'cmdline', 'goroutine', 'heap', 'profile', 'symbol', 'trace']) {
      expect(index.bytes.toString()).toContain(`<a href="${name}`);
    }
    expect((await ask(profilerOf(), callOf('cmdline'))).bytes.toString()).toBe('/bin/node\0kubelet\0-v=2');
    expect((await ask(profilerOf(), callOf('symbol'))).bytes.toString()).toBe('num_symbols: 0\n');
  });

  it.each(['block', 'mutex', 'threadcreate', 'nonsense', 'heap/x'])(
    'pprof answers 404 for the unknown profile %s',
    async (name) => {
      expect(await ask(profilerOf(), callOf(name))).toMatchObject({ status: 404, headers: { 'X-Go-Pprof': '1' } });
    },
  );

  it.each([
    ['profile', 30_000],
    ['profile?seconds=5', 5000],
    ['profile?seconds=-1', 30_000],
    ['profile?seconds=x', 30_000],
    ['profile?seconds=600', 600_000],
    ['trace', 1000],
    ['trace?seconds=0.5', 500],
    ['allocs', 10_000],
    ['allocs?seconds=2', 2000],
  ])('the profile requested by %s lasts %d ms', async (path, lasts) => {
    const durations: number[] = [];
    let isTimeTaken = false;
    const during = async (durationMs: number): Promise<Profile> => {
      durations.push(durationMs);
      return profile([]);
    };
    const trace = async (durationMs: number): Promise<Uint8Array> => {
      await during(durationMs);
      return Buffer.from('{}');
    };
    const call = callOf(path, undefined, () => {
      isTimeTaken = true;
    });
    const got = await ask(profilerOf({ cpu: during, allocations: during, trace }), call);
    expect(got.status).toBe(200);
    expect(durations).toEqual([lasts]);
    // The response time does not limit the profile's duration.
    expect(isTimeTaken).toBe(true);
  });

  it.each(['profile?seconds=601', 'trace?seconds=1e9', 'allocs?seconds=601', 'heap?seconds=601'])(
    'rejects the duration in %s as too long',
    async (path) => {
      const never = async (): Promise<never> => expect.unreachable('nothing is begun');
      const got = await ask(profilerOf({ cpu: never, trace: never, allocations: never, heap: never }), callOf(path));
      expect(got.status).toBe(400);
      expect(got.bytes.toString()).toBe('invalid value for "seconds" - must be at most 600\n');
    },
  );

  it.each([
    ['profile', 'Could not enable CPU profiling: cpu profiling already in use\n'],
    ['trace', 'Could not enable tracing: cpu profiling already in use\n'],
  ])('pprof answers 500 for a %s while another profile is in progress: %s', async (path, words) => {
    const busy = async (): Promise<never> => {
      throw new ServerError('Busy', 'cpu profiling already in use');
    };
    const got = await ask(profilerOf({ cpu: busy, trace: busy }), callOf(path));
    expect(got).toMatchObject({ status: 500, headers: { 'X-Go-Pprof': '1' } });
    expect(got.bytes.toString()).toBe(words);
  });

  it('W2: a profile stops when its client disconnects', async () => {
    const controller = new AbortController();
    const profiler = new InspectorProfiler({ clock: new FakeClock() });
    const asked = ask(profiler, callOf('profile?seconds=30', controller.signal));
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort(new Error('gone'));
    await expect(asked).rejects.toThrow('gone');
    // Another profile can start immediately.
    const next = new AbortController();
    const again = profiler.cpu(30_000, next.signal);
    next.abort(new Error('enough'));
    await expect(again).rejects.toThrow('enough');
  });

  it('a delta profile contains the changes within its seconds', async () => {
    const clock = new FakeClock();
    const before = profile([
      { stack: [frame('a')], values: [10] },
      { stack: [frame('b')], values: [5] },
    ]);
    const after = profile(
      [
        { stack: [frame('a')], values: [30] },
        { stack: [frame('c')], values: [1] },
      ],
      3000,
    );
    expect(deltaOf(before, after)).toMatchObject({
      durationMs: 2000,
      samples: [
        { stack: [frame('a')], values: [20] },
        { stack: [frame('b')], values: [-5] },
        { stack: [frame('c')], values: [1] },
      ],
    });
    let taken = 0;
    const asked = ask(
      profilerOf({ heap: async () => (taken++ === 0 ? before : after) }),
      callOf('heap?seconds=2'),
      clock,
    );
    await clock.advance(2000);
    expect((await asked).headers['Content-Disposition']).toBe('attachment; filename="heap-delta"');
    expect(taken).toBe(2);
    expect((await ask(profilerOf(), callOf('heap?seconds=1&debug=1'))).bytes.toString()).toBe(
      'seconds and debug params are incompatible\n',
    );
    expect((await ask(profilerOf(), callOf('heap?seconds=0'))).bytes.toString()).toContain(
      'must be a positive integer',
    );
  });

  it('running tasks are listed as text', async () => {
    const got = await ask(profilerOf(), callOf('goroutine?debug=1'));
    expect(got.headers['Content-Type']).toContain('text/plain');
    expect(got.bytes.toString()).toBe(
      'goroutine profile: total 3 goroutine\n\n2 @\n#\tTimeout\n#\tevent loop\n\n1 @\n#\tcontainer c: ContainerCreating\n#\tdefault/web\n#\tpod worker\n',
    );
  });
});

describe('an execution trace', () => {
  it('K4: a trace holds no more events than its limit', () => {
    const events = new TraceEvents(20);
    events.add([{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }]);
    expect(JSON.parse(Buffer.from(events.json()).toString())).toEqual({
      traceEvents: [{ a: 1 }, { a: 2 }],
      otherData: { eventsLeftOut: 2 },
    });
  });
});

describe('profiles of the test process', { timeout: TIMEOUT_MS }, () => {
  const controller = new AbortController();
  const profiler = new InspectorProfiler();
  const kept: unknown[] = [];
  let running: Promise<void>;
  let directory = '';

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'pprof-'));
    running = profiler.start(controller.signal);
    // The profiler starts to sample the heap only in a later turn of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 200));
  }, TIMEOUT_MS);

  afterAll(async () => {
    controller.abort();
    await running;
    await rm(directory, { recursive: true, force: true });
  });

  /** Matches the line of either function in pprof's output, because V8 may inline one into the other. */
  const BURNT = /([\d.]+)(m?s)\s.*(?:burnForTheProfile|spendCpuTimeDuring)/;

  /**
   * Uses CPU time in event loop turns until the profile ends, because the start of sampling is unknown on a busy
   * machine.
   */
  async function spendCpuTimeDuring<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    work.then(end, end);
    while (!isOver) {
      burnForTheProfile(15);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return await work;
  }

  function burnForTheProfile(ms: number): number {
    const endMs = performance.now() + ms;
    let sum = 0;
    while (performance.now() < endMs) for (let index = 0; index < 10_000; index++) sum += Math.sqrt(index);
    return sum;
  }

  function allocateForTheProfile(): void {
    for (let index = 0; index < 300_000; index++) kept.push({ index, text: `number ${index}` });
  }

  async function top(name: string, bytes: Buffer, ...options: string[]): Promise<string> {
    const path = join(directory, name);
    await writeFile(path, bytes);
    const args = ['tool', 'pprof', ...options, path];
    return (await promisify(execFile)('go', args, { env: { ...process.env, PPROF_TMPDIR: directory } })).stdout;
  }

  it('takes CPU profiles one at a time, and go tool pprof reads them', async (context) => {
    const asked = [ask(profiler, callOf('profile?seconds=1')), ask(profiler, callOf('profile?seconds=1'))] as const;
    const [got, second] = await spendCpuTimeDuring(Promise.all(asked));
    expect(second.bytes.toString()).toBe('Could not enable CPU profiling: cpu profiling already in use\n');
    expect(got.headers).toMatchObject({ 'Content-Type': 'application/octet-stream' });
    expect(gunzipSync(got.bytes).includes('spendCpuTimeDuring')).toBe(true);
    if (!HAS_GO) return context.skip('there is no go');
    const report = await top('profile', got.bytes, '-top');
    expect(report).toContain('Type: cpu');
    expect(report).toMatch(/Duration: \d+(\.\d+)?m?s/);
    const [, flat = ''] = BURNT.exec(report) ?? [];
    expect(Number(flat)).toBeGreaterThan(0);
    expect(report).toMatch(BURNT);
  });

  it('takes a heap profile that go tool pprof reads', async (context) => {
    allocateForTheProfile();
    const got = await ask(profiler, callOf('heap'));
    expect(gunzipSync(got.bytes).includes('allocateForTheProfile')).toBe(true);
    expect((await ask(profiler, callOf('heap?debug=1'))).bytes.toString()).toMatch(
      /^heap profile: total \d+ bytes \(inuse_space\)\n[\s\S]*allocateForTheProfile/,
    );
    if (!HAS_GO) return context.skip('there is no go');
    const report = await top('heap', got.bytes, '-top', '-unit=MB');
    expect(report).toContain('Type: inuse_space');
    const [, flat = '0'] = /([\d.]+)MB\s.*allocateForTheProfile/.exec(report) ?? [];
    // The test has allocated 300,000 objects and strings that are still in use.
    expect(Number(flat)).toBeGreaterThan(5);
  });

  it('takes an allocation profile with retained and freed memory, and a heap profile after that', async (context) => {
    const [got] = await Promise.all([
      ask(profiler, callOf('allocs?seconds=0.5')),
      (async () => {
        for (let turn = 0; turn < 5; turn++) {
          await new Promise((resolve) => setTimeout(resolve, 60));
          kept.length = 0;
          allocateForTheProfile();
        }
      })(),
    ]);
    expect(got.status).toBe(200);
    expect(gunzipSync(got.bytes).includes('allocateForTheProfile')).toBe(true);
    expect((await ask(profiler, callOf('heap'))).status).toBe(200);
    if (!HAS_GO) return context.skip('there is no go');
    expect(await top('allocs', got.bytes, '-top')).toContain('Type: alloc_space');
  });

  it('takes a profile of running tasks that go tool pprof reads', async (context) => {
    const got = await ask(profiler, callOf('goroutine'));
    if (!HAS_GO) return context.skip('there is no go');
    const report = await top('goroutine', got.bytes, '-top');
    expect(report).toContain('Type: goroutine');
    expect(report).toMatch(/\s2\s.*Timeout/);
    expect(await top('raw', got.bytes, '-raw')).toContain('Samples:\ngoroutine/count[dflt]');
  });

  it('traces events of the process', async () => {
    const got = await spendCpuTimeDuring(ask(profiler, callOf('trace?seconds=0.5')));
    const { traceEvents } = JSON.parse(got.bytes.toString());
    expect(traceEvents.length).toBeGreaterThan(0);
  });

  it('encodes negative numbers and malformed strings', async (context) => {
    const samples = [{ stack: [frame('down\ud800'), frame('caller')], values: [-5 * 2 ** 40] }];
    const bytes = Buffer.from(encodeProfile(profile(samples), '/bin/node'));
    expect(bytes.includes('down\ufffd')).toBe(true);
    if (!HAS_GO) return context.skip('there is no go');
    expect(await top('negative', bytes, '-raw')).toContain(String(-5 * 2 ** 40));
  });
});

describe('InspectorProfiler', () => {
  it('a stopped profiler samples the heap no more, even if an allocation profile was running', async () => {
    const profiler = new InspectorProfiler();
    const stop = new AbortController();
    const running = profiler.start(stop.signal);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const asked = new AbortController();
    const profile = profiler.allocations(60_000, asked.signal).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
    stop.abort();
    await running;
    asked.abort();
    await profile;
    await expect(profiler.heap()).rejects.toThrow('the heap is not sampled');
  });
});
