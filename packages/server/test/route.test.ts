import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Endpoint, type Route, route } from '../src/route.ts';

const ALL: ReadonlySet<Endpoint> = new Set([
  ...(['healthz', 'pods', 'runningpods', 'metrics', 'metrics/probes', 'explain', 'stats/summary'] as const),
]);
const quiet = { verbose: false, exclude: [] };

describe('route', () => {
  it.each<[string, Route]>([
    ['/healthz', { endpoint: 'healthz', query: quiet }],
    ['/healthz?verbose', { endpoint: 'healthz', query: { verbose: true, exclude: [] } }],
    ['/healthz?verbose=1&exclude=a&exclude=b', { endpoint: 'healthz', query: { verbose: true, exclude: ['a', 'b'] } }],
    ['/healthz/pleg', { endpoint: 'healthz', query: { ...quiet, check: 'pleg' } }],
    ['/pods', { endpoint: 'pods' }],
    ['/pods/', { endpoint: 'pods' }],
    ['/pods?pretty', { endpoint: 'pods' }],
    ['/runningpods/', { endpoint: 'runningpods' }],
    ['/metrics', { endpoint: 'metrics' }],
    ['/metrics/probes', { endpoint: 'metrics/probes' }],
    ['/explain/pod/kube-system/etcd', { endpoint: 'explain', namespace: 'kube-system', name: 'etcd' }],
    ['/explain/pod/a%2Fb/c', { endpoint: 'explain', namespace: 'a/b', name: 'c' }],
    ...[
      '/',
      '',
      '*',
      'pods',
      '//pods',
      'x/pods',
      '/metrics/probes/x',
      '/stats',
      '/stats/x',
      '/stats/summary/x',
      '/stats/x/summary',
      '/pods/x',
      '/Pods',
      '/healthz/',
      '/healthz/a/b',
      '/metrics/cadvisor',
      '/explain/pod/a',
      '/explain/pod/a/',
      '/explain/node/a/b',
      '/pods/../metrics',
      'http://host/pods/x',
      '/exec/ns/pod/c',
      '/toString',
    ].map((url): [string, Route] => [url, { endpoint: 'notFound' }]),
    ['http://host/pods', { endpoint: 'pods' }],
    ['/pods%', { endpoint: 'badRequest' }],
    ['/%ff', { endpoint: 'badRequest' }],
  ])('GET %s is routed to %j', (url, expected) => {
    expect(route('GET', url, ALL)).toEqual(expected);
  });

  it('W1: finds no route for a method that could change something', () => {
    const paths = ['/healthz', '/healthz/ping', '/pods', '/runningpods/', '/metrics', '/explain/pod/a/b'];
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'get', '']) {
      for (const path of paths) expect(route(method, path, ALL)).toEqual({ endpoint: 'methodNotAllowed' });
    }
    expect(route('HEAD', '/pods', ALL)).toEqual({ endpoint: 'pods' });
  });

  it.each(['', 'only_cpu_and_memory=true'])('a summary request with the query %j keeps its query', (query) => {
    const found = route('GET', query === '' ? '/stats/summary' : `/stats/summary?${query}`, ALL);
    expect(found).toEqual({ endpoint: 'stats/summary', query: new URLSearchParams(query) });
    expect('query' in found && String(found.query)).toBe(query);
  });

  it.each(['metrics/probes', 'metrics/cadvisor', 'metrics/resource', 'metrics/slis'] as const)(
    'GET /%s is routed to the endpoint of the same name',
    (page) => {
      expect(route('GET', `/${page}`, new Set([page]))).toEqual({ endpoint: page });
    },
  );

  it('a request for an endpoint that the server does not have is not found', () => {
    expect(route('GET', '/pods', new Set(['healthz']))).toEqual({ endpoint: 'notFound' });
  });

  it('W3: returns a result for any request line', () => {
    const parts = fc.constantFrom(
      '/',
      'pods',
      'healthz',
      '%',
      '%2e',
      '..',
      '?',
      '&',
      'exclude=',
      '\0',
      'é',
      'explain',
      'pod',
    );
    const url = fc.oneof(
      fc.string(),
      fc.array(parts).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(fc.string(), url, (method, target) => {
        const { endpoint } = route(method, target, ALL);
        if (method !== 'GET' && method !== 'HEAD')
          expect(['notFound', 'methodNotAllowed', 'badRequest']).toContain(endpoint);
      }),
    );
  });
});
