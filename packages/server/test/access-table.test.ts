import type { Agent } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Endpoint, Endpoints } from '../src/endpoints/call.ts';
import { text } from '../src/http/reply.ts';
import type { SecuredEndpoint } from '../src/secured-routes.ts';
import { type KeyPair, Pki } from './pki.ts';
import {
  ask,
  askHttp2,
  authoritiesOf,
  believing,
  Changing,
  FakeReviewer,
  keptConnection,
  startSecured,
} from './secured-fixture.ts';

/**
 * Paths of the server, each with the subresources that permit it (a client needs only one of them) and with the methods
 * that it supports.
 */
const PATHS: readonly (readonly [path: string, rights: readonly string[], served: readonly string[]])[] = [
  ['/healthz', ['healthz', 'proxy'], ['GET', 'HEAD']],
  ['/healthz/ping', ['healthz', 'proxy'], ['GET', 'HEAD']],
  ['/pods', ['pods', 'proxy'], ['GET', 'HEAD']],
  ['/pods/', ['pods', 'proxy'], ['GET', 'HEAD']],
  ['/runningpods/', ['pods', 'proxy'], ['GET', 'HEAD']],
  ['/configz', ['configz', 'proxy'], ['GET', 'HEAD']],
  ['/metrics', ['metrics'], ['GET', 'HEAD']],
  ['/metrics/probes', ['metrics'], ['GET', 'HEAD']],
  ['/metrics/cadvisor', ['metrics'], ['GET', 'HEAD']],
  ['/metrics/resource', ['metrics'], ['GET', 'HEAD']],
  ['/metrics/slis', ['metrics'], ['GET', 'HEAD', 'DELETE']],
  ['/metrics/unknown', ['metrics'], []],
  ['/stats/summary', ['stats'], ['GET', 'HEAD', 'POST']],
  ['/stats/unknown', ['stats'], []],
  ['/logs/', ['log'], ['GET', 'HEAD']],
  ['/logs/a/b', ['log'], ['GET', 'HEAD']],
  ['/statusz', ['statusz'], ['GET', 'HEAD']],
  ['/flagz', ['configz'], ['GET', 'HEAD']],
  ['/checkpoint/ns/p/c', ['checkpoint'], ['POST']],
  ['/containerLogs/ns/p/c', ['proxy'], ['GET']],
  ['/run/ns/p/c', ['proxy'], ['POST']],
  ['/run/ns/p/u/c', ['proxy'], ['POST']],
  ['/exec/ns/p/c', ['proxy'], ['GET', 'POST']],
  ['/exec/ns/p/u/c', ['proxy'], ['GET', 'POST']],
  ['/attach/ns/p/c', ['proxy'], ['GET', 'POST']],
  ['/attach/ns/p/u/c', ['proxy'], ['GET', 'POST']],
  ['/portForward/ns/p', ['proxy'], ['GET', 'POST']],
  ['/portForward/ns/p/u', ['proxy'], ['GET', 'POST']],
  ['/debug/pprof/profile', ['proxy'], ['GET']],
  ['/debug/flags/v', ['proxy'], ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']],
  ['/debug/explain', ['proxy'], ['GET', 'HEAD']],
  ['/debug/explain/ns/p', ['proxy'], ['GET', 'HEAD']],
  ['/dashboard/', ['proxy'], ['GET']],
  ['/dashboard/events', ['proxy'], ['GET']],
  ['/', ['proxy'], []],
  ['/unknown', ['proxy'], []],
];
/** Paths for which even an authorized client gets 404. */
const NOWHERE = new Set(['/metrics/unknown', '/stats/unknown', '/', '/unknown']);
/**
 * Paths with `..`, `//` or escapes, none of which is served. Only a client with the required permission learns that
 * such a path does not exist.
 */
const CROOKED: readonly string[] = [
  '/pods/..',
  '/pods/../metrics',
  '/pods/%2e%2e/exec/ns/p/c',
  '//pods',
  '/exec//ns/p/c',
  '/pods/./',
  '/logs/%2e%2e/%2e%2e/etc/shadow',
  '/logs/..%2f..%2fetc%2fshadow',
  '/logs/a%00b',
  '/%ff',
  '/pods%',
  'http://elsewhere/pods/..',
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];
const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
const RIGHTS = ['proxy', 'stats', 'log', 'metrics', 'pods', 'healthz', 'configz', 'checkpoint', 'statusz'];
const ENDPOINTS: readonly SecuredEndpoint[] = [
  ...([
    'attach',
    'checkpoint',
    'configz',
    'containerLogs',
    'dashboard',
    'exec',
    'explain',
    'flagz',
    'healthz',
    'logs',
  ] as const),
  ...(['metrics', 'pods', 'portForward', 'pprof', 'probeMetrics', 'run', 'runningpods', 'statusz'] as const),
  ...(['verbosity', 'stats', 'cadvisorMetrics', 'resourceMetrics', 'slis'] as const),
];

/**
 * A credential of a client. `right` is `*` for all permissions, the name of one permission, or empty for no permission.
 * `undefined` means that the credential is invalid.
 */
interface Credential {
  readonly name: string;
  readonly right: string | undefined;
  readonly agent: Agent;
  readonly token?: string;
}

/** Values of the header `x-number` of all requests that reached an endpoint. */
const reached = new Set<string | undefined>();
const endpoints: Endpoints = Object.fromEntries(
  ENDPOINTS.map((endpoint): [string, Endpoint] => [
    endpoint,
    ({ headers }) => {
      reached.add(headers['x-number']?.toString());
      return text(200, endpoint);
    },
  ]),
);
const reviewer = new FakeReviewer();
const credentials: Credential[] = [];
let unbelieved: readonly KeyPair[] = [];
const ends: (() => Promise<unknown>)[] = [];
let port = 0;

beforeAll(async () => {
  const [pki, other] = await Promise.all([Pki.create(), Pki.create('other-ca')]);
  const [serving, admin, nobody, strange, expired, future, wrongUse] = await Promise.all([
    pki.issue({ subject: '/CN=n1', usage: 'serverAuth' }),
    pki.issue({ subject: '/O=system:masters/CN=kube-apiserver-kubelet-client' }),
    pki.issue({ subject: '/O=people/CN=nobody' }),
    other.issue({ subject: '/O=system:masters/CN=kube-apiserver-kubelet-client' }),
    pki.issue({
      subject: '/O=system:masters/CN=kube-apiserver-kubelet-client',
      from: '20200101000000Z',
      to: '20210101000000Z',
    }),
    pki.issue({
      subject: '/O=system:masters/CN=kube-apiserver-kubelet-client',
      from: '20900101000000Z',
      to: '20910101000000Z',
    }),
    pki.issue({ subject: '/O=system:masters/CN=kube-apiserver-kubelet-client', usage: 'serverAuth' }),
  ]);
  reviewer.rights.add('kube-apiserver-kubelet-client * *');
  for (const right of RIGHTS) {
    reviewer.tokens.set(`token-${right}`, { authenticated: true, user: { username: `user-${right}`, groups: [] } });
    for (const verb of [...Object.values(VERBS), '']) reviewer.rights.add(`user-${right} ${verb} ${right}`);
  }
  reviewer.tokens.set('token-read', { authenticated: true, user: { username: 'reader' } });
  reviewer.rights.add('reader get proxy');
  unbelieved = [future, wrongUse];
  credentials.push(
    { name: 'none', right: undefined, agent: keptConnection() },
    { name: 'of another authority', right: undefined, agent: keptConnection(strange) },
    { name: 'expired', right: undefined, agent: keptConnection(expired) },
    { name: 'a token that nobody knows', right: undefined, agent: keptConnection(), token: 'unknown' },
    { name: 'without rights', right: '', agent: keptConnection(nobody) },
    { name: "the API server's", right: '*', agent: keptConnection(admin) },
    ...RIGHTS.map((right) => ({ name: right, right, agent: keptConnection(), token: `token-${right}` })),
  );
  const authorities = authoritiesOf(new Changing(believing(pki)));
  const server = await startSecured(serving, { reviewer, authorities, endpoints });
  port = server.port;
  ends.push(
    async () => {
      for (const { agent } of credentials) agent.destroy();
      await server.end();
    },
    () => pki[Symbol.asyncDispose](),
    () => other[Symbol.asyncDispose](),
  );
});
afterAll(async () => {
  for (const end of ends) await end();
});

function expectedStatus(path: string, method: string, right: string | undefined): number {
  if (right === undefined) return 401;
  const entry = PATHS.find(([known]) => known === path);
  const [, rights, served] = entry ?? [path, ['proxy'], []];
  if (right !== '*' && !rights.includes(right)) return 403;
  if (entry === undefined) return 400;
  if (NOWHERE.has(path)) return 404;
  return served.includes(method) ? 200 : 405;
}

describe('W1: the access table', () => {
  it('W1: each combination of path, method and credential has the expected result', { timeout: 120_000 }, async () => {
    const wrong: string[] = [];
    let asked = 0;
    const askAll = async ({ name, right, ...client }: Credential): Promise<void> => {
      for (const [path] of PATHS) {
        for (const method of METHODS) {
          const number = `table ${asked++}`;
          const expected = expectedStatus(path, method, right);
          const got = await ask(port, path, client, { method, headers: { 'x-number': number } });
          if (got.status !== expected || reached.has(number) !== (expected === 200) || got.headers.location) {
            wrong.push(`${method} ${path} as ${name}: ${got.status}, expected ${expected}`);
          }
        }
      }
    };
    await Promise.all(credentials.map(askAll));
    expect(wrong).toEqual([]);
    expect(asked).toBe(4320);
  });

  it('W1: access rules also apply to paths with `..`, `//` or escapes that would resolve to another endpoint', {
    timeout: 120_000,
  }, async () => {
    const wrong: string[] = [];
    const askAll = async ({ name, right, ...client }: Credential): Promise<void> => {
      for (const path of [...CROOKED, `/pods/${'a'.repeat(65_536)}`, `/${'../'.repeat(20_000)}`]) {
        const { status } = await ask(port, path, client, { headers: { 'x-number': 'crooked' } });
        // Authorization uses the path as received, as in upstream. A path that begins with /pods, /logs or /metrics
        // therefore needs that permission, and a client with it gets 400 or 404 instead of 403.
        const allowed = right === undefined ? [401] : right === '*' ? [400, 404] : [400, 403, 404];
        if (!allowed.includes(status)) wrong.push(`${path} as ${name}: ${status}`);
      }
    };
    await Promise.all(credentials.map(askAll));
    expect(wrong).toEqual([]);
    expect(reached).not.toContain('crooked');
  });

  it('W3: a client with all permissions gets 404 for a name that contains NUL', async () => {
    const client = credentials.find(({ right }) => right === '*');
    for (const path of ['/logs/a%00b', '/logs/%00', '/containerLogs/ns/p%00/c', '/pods%00']) {
      expect(await ask(port, path, client), path).toMatchObject({ status: 404, body: '404 page not found\n' });
    }
    expect(await ask(port, '/logs/%2e%2e/a', client)).toMatchObject({ status: 400 });
  });

  it('a client certificate that is not yet valid, or is for servers only, authenticates nobody', async () => {
    for (const pair of unbelieved) {
      for (const path of ['/pods', '/exec/ns/p/c']) expect((await ask(port, path, { pair })).status).toBe(401);
    }
  });

  it('the access rules are the same over HTTP/2', async () => {
    for (const [token, expected] of [
      ['token-pods', 200],
      ['token-metrics', 403],
      ['unknown', 401],
      [undefined, 401],
    ] as const) {
      expect((await askHttp2(port, '/pods', token === undefined ? {} : { token })).status).toBe(expected);
    }
  });

  it("a refusal names the missing permission in upstream's words", async () => {
    const client = credentials.find(({ name }) => name === 'without rights');
    expect(await ask(port, '/pods', client)).toMatchObject({
      body: 'Forbidden (user=nobody, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    });
    expect(await ask(port, '/exec/ns/p/c', client, { method: 'POST' })).toMatchObject({
      body: 'Forbidden (user=nobody, verb=create, resource=nodes, subresource(s)=[proxy])\n',
    });
    expect(await ask(port, '/pods')).toMatchObject({ status: 401, body: 'Unauthorized' });
  });

  it('permission to read does not permit exec by POST', async () => {
    const client = { token: 'token-read' };
    expect((await ask(port, '/exec/ns/p/c', client)).status).toBe(200);
    expect((await ask(port, '/exec/ns/p/c', client, { method: 'POST' })).status).toBe(403);
  });
});
