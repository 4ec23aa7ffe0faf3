import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findingOf } from '../src/findings.ts';
import { grpcStatusOf } from '../src/grpc-status.ts';
import { healthRequest, healthStatus } from '../src/health-message.ts';
import { History } from '../src/history.ts';
import { earlyRetryMs, nextDue } from '../src/next-due.ts';
import { execOutcome, httpOutcome } from '../src/outcomes.ts';
import { PROBE_TIMES_ANNOTATION, probeTimes, probeTimesProblems } from '../src/probe-times.ts';
import { slotMs, slotOf } from '../src/slots.ts';
import { container, httpProbe, podOf } from './builders.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('httpOutcome', () => {
  test.each([
    [199, 'failure', 'HTTP probe failed with statuscode: 199'],
    [200, 'success', 'body'],
    [299, 'success', 'body'],
    [300, 'warning', 'Probe terminated redirects, Response body: body'],
    [302, 'warning', 'Probe terminated redirects, Response body: body'],
    [399, 'warning', 'Probe terminated redirects, Response body: body'],
    [400, 'failure', 'HTTP probe failed with statuscode: 400'],
    [503, 'failure', 'HTTP probe failed with statuscode: 503'],
  ])('the HTTP status %i is a probe %s', (status, result, output) => {
    expect(httpOutcome({ kind: 'answer', status, body: 'body' })).toEqual({ result, output });
  });

  test('an HTTP probe without a response fails, and an HTTP probe with half a response has no result', () => {
    expect(httpOutcome({ kind: 'fault', message: 'refused' })).toEqual({ result: 'failure', output: 'refused' });
    const half = httpOutcome({ kind: 'answer', status: 200, body: 'bo', bodyFault: 'unexpected EOF' });
    expect(half).toEqual({ result: 'broken', output: 'unexpected EOF' });
  });
});

test("an exec probe's exit code decides its result, and 10 KiB of both output streams are kept (R3)", () => {
  const stderr = bytes('!');
  expect(execOutcome({ exitCode: 0, stdout: bytes('out'), stderr })).toEqual({ result: 'success', output: 'out!' });
  const long = execOutcome({ exitCode: 3, stdout: bytes('x'.repeat(20_000)), stderr });
  expect(long).toEqual({ result: 'failure', output: 'x'.repeat(10_240) });
});

test.each([
  ['success', 'success', undefined],
  ['warning', 'success', { reason: 'ProbeWarning', message: 'Readiness probe warning: words' }],
  ['failure', 'failure', { reason: 'Unhealthy', message: 'Readiness probe failed: words' }],
  [
    'error',
    undefined,
    { reason: 'Unhealthy', message: 'Readiness probe errored and resulted in unknown state: words' },
  ],
  [
    'broken',
    undefined,
    { reason: 'Unhealthy', message: 'Readiness probe errored and resulted in failure state: words' },
  ],
] as const)('a probe outcome of %s counts as %s, with upstream’s event text', (result, counted, event) => {
  expect(findingOf('readiness', { result, output: 'words' })).toEqual({ counted, ...(event && { event }) });
});

