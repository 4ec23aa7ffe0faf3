import { describe, expect, it } from 'vitest';
import { isAlwaysOn, isDebuggingPath, isLongRunning, metricBucket, securedRoute } from '../src/secured-routes.ts';

const NONE = { namespace: '', pod: '', uid: '', container: '', check: '', rest: [] };
const CONTAINER = { namespace: 'ns', pod: 'p', container: 'c' };
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', ''];
const [READ, STREAM] = [
  ['GET', 'HEAD'],
  ['GET', 'POST'],
];

describe('the routes of the secured server', () => {
  it.each<[path: string, endpoint: string, methods: readonly string[], params?: object]>([
    ['healthz', 'healthz', READ],
    ['healthz/x', 'healthz', READ, { check: 'x' }],
    ['pods', 'pods', READ],
    ['runningpods', 'runningpods', READ],
    ['metrics', 'metrics', READ],
    ['metrics/probes', 'probeMetrics', READ],
    ['metrics/cadvisor', 'cadvisorMetrics', READ],
    ['metrics/resource', 'resourceMetrics', READ],
    ['metrics/slis', 'slis', [...READ, 'DELETE']],
    ['stats/summary', 'stats', [...READ, 'POST']],
    ['configz', 'configz', READ],
    ['statusz', 'statusz', READ],
    ['flagz', 'flagz', READ],
    ['debug/flags/v', 'verbosity', METHODS.slice(0, 8)],
    ['debug/pprof', 'pprof', ['GET']],
    ['debug/pprof/heap', 'pprof', ['GET'], { rest: ['heap'] }],
    ['debug/explain', 'explain', READ],
    ['debug/explain/ns/p', 'explain', READ, { namespace: 'ns', pod: 'p' }],
    ['dashboard', 'dashboard', ['GET']],
    ['dashboard/events', 'dashboard', ['GET'], { rest: ['events'] }],
    ['logs', 'logs', READ],
    ['logs/a/b', 'logs', READ, { rest: ['a', 'b'] }],
    ['containerLogs/ns/p/c', 'containerLogs', ['GET'], CONTAINER],
    ['checkpoint/ns/p/c', 'checkpoint', ['POST'], CONTAINER],
    ['run/ns/p/c', 'run', ['POST'], CONTAINER],
    ['run/ns/p/u/c', 'run', ['POST'], { ...CONTAINER, uid: 'u' }],
    ['exec/ns/p/c', 'exec', STREAM, CONTAINER],
    ['exec/ns/p/u/c', 'exec', STREAM, { ...CONTAINER, uid: 'u' }],
    ['attach/ns/p/c', 'attach', STREAM, CONTAINER],
    ['attach/ns/p/u/c', 'attach', STREAM, { ...CONTAINER, uid: 'u' }],
    ['portForward/ns/p', 'portForward', STREAM, { namespace: 'ns', pod: 'p' }],
    ['portForward/ns/p/u', 'portForward', STREAM, { namespace: 'ns', pod: 'p', uid: 'u' }],
  ])('the path /%s belongs to the endpoint %s with the methods %j', (path, endpoint, methods, params = {}) => {
    const segments = path.split('/');
    for (const method of METHODS) {
      const route = securedRoute(method, segments, () => true);
      const wanted = { endpoint, route: expect.any(String), params: { ...NONE, ...params } };
      expect(route).toEqual(methods.includes(method) ? wanted : { status: 405, allow: methods });
      expect(securedRoute(method, segments, (one) => one !== endpoint)).toEqual({ status: 404 });
    }
  });

  it.each([
    ...['', 'Pods', 'pods/x', 'healthz/a/b', 'metrics/x', 'metrics/slis/x', 'stats', 'stats/x', 'debug', 'debug/x'],
    ...['debug/flags', 'debug/explain/ns', 'debug/explain/ns/p/x', 'containerLogs/ns/p', 'containerLogs/ns/p/u/c'],
    ...['exec/ns/p', 'exec/ns/p/u/c/x', 'portForward/ns', 'portForward/ns/p/u/x', 'toString', 'log', 'x/pods'],
  ])('the path /%s is not found, whatever the method', (path) => {
    for (const method of METHODS) expect(securedRoute(method, path.split('/'), () => true)).toEqual({ status: 404 });
  });

  it.each([
    ['run', true],
    ['exec/ns/p/c', true],
    ['attach', true],
    ['portForward', true],
    ['containerLogs/x', true],
    ['logs/x', true],
    ['runningpods', true],
    ['debug/pprof', true],
    ['debug/pprof/heap', true],
    ['debug/flags/v', false],
    ['debug', false],
    ['pprof', false],
    ['x/pprof', false],
    ['pods', false],
    ['', false],
    ['x/run', false],
  ])('the path /%s belongs to a debugging handler: %s', (path, is) => {
    expect(isDebuggingPath(path === '' ? [] : path.split('/'))).toBe(is);
  });

  it('health, pods, stats and metrics have routes without debugging handlers; exec, logs and pprof do not', () => {
    const [on, off] = [
      ['healthz', 'pods', 'stats', 'metrics', 'probeMetrics', 'cadvisorMetrics', 'resourceMetrics', 'slis'],
      ['exec', 'attach', 'run', 'logs', 'configz', 'pprof', 'checkpoint', 'runningpods', 'statusz', 'explain'],
    ] as const;
    expect([on.every(isAlwaysOn), off.some(isAlwaysOn)]).toEqual([true, false]);
  });

  it.each([
    ['healthz/x', 'healthz'],
    ['pods', 'pods'],
    ['runningpods', 'runningpods'],
    ['metrics', 'metrics'],
    ['metrics/probes', 'metrics/probes'],
    ['metrics/cadvisor', 'metrics/cadvisor'],
    ['metrics/resource', 'metrics/resource'],
    ['metrics/slis', 'other'],
    ['metrics/x', 'other'],
    ['stats/summary', 'stats'],
    ['configz', 'configz'],
    ['debug/pprof/heap', 'debug'],
    ['logs/x', 'logs'],
    ['containerLogs/ns/p/c', 'containerLogs'],
    ['checkpoint/ns/p/c', 'checkpoint'],
    ['run/ns/p/c', 'run'],
    ['exec/ns/p/c', 'exec'],
    ['attach/ns/p/c', 'attach'],
    ['portForward/ns/p', 'portForward'],
    ['x', 'other'],
    ['x/metrics', 'other'],
  ])('requests for /%s are counted under the metrics label %s', (path, bucket) =>
    expect(metricBucket(path.split('/'))).toBe(bucket),
  );

  it('long-running requests are recognised by their label', () => {
    const long = ['exec', 'attach', 'portforward', 'debug', 'dashboard', 'portForward', 'pods', 'run', ''].filter(
      isLongRunning,
    );
    expect(long).toEqual(['exec', 'attach', 'portforward', 'debug', 'dashboard']);
  });
});