describe('slots, which group probes into common wake-ups', () => {
  test.each([
    [10_000, 20, 500],
    [5000, 50, 500],
    [5000, 51, 100],
    [4999, 20, 100],
    [1000, 200, 100],
    [1000, 250, 100],
    [1000, 251, 50],
    [1000, 2500, 10],
    [1000, 5000, 5],
    [1000, 5001, 0],
    [100, 10, 10],
    [50, 20, 5],
    [49, 20, 0],
  ])('with a period of %i ms and %i probes per second, a slot is %i ms wide', (periodMs, perSecond, width) => {
    expect(slotMs(periodMs, perSecond)).toBe(width);
  });

  test('a slot starts at most one width before the probe time, and wide slots start at starts of narrow slots', () => {
    const instants = fc.double({ min: 0, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(
        instants,
        fc.constantFrom(500, 100, 50, 10, 5),
        fc.constantFrom(500, 100, 50, 10, 5),
        (atMs, a, b) => {
          const begin = slotOf(atMs, Math.max(a, b));
          expect(begin).toBeLessThanOrEqual(atMs);
          expect(atMs - begin).toBeLessThan(Math.max(a, b));
          expect(slotOf(begin, Math.min(a, b))).toBe(begin);
        },
      ),
    );
    expect(slotOf(123.4, 0)).toBe(123.4);
  });
});

describe('nextDue', () => {
  test.each([
    ['one period later after a short attempt', 1000, 1010, { dueMs: 2000, gridMs: 2000 }],
    ['unchanged after an early attempt', 1000, 300, { dueMs: 1000, gridMs: 1000 }],
    ['one period after the regular time, even if the attempt ended late', 1000, 1999, { dueMs: 2000, gridMs: 2000 }],
    ['immediately if an attempt took longer than the period', 1000, 2300, { dueMs: 2300, gridMs: 2000 }],
    ['immediately, once, if several periods were missed', 1000, 7300, { dueMs: 7300, gridMs: 7000 }],
  ])('nextDue returns the next regular time of a probe: %s', (_, gridMs, nowMs, due) =>
    expect(nextDue({ gridMs, periodMs: 1000 }, nowMs)).toEqual(due),
  );

  test('the next regular time of a probe is not in the past, at most one period away, and a whole number of periods after the first', () => {
    const ms = fc.integer({ min: 0, max: 1_000_000 });
    fc.assert(
      fc.property(ms, fc.integer({ min: 10, max: 60_000 }), ms, (gridMs, periodMs, laterMs) => {
        const nowMs = gridMs + laterMs;
        const due = nextDue({ gridMs, periodMs }, nowMs);
        expect(due.dueMs).toBeGreaterThanOrEqual(nowMs);
        expect(due.dueMs - nowMs).toBeLessThanOrEqual(periodMs);
        expect((due.gridMs - gridMs) % periodMs).toBe(0);
      }),
    );
  });
});

test.each([
  [0, 1000, 25],
  [10, 1000, 25],
  [60, 1000, 25],
  [100, 1000, 25],
  [200, 1000, 50],
  [400, 1000, 100],
  [999, 1000, 100],
  [1001, 1000, 100.1],
  [9999, 1000, 999.9],
  [10_000, 1000, undefined],
  [0, 25, undefined],
])(
  '%i ms after it was first seen, a starting container with a probe period of %i ms is probed again after %s ms',
  (known, period, delay) => {
    expect(earlyRetryMs(known, period)).toBe(delay);
  },
);

describe('history of a probe', () => {
  test('the history of a probe keeps the newest attempts in order, up to its limit', () => {
    const probed = fc.record({ atMs: fc.nat(), durationMs: fc.nat(), output: fc.constantFrom('a', 'b') });
    fc.assert(
      fc.property(fc.array(probed, { maxLength: 12 }), fc.integer({ min: 0, max: 4 }), (all, limit) => {
        const history = new History(limit);
        for (const { atMs, durationMs, output } of all) history.add(atMs, durationMs, { result: 'success', output });
        const newest = limit === 0 ? [] : all.slice(-limit);
        expect(history.records).toEqual(newest.map((record) => ({ ...record, result: 'success' })));
      }),
    );
  });

  test('the history of a probe keeps the first line of the first 200 characters of an output', () => {
    const output = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '\r', 'x'.repeat(90)), maxLength: 12 });
    fc.assert(
      fc.property(output, (text) => {
        const history = new History(1);
        history.add(0, 0, { result: 'success', output: text });
        const [line = ''] = text.slice(0, 200).split(/\r?\n/, 1);
        expect(history.records[0]?.output).toBe(line.trimEnd());
      }),
    );
  });

  test('the history of a probe keeps the newest attempts with their first lines', () => {
    const history = new History(2);
    history.add(1, 5, { result: 'success', output: 'gone' });
    history.add(2, 5, { result: 'failure', output: 'first\r\nsecond' });
    history.add(3, 5, { result: 'failure', output: 'x'.repeat(1000) });
    expect(history.records).toEqual([
      { atMs: 2, durationMs: 5, result: 'failure', output: 'first' },
      { atMs: 3, durationMs: 5, result: 'failure', output: 'x'.repeat(200) },
    ]);
  });
});

describe('probeTimes', () => {
  const annotated = (value: unknown) => {
    const pod = podOf('1', [container('web', { readinessProbe: httpProbe })]);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return { ...pod, metadata: { ...pod.metadata, annotations: { [PROBE_TIMES_ANNOTATION]: text } } };
  };
  const web = container('web', { readinessProbe: { ...httpProbe, initialDelaySeconds: 2, successThreshold: 2 } });

  test('period, timeout and delays of a probe come from its spec, with upstream’s defaults', () => {
    const pod = podOf('1', [web]);
    const times = { initialDelayMs: 2000, periodMs: 1000, timeoutMs: 1000, successThreshold: 2, failureThreshold: 3 };
    expect(probeTimes(pod, web, 'readiness')).toEqual(times);
    const bare = container('web', { livenessProbe: {} });
    const defaults = { initialDelayMs: 0, periodMs: 10_000, timeoutMs: 1000, successThreshold: 1, failureThreshold: 3 };
    expect(probeTimes(pod, bare, 'liveness')).toEqual(defaults);
  });

  test('probe times below one second come from the annotation', () => {
    const pod = annotated({ web: { readiness: { periodMs: 200, timeoutMs: 50 } } });
    const most = annotated({ web: { liveness: { periodMs: 3_600_000, timeoutMs: 10 }, startup: { periodMs: 100 } } });
    expect(probeTimes(most, web, 'liveness')).toMatchObject({ periodMs: 3_600_000, timeoutMs: 10 });
    expect(probeTimes(most, web, 'startup')).toMatchObject({ periodMs: 100 });
    expect(probeTimesProblems(most)).toEqual([]);
    expect(probeTimes(pod, web, 'readiness')).toMatchObject({ periodMs: 200, timeoutMs: 50, initialDelayMs: 2000 });
    expect(probeTimes(pod, web, 'liveness')).toMatchObject({ periodMs: 10_000 });
    expect(probeTimesProblems(pod)).toEqual([]);
  });

  test.each([
    ['not JSON', '{', ': must be a JSON object'],
    ['not an object', [1], ': must be a JSON object'],
    ['an unknown kind', { web: { health: {} } }, '.web.health: must be liveness, readiness or startup'],
    ['an unknown field', { web: { startup: { period: 1 } } }, '.web.startup.period: must be periodMs or timeoutMs'],
    [
      'a number that is too small',
      { web: { startup: { periodMs: 99 } } },
      '.web.startup.periodMs: must be a whole number from 100 to 3600000',
    ],
    [
      'a number that is too large',
      { web: { startup: { periodMs: 3_600_001 } } },
      '.web.startup.periodMs: must be a whole number from 100 to 3600000',
    ],
    [
      'a timeout that is too small',
      { web: { startup: { timeoutMs: 9 } } },
      '.web.startup.timeoutMs: must be a whole number from 10 to 3600000',
    ],
    [
      'a text instead of a number',
      { web: { startup: { timeoutMs: '50' } } },
      '.web.startup.timeoutMs: must be a whole number from 10 to 3600000',
    ],
  ])('reports an invalid probe annotation with the field name: %s', (_, value, problem) => {
    const pod = annotated(value);
    expect(probeTimesProblems(pod)).toEqual([`metadata.annotations[${PROBE_TIMES_ANNOTATION}]${problem}`]);
    expect(probeTimes(pod, web, 'startup')).toMatchObject({ periodMs: 10_000, timeoutMs: 1000 });
  });

  test('exec probes have a period of at least one second, because each attempt costs the node processes', () => {
    const command = container('web', { livenessProbe: { exec: { command: ['true'] } }, readinessProbe: httpProbe });
    const ofCommand = (periodMs: number) => {
      const times = { periodMs, timeoutMs: 10 };
      const { metadata } = annotated({ web: { liveness: times, readiness: times } });
      return { metadata, spec: podOf('1', [command]).spec };
    };
    const often = ofCommand(999);
    expect(probeTimesProblems(often)).toEqual([
      `metadata.annotations[${PROBE_TIMES_ANNOTATION}].web.liveness.periodMs: must be a whole number from 1000 to 3600000`,
    ]);
    expect(probeTimes(often, command, 'liveness')).toMatchObject({ periodMs: 10_000, timeoutMs: 10 });
    expect(probeTimes(often, command, 'readiness')).toMatchObject({ periodMs: 999, timeoutMs: 10 });
    expect(probeTimes(ofCommand(1000), command, 'liveness')).toMatchObject({ periodMs: 1000 });
  });

  test('W3: a probe annotation is parsed once, and at most ten problems are reported', () => {
    let reads = 0;
    const wrong = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`${at}${'x'.repeat(100)}`, 0]));
    const pod = annotated('');
    const annotations = {
      get [PROBE_TIMES_ANNOTATION](): string {
        reads += 1;
        return JSON.stringify({ ...wrong, web: { [`kind${'y'.repeat(100)}`]: {}, readiness: { periodMs: 200 } } });
      },
    };
    const hostile = { ...pod, metadata: { ...pod.metadata, annotations } };
    for (let at = 0; at < 100; at++) expect(probeTimes(hostile, web, 'readiness')).toMatchObject({ periodMs: 200 });
    const problems = probeTimesProblems(hostile);
    expect([reads, problems.length]).toEqual([1, 10]);
    expect(problems[0]).toBe(
      `metadata.annotations[${PROBE_TIMES_ANNOTATION}].0${'x'.repeat(63)}...: must be a JSON object`,
    );
    const kind = annotated({ web: { [`kind${'y'.repeat(100)}`]: {} } });
    expect(probeTimesProblems(kind)).toEqual([
      `metadata.annotations[${PROBE_TIMES_ANNOTATION}].web.kind${'y'.repeat(60)}...: must be liveness, readiness or startup`,
    ]);
  });
});

describe('gRPC health messages', () => {
  test('a gRPC health request contains the service name', () => {
    expect([...healthRequest('')]).toEqual([0, 0, 0, 0, 0]);
    expect([...healthRequest('ab')]).toEqual([0, 0, 0, 0, 4, 0x0a, 2, 0x61, 0x62]);
    expect([...healthRequest('x'.repeat(127)).subarray(0, 7)]).toEqual([0, 0, 0, 0, 129, 0x0a, 0x7f]);
    expect([...healthRequest('x'.repeat(128)).subarray(0, 8)]).toEqual([0, 0, 0, 0, 131, 0x0a, 0x80, 0x01]);
    expect([...healthRequest('x'.repeat(200)).subarray(0, 8)]).toEqual([0, 0, 0, 0, 203, 0x0a, 0xc8, 0x01]);
  });

  test.each<[string, number[], string | undefined]>([
    ['no field, which means 0', [0, 0, 0, 0, 0], 'UNKNOWN'],
    ['SERVING', [0, 0, 0, 0, 2, 8, 1], 'SERVING'],
    ['NOT_SERVING', [0, 0, 0, 0, 2, 8, 2], 'NOT_SERVING'],
    ['SERVICE_UNKNOWN', [0, 0, 0, 0, 2, 8, 3], 'SERVICE_UNKNOWN'],
    ['an unknown status number', [0, 0, 0, 0, 2, 8, 9], '9'],
    ['a status number of two bytes', [0, 0, 0, 0, 3, 8, 0x82, 0x01], '130'],
    ['a status number of ten bytes', [0, 0, 0, 0, 11, 8, 0x81, ...Array(8).fill(0x80), 0], 'SERVING'],
    ['two statuses, of which the last counts', [0, 0, 0, 0, 5, 8, 0x82, 0x01, 8, 1], 'SERVING'],
    ['an unknown bytes field', [0, 0, 0, 0, 6, 0x12, 2, 1, 1, 8, 1], 'SERVING'],
    ['an unknown number field', [0, 0, 0, 0, 4, 8, 1, 0x10, 2], 'SERVING'],
    ['only an unknown field', [0, 0, 0, 0, 4, 0x12, 2, 1, 1], 'UNKNOWN'],
    ['an unknown 32-bit field', [0, 0, 0, 0, 7, 0x15, 1, 2, 3, 4, 8, 1], 'SERVING'],
    ['an unknown 64-bit field', [0, 0, 0, 0, 11, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 8, 1], 'SERVING'],
    ['bytes after the message', [0, 0, 0, 0, 2, 8, 1, 8], 'SERVING'],
    ['half of the message', [0, 0, 0, 0, 3, 8, 1], undefined],
    ['half of the frame header', [0, 0, 0, 0], undefined],
    ['compression', [1, 0, 0, 0, 2, 8, 1], undefined],
    ['fewer bytes than the length says', [0, 0, 0, 0, 2, 0x12, 99], undefined],
    ['a field without its length', [0, 0, 0, 0, 1, 0x12], undefined],
    ['half of a field number', [0, 0, 0, 0, 1, 0x80], undefined],
    ['an unfinished number', [0, 0, 0, 0, 2, 8, 0x80], undefined],
    ['a number longer than ten bytes', [0, 0, 0, 0, 12, 8, ...Array(10).fill(0x80), 1], undefined],
    ['a deprecated group', [0, 0, 0, 0, 4, 0x13, 0, 8, 1], undefined],
    ['no bytes', [], undefined],
  ])('reads the status of a gRPC health response with %s', (_, frame, status) =>
    expect(healthStatus(Uint8Array.from(frame))).toBe(status),
  );

  test('invalid bytes of a gRPC health response cause no exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (frame) =>
        ['string', 'undefined'].includes(typeof healthStatus(frame)),
      ),
    );
  });

  test.each([
    [
      { ':status': 200, 'grpc-status': '0' },
      { code: 'OK', message: '' },
    ],
    [
      { 'grpc-status': '5', 'grpc-message': 'unknown%20service' },
      { code: 'NotFound', message: 'unknown service' },
    ],
    [
      { 'grpc-status': '5', 'grpc-message': '%' },
      { code: 'NotFound', message: '%' },
    ],
    [{ ':status': 404 }, { code: 'Unimplemented', message: 'unexpected HTTP status code received from server: 404' }],
    [{ ':status': 200 }, { code: 'Internal', message: 'server closed the stream without sending trailers' }],
    [{}, { code: 'Internal', message: 'server closed the stream without sending trailers' }],
    [{ 'grpc-status': '77' }, { code: 'Code(77)', message: '' }],
  ])('a gRPC call with the trailers %j has the status %j', (headers, status) =>
    expect(grpcStatusOf(headers)).toEqual(status),
  );

  test('gRPC status codes have Go’s names, in order of their numbers', () => {
    const names = Array.from({ length: 18 }, (_, code) => grpcStatusOf({ 'grpc-status': String(code) }).code);
    expect(names).toEqual([
      ...['OK', 'Canceled', 'Unknown', 'InvalidArgument', 'DeadlineExceeded', 'NotFound', 'AlreadyExists'],
      ...['PermissionDenied', 'ResourceExhausted', 'FailedPrecondition', 'Aborted', 'OutOfRange', 'Unimplemented'],
      ...['Internal', 'Unavailable', 'DataLoss', 'Unauthenticated', 'Code(17)'],
    ]);
  });

  test.each([
    [400, 'Internal'],
    [401, 'Unauthenticated'],
    [403, 'PermissionDenied'],
    [404, 'Unimplemented'],
    [429, 'Unavailable'],
    [502, 'Unavailable'],
    [503, 'Unavailable'],
    [504, 'Unavailable'],
    [500, 'Unknown'],
    [302, 'Unknown'],
  ])('a plain HTTP response with status %i counts as the gRPC status %s', (status, code) => {
    expect(grpcStatusOf({ ':status': status }).code).toBe(code);
  });
});
