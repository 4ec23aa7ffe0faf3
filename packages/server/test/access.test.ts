import { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { DetailedPeerCertificate } from 'node:tls';
import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { captureLogger } from '@node-agent/telemetry/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AccessControl } from '../src/access/access-control.ts';
import { bearerToken, protocolsWithoutToken } from '../src/access/bearer-token.ts';
import { type ClientCertificate, clientCertificate, judgeCertificate } from '../src/access/client-certificate.ts';
import { isSubpath, requestAttributes } from '../src/access/request-attributes.ts';
import { ReviewCache } from '../src/access/review-cache.ts';
import { withAuthenticatedGroup } from '../src/access/user.ts';
import { parseRequestPath } from '../src/http/request-path.ts';
import { Authentication, alwaysAllow, WebhookAuthorization } from '../src/index.ts';
import { ConnectionLedger } from '../src/listen/connection-ledger.ts';
import { InFlightLimit } from '../src/listen/in-flight.ts';
import { tlsOptions } from '../src/listen/tls-settings.ts';
import { metricBucket, securedRoute } from '../src/secured-routes.ts';
import { Pki } from './pki.ts';
import { FakeReviewer } from './secured-fixture.ts';

const never = new AbortController().signal;

describe('requestAttributes', () => {
  it.each([
    ['/attach/ns/p/c', ['proxy']],
    ['/checkpoint/ns/p/c', ['checkpoint']],
    ['/configz', ['configz', 'proxy']],
    ['/flagz', ['configz']],
    ['/statusz', ['statusz']],
    ['/containerLogs/ns/p/c', ['proxy']],
    ['/debug/flags/v', ['proxy']],
    ['/debug/pprof/heap', ['proxy']],
    ['/exec/ns/p/u/c', ['proxy']],
    ['/healthz', ['healthz', 'proxy']],
    ['/healthz/syncloop', ['healthz', 'proxy']],
    ['/logs', ['log']],
    ['/logs/', ['log']],
    ['/logs/a', ['log']],
    ['/metrics', ['metrics']],
    ['/metrics/cadvisor', ['metrics']],
    ['/pods', ['pods', 'proxy']],
    ['/pods/', ['pods', 'proxy']],
    ['/podsandmore', ['proxy']],
    ['/runningpods', ['pods', 'proxy']],
    ['/runningpods/', ['pods', 'proxy']],
    ['/stats', ['stats']],
    ['/stats/summary', ['stats']],
    ['/', ['proxy']],
    ['', ['proxy']],
    ['/toString', ['proxy']],
  ])('a GET request of %s needs access to one of the subresources %j', (path, subresources) => {
    expect(requestAttributes(path, 'GET')).toEqual({ verb: 'get', subresources });
  });

  it.each([
    ['POST', 'create'],
    ['GET', 'get'],
    ['PUT', 'update'],
    ['PATCH', 'patch'],
    ['DELETE', 'delete'],
    ['HEAD', ''],
    ['get', ''],
    ['constructor', ''],
  ])('HTTP method %s maps to the verb %j', (method, verb) => {
    expect(requestAttributes('/pods', method).verb).toBe(verb);
  });

  it.each([
    ['foo', 'foo', true],
    ['/foo', '/foo', true],
    ['/foo/', '/foo/', true],
    ['/foo/bar', '/foo/bar', true],
    ['/foo', '/', true],
    ['/foo/bar', '/', true],
    ['/foo/bar', '/foo', true],
    ['/foo', '/bar', false],
    ['/foo', '/foobar', false],
    ['/foobar', '/foo', false],
  ])('the path %j equals the root %j or is below it: %s', (path, root, expected) => {
    expect(isSubpath(path, root)).toBe(expected);
  });
});

describe('parseRequestPath', () => {
  it.each([
    ['/a/b', '/a/b', ['a', 'b']],
    ['/a/b/', '/a/b/', ['a', 'b']],
    ['/', '/', []],
    ['/a%20b/c', '/a b/c', ['a b', 'c']],
    ['/a/..', '/a/..', undefined],
    ['/a/%2e%2E/b', '/a/../b', undefined],
    ['/./a', '/./a', undefined],
    ['//a', '//a', undefined],
    ['/a//b', '/a//b', undefined],
    ['/a%2fb', '/a/b', undefined],
    ['/a%00', '/a\0', undefined],
    ['/%ff', '/%ff', undefined],
    ['a/b', 'a/b', undefined],
    ['*', '*', undefined],
    ['', '', undefined],
  ])('parseRequestPath parses %j into the path %j and the segments %j', (target, path, segments) => {
    expect(parseRequestPath(target)).toMatchObject({ path, segments });
    expect(parseRequestPath(target).segments).toEqual(segments);
  });

  it.each([
    ['/a', '/a', ''],
    ['/a?', '/a', ''],
    ['/a?b=c', '/a', 'b=c'],
    ['/a?b=c?d', '/a', 'b=c%3Fd'],
    ['?b=c', '', 'b=c'],
  ])('request target %s has path %j and query %j', (target, path, query) => {
    const parsed = parseRequestPath(target);
    expect([parsed.path, String(parsed.query)]).toEqual([path, query]);
  });

  it('W3: the path that is served is the path that was authorised', () => {
    const parts = fc.constantFrom('/', '.', '..', '%2e', '%2f', '%00', 'pods', 'exec', '?', '%', 'a', '%25', '\\');
    fc.assert(
      fc.property(
        fc.array(parts).map((all) => `/${all.join('')}`),
        (target) => {
          const { path, segments } = parseRequestPath(target);
          if (segments === undefined) return;
          expect(path.replace(/\/$/, '')).toBe(segments.length === 0 ? '' : `/${segments.join('/')}`);
          for (const segment of segments) expect(['', '.', '..']).not.toContain(segment);
        },
      ),
    );
  });
});

describe('bearerToken', () => {
  const encoded = Buffer.from('secret').toString('base64url');
  const webSocket = (protocols: string) => ({ upgrade: 'websocket', 'sec-websocket-protocol': protocols });
  it.each<readonly [IncomingHttpHeaders, object | undefined]>([
    [{ authorization: 'Bearer secret' }, { token: 'secret' }],
    [{ authorization: ' bearer secret more' }, { token: 'secret' }],
    [{ authorization: 'Bearer  secret' }, undefined],
    [{ authorization: 'Bearer' }, undefined],
    [{ authorization: 'Basic c2VjcmV0' }, undefined],
    [{}, undefined],
    [webSocket(`v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${encoded}`), { token: 'secret' }],
    [webSocket('v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.'), undefined],
    [{ 'sec-websocket-protocol': `x, base64url.bearer.authorization.k8s.io.${encoded}` }, undefined],
    [
      webSocket(`x, ${['a', 'b'].map((token) => `base64url.bearer.authorization.k8s.io.${token}`).join(',')}`),
      { problem: 'several bearer tokens among the WebSocket protocols' },
    ],
    ...['c2Vj!cmV0', Buffer.of(0xff).toString('base64url')].map(
      (bad) =>
        [
          webSocket(`x, base64url.bearer.authorization.k8s.io.${bad}`),
          { problem: 'the bearer token among the WebSocket protocols cannot be decoded' },
        ] as const,
    ),
    ...['', ', ,'].map(
      (rest) =>
        [
          webSocket(`base64url.bearer.authorization.k8s.io.${encoded}${rest}`),
          { problem: 'no WebSocket protocol beside the bearer token' },
        ] as const,
    ),
  ])('the bearer token of a request with the headers %j is %j', (headers, token) => {
    expect(bearerToken(headers)).toEqual(token);
  });

  it.each([
    `base64url.bearer.authorization.k8s.io.${encoded}`,
    'v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.!!',
    'v4.channel.k8s.io, base64url.bearer.authorization.k8s.io._w',
    `x, base64url.bearer.authorization.k8s.io.${encoded}, base64url.bearer.authorization.k8s.io.${encoded}`,
  ])('W1: a request with an unusable token is not anonymous: %s', async (protocols) => {
    const parts = { clock: new FakeClock(), random: seededRandom(1), reviewer: new FakeReviewer() };
    const authentication = new Authentication(parts, { anonymous: true });
    const identity = await authentication.identify({ certificate: undefined, headers: webSocket(protocols) }, never);
    expect(identity).toMatchObject({ problem: expect.any(String) });
    expect(JSON.stringify(identity)).not.toContain(encoded);
  });

  it('W4: the bearer token is removed from the subprotocols that are passed on', () => {
    const headers = webSocket(`v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${encoded}`);
    expect(protocolsWithoutToken(headers)).toEqual(['v5.channel.k8s.io']);
  });
});

describe('judgeCertificate', () => {
  const user = { name: 'someone', groups: [] };
  const good: ClientCertificate = {
    problem: undefined,
    user,
    notBeforeMs: 100,
    notAfterMs: 200,
    fingerprints: ['leaf', 'ca'],
  };
  it.each([
    [good, ['ca'], 150, { user }],
    [{ ...good, problem: 'bad' }, ['ca'], 150, { problem: 'bad' }],
    [good, ['ca'], 99, { problem: 'certificate is not yet valid' }],
    [good, ['ca'], 201, { problem: 'certificate has expired' }],
    [good, ['other'], 150, { problem: 'certificate signed by an authority that is no longer trusted' }],
    [{ ...good, user: undefined }, ['ca'], 150, undefined],
  ])(
    'judgeCertificate of %j with the trusted authorities %j at the time %d returns %j',
    (certificate, authorities, nowMs, verdict) => {
      expect(judgeCertificate(certificate, new Set(authorities), nowMs)).toEqual(verdict);
    },
  );
});

describe('clientCertificate', () => {
  it('checks certificate signatures, not names: a CA sent by the client is not trusted', async () => {
    await using pki = await Pki.create('one-name');
    await using namesake = await Pki.create('one-name');
    const { cert } = await pki.issue({ subject: '/CN=someone' });
    const shown = (ca: string): DetailedPeerCertificate => {
      const of = (pem: string): DetailedPeerCertificate =>
        new X509Certificate(pem).toLegacyObject() as DetailedPeerCertificate;
      return { ...of(cert), issuerCertificate: of(ca) };
    };
    expect(clientCertificate(shown(pki.ca), undefined).fingerprints).toContain(pki.fingerprint);
    const forged = clientCertificate(shown(namesake.ca), undefined);
    expect(forged.fingerprints).not.toContain(namesake.fingerprint);
    expect(forged.user?.name).toBe('someone');
    const verdict = judgeCertificate(forged, new Set([namesake.fingerprint]), Date.now() + 60_000);
    expect(verdict).toEqual({ problem: 'certificate signed by an authority that is no longer trusted' });
  });
});

describe('withAuthenticatedGroup', () => {
  it('adds the group system:authenticated once to authenticated users', () => {
    expect(withAuthenticatedGroup({ name: 'a', groups: ['b'] }).groups).toEqual(['b', 'system:authenticated']);
    for (const user of [
      { name: 'system:anonymous', groups: [] },
      { name: 'a', groups: ['system:authenticated'] },
      { name: 'a', groups: ['system:unauthenticated'] },
    ]) {
      expect(withAuthenticatedGroup(user)).toEqual(user);
    }
  });
});

describe('securedRoute', () => {
  const route = (method: string, segments: readonly string[]) =>
    securedRoute(method, segments, (name) => name !== 'flagz');

  it('securedRoute finds the endpoint and the path parameters of a request, or the status of its rejection', () => {
    expect(route('POST', ['exec', 'ns', 'p', 'u', 'c'])).toMatchObject({
      endpoint: 'exec',
      params: { namespace: 'ns', pod: 'p', uid: 'u', container: 'c' },
    });
    expect(route('GET', ['logs', 'a', 'b'])).toMatchObject({ endpoint: 'logs', params: { rest: ['a', 'b'] } });
    expect(route('GET', ['logs'])).toMatchObject({ endpoint: 'logs', params: { rest: [] } });
    expect(route('GET', ['run', 'ns', 'p', 'c'])).toEqual({ status: 405, allow: ['POST'] });
    expect(route('GET', ['exec', 'ns', 'p'])).toEqual({ status: 404 });
    expect(route('GET', ['healthz', 'a', 'b'])).toEqual({ status: 404 });
    expect(route('PUT', ['flagz'])).toEqual({ status: 404 });
  });

  it('unknown paths share the metrics label `other`, so that clients cannot create labels', () => {
    expect(metricBucket(['exec', 'ns'])).toBe('exec');
    expect(metricBucket(['metrics', 'probes'])).toBe('metrics/probes');
    for (const segments of [['metrics', 'x'], ['x'], [], undefined, ['toString']]) {
      expect(metricBucket(segments)).toBe('other');
    }
  });
});

describe('tlsOptions', () => {
  it('converts the TLS configuration to options of the TLS library', () => {
    expect(tlsOptions({})).toEqual({ minVersion: 'TLSv1.2' });
    const set = tlsOptions({
      cipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'],
      minVersion: 'VersionTLS13',
      curvePreferences: [29, 23],
    });
    expect(set).toEqual({
      minVersion: 'TLSv1.3',
      ciphers: 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-RSA-AES128-GCM-SHA256',
      ecdhCurve: 'X25519:P-256',
    });
  });
});

describe('ReviewCache', () => {
  const make = (options: { ttlMs?: number; maxAnswers?: number; concurrency?: number; maxWaiting?: number } = {}) => {
    const clock = new FakeClock();
    const { ttlMs = 1000, ...more } = options;
    return {
      clock,
      cache: new ReviewCache<string>({ clock, random: seededRandom(1) }, { ttlMs: () => ttlMs, ...more }),
    };
  };

  it('ReviewCache sends one review per key until its cached result expires', async () => {
    const { clock, cache } = make();
    let asked = 0;
    const review = async () => `answer ${++asked}`;
    expect(await cache.ask('a', review, never)).toBe('answer 1');
    await clock.advance(999);
    expect(await cache.ask('a', review, never)).toBe('answer 1');
    await clock.advance(1);
    expect(await cache.ask('a', review, never)).toBe('answer 2');
  });

  it('ReviewCache does not keep a result whose lifetime is 0', async () => {
    const { cache } = make({ ttlMs: 0 });
    await cache.ask('a', async () => 'x', never);
    expect(cache.size).toBe(0);
  });

  it('sends one review for concurrent equal requests, and aborts the review when all callers have aborted', async () => {
    const { cache } = make();
    let asked = 0;
    let given: AbortSignal | undefined;
    const review = (signal: AbortSignal): Promise<string> => {
      asked++;
      given = signal;
      return new Promise(() => {});
    };
    const [first, second] = [new AbortController(), new AbortController()];
    const answers = [cache.ask('a', review, first.signal), cache.ask('a', review, second.signal)];
    first.abort(new Error('gone'));
    await expect(answers[0]).rejects.toThrow('gone');
    expect([asked, given?.aborted]).toEqual([1, false]);
    second.abort(new Error('gone too'));
    await expect(answers[1]).rejects.toThrow('gone too');
    expect(given?.aborted).toBe(true);
  });

  it('retries a review if the connection to the API server fails, but not if the API server rejects the review', async () => {
    const { clock, cache } = make();
    const failure = (code: string): Error => Object.assign(new Error(code), { code });
    let asked = 0;
    const away = async (): Promise<string> => {
      if (++asked < 5) throw failure('ConnectionFailed');
      return 'there again';
    };
    const answer = cache.ask('a', away, never);
    await clock.advance(10_000);
    expect(await answer).toBe('there again');
    asked = 0;
    const forbidden = async (): Promise<string> => {
      asked++;
      throw failure('Forbidden');
    };
    await expect(cache.ask('b', forbidden, never)).rejects.toThrow('Forbidden');
    expect(asked).toBe(1);
  });

  it('fails a review for which the API server has no result within 30 s', async () => {
    const { clock, cache } = make();
    const answer = cache.ask('a', () => new Promise(() => {}), never);
    const failed = expect(answer).rejects.toThrow('timed out after 30000 ms');
    await clock.advance(30_000);
    await failed;
    expect(clock.pendingTimers).toBe(0);
  });

  it('K4: limits the number of cached results and of waiting reviews', async () => {
    const { cache } = make({ maxAnswers: 3, concurrency: 1, maxWaiting: 2 });
    for (const key of ['a', 'b', 'c', 'd']) await cache.ask(key, async () => key, never);
    expect(cache.size).toBe(3);
    const hanging = () => new Promise<string>(() => {});
    const controller = new AbortController();
    const waiting = ['1', '2', '3'].map((key) => cache.ask(key, hanging, controller.signal));
    for (const each of waiting) each.catch(() => {});
    await expect(cache.ask('4', hanging, never)).rejects.toMatchObject({ code: 'TooManyReviews' });
    controller.abort(new Error('over'));
    await Promise.allSettled(waiting);
    expect(await cache.ask('4', async () => 'again', never)).toBe('again');
  });
});

describe('ReviewCache: callers', () => {
  it('K4: limits the number of callers that wait for one review', async () => {
    const clock = new FakeClock();
    const options = { ttlMs: () => 1000, maxCallers: 2 };
    const cache = new ReviewCache<string>({ clock, random: seededRandom(1) }, options);
    await cache.ask('known', async () => 'known', never);
    const controller = new AbortController();
    const hanging = () => new Promise<string>(() => {});
    const waiting = [1, 2].map(() => cache.ask('a', hanging, controller.signal));
    for (const each of waiting) each.catch(() => {});
    await expect(cache.ask('a', hanging, AbortSignal.abort(new Error('waits')))).rejects.toMatchObject({
      code: 'TooManyReviews',
    });
    expect(await cache.ask('known', hanging, never)).toBe('known');
    controller.abort(new Error('over'));
    await Promise.allSettled(waiting);
    expect(await cache.ask('a', async () => 'again', never)).toBe('again');
  });
});

describe('authentication and authorisation', () => {
  it('while the API server is down, requests are decided by cached reviews until these expire', async () => {
    const clock = new FakeClock();
    const reviewer = new FakeReviewer();
    reviewer.tokens.set('t', { authenticated: true, user: { username: 'u', groups: ['g'] } });
    reviewer.rights.add('u get pods');
    const parts = { clock, random: seededRandom(1), reviewer };
    const authentication = new Authentication(parts, { tokenTtlMs: 60_000 });
    const options = { nodeName: 'n1', allowedTtlMs: 120_000, deniedTtlMs: 30_000 };
    const authorization = new WebhookAuthorization(parts, options);
    const shown = { certificate: undefined, headers: { authorization: 'Bearer t' } };
    const user = { name: 'u', groups: ['g', 'system:authenticated'] };
    expect(await authentication.identify(shown, never)).toEqual({ user });
    expect(await authorization.allows(user, 'get', 'pods', never)).toBe(true);
    expect(await authorization.allows(user, 'get', 'log', never)).toBe(false);

    reviewer.failure = Object.assign(new Error('away'), { code: 'Forbidden' });
    await clock.advance(29_999);
    expect(await authorization.allows(user, 'get', 'log', never)).toBe(false);
    await clock.advance(30_000);
    await expect(authorization.allows(user, 'get', 'log', never)).rejects.toThrow('away');
    expect(await authentication.identify(shown, never)).toEqual({ user });
    await clock.advance(1);
    expect(await authentication.identify(shown, never)).toEqual({ problem: 'bearer token: away' });
    expect(await authorization.allows(user, 'get', 'pods', never)).toBe(true);
    await clock.advance(60_000);
    await expect(authorization.allows(user, 'get', 'pods', never)).rejects.toThrow('away');
  });

  it('a failed token review is not cached: the next request with the token is reviewed again', async () => {
    const clock = new FakeClock();
    const reviewer = new FakeReviewer();
    const authentication = new Authentication({ clock, random: seededRandom(1), reviewer }, { tokenTtlMs: 60_000 });
    const shown = { certificate: undefined, headers: { authorization: 'Bearer t' } };
    reviewer.tokens.set('t', { authenticated: false, error: 'the store of tokens is away' });
    expect(await authentication.identify(shown, never)).toHaveProperty('problem');
    reviewer.tokens.set('t', { authenticated: false });
    expect(await authentication.identify(shown, never)).toEqual({ problem: 'invalid bearer token' });
    reviewer.tokens.set('t', { authenticated: true, user: { username: 'u' } });
    // The answer that a token is invalid is cached.
    expect(await authentication.identify(shown, never)).toEqual({ problem: 'invalid bearer token' });
    await clock.advance(60_001);
    expect(await authentication.identify(shown, never)).toMatchObject({ user: { name: 'u' } });
  });

  it('a request with an invalid token is not anonymous', async () => {
    const parts = { clock: new FakeClock(), random: seededRandom(1), reviewer: new FakeReviewer() };
    const authentication = new Authentication(parts, { anonymous: true });
    const identify = (headers: { authorization?: string }) =>
      authentication.identify({ certificate: undefined, headers }, never);
    expect(await identify({})).toEqual({ user: { name: 'system:anonymous', groups: ['system:unauthenticated'] } });
    expect(await identify({ authorization: 'Bearer x' })).toEqual({ problem: 'invalid bearer token' });
  });

  it('an invalid client certificate does not prevent authentication by a valid token', async () => {
    const reviewer = new FakeReviewer();
    reviewer.tokens.set('t', { authenticated: true, user: { username: 'u' } });
    const parts = { clock: new FakeClock(), random: seededRandom(1), reviewer };
    const authentication = new Authentication({ ...parts, authorities: { fingerprints: new Set() } });
    const certificate = { problem: 'bad', user: undefined, notBeforeMs: 0, notAfterMs: 1, fingerprints: [] };
    const shown = { certificate, headers: { authorization: 'Bearer t' } };
    expect(await authentication.identify(shown, never)).toMatchObject({ user: { name: 'u' } });
    expect(await authentication.identify({ ...shown, headers: {} }, never)).toEqual({
      problem: 'client certificate: bad',
    });
  });

  it('W1: a failed authentication refuses the request, and its reason appears only in the log', async () => {
    const { logger, lines } = captureLogger();
    const identify = async (): Promise<never> => {
      throw new Error('no route to the token store 10.0.0.7');
    };
    const access = new AccessControl({ authentication: { identify }, authorization: alwaysAllow, logger });
    const { refusal } = (await access.admit({ certificate: undefined, headers: {} }, 'GET', '/pods', never)) as {
      refusal: { status: number; body: string };
    };
    expect([refusal.status, refusal.body]).toEqual([401, 'Unauthorized']);
    expect(lines).toMatchObject([{ level: 'error', message: 'Unable to authenticate the request due to an error' }]);

    const gone = AbortSignal.abort(new Error('the client has gone'));
    const admitting = access.admit({ certificate: undefined, headers: {} }, 'GET', '/pods', gone);
    await expect(admitting).rejects.toThrow('the client has gone');
  });

  it('logs a refusal of credentials once per cause, and after ten minutes again with the number of requests', async () => {
    const { logger, lines } = captureLogger();
    const clock = new FakeClock();
    let problem = 'client certificate: unable to get local issuer certificate';
    const identify = async () => ({ problem });
    const access = new AccessControl({ authentication: { identify }, authorization: alwaysAllow, clock, logger });
    const token = { certificate: undefined, headers: { authorization: 'Bearer hunter2' } };
    const ask = () => access.admit(token, 'GET', '/pods', never);
    const warnings = () => lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
    for (let i = 0; i < 5; i++) await ask();
    const first = { problem, method: 'GET', requests: 1 };
    expect(warnings()).toEqual([first]);
    problem = 'invalid bearer token';
    await ask();
    expect(warnings()).toEqual([first, { problem, method: 'GET', requests: 1 }]);
    problem = first.problem;
    await clock.advance(599_999);
    await ask();
    expect(warnings()).toHaveLength(2);
    await clock.advance(1);
    await ask();
    expect(warnings().at(-1)).toEqual({ ...first, requests: 6 });
    const logged = lines.find(({ level }) => level === 'warn');
    expect(logged?.message).toBe('Unable to authenticate the request due to an error');
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });

  it('logs at most 16 causes of refusal in ten minutes, however many a client invents', async () => {
    const { logger, lines } = captureLogger();
    const clock = new FakeClock();
    let count = 0;
    const identify = async () => ({ problem: `invalid bearer token: ${count++}` });
    const access = new AccessControl({ authentication: { identify }, authorization: alwaysAllow, clock, logger });
    const token = { certificate: undefined, headers: { authorization: 'Bearer t' } };
    const warnings = () => lines.filter(({ level }) => level === 'warn').length;
    for (let i = 0; i < 100; i++) await access.admit(token, 'GET', '/pods', never);
    expect(warnings()).toBe(16);
    await clock.advance(600_000);
    for (let i = 0; i < 100; i++) await access.admit(token, 'GET', '/pods', never);
    expect(warnings()).toBe(32);
  });

  it('does not warn of a request without credentials', async () => {
    const { logger, lines } = captureLogger();
    const identify = async () => ({ problem: 'no credentials' });
    const access = new AccessControl({ authentication: { identify }, authorization: alwaysAllow, logger });
    const basic = { certificate: undefined, headers: { authorization: 'Basic eDp5' } };
    for (const shown of [{ certificate: undefined, headers: {} }, basic]) await access.admit(shown, 'GET', '/', never);
    expect(lines.filter(({ level }) => level !== 'debug')).toEqual([]);
  });

  it.each(['no', 1, {}, undefined, null])('W1: the review answer %j does not allow a request', async (word) => {
    const identify = async () => ({ user: { name: 'u', groups: [] } });
    const authorization = { allows: async () => word as boolean };
    const access = new AccessControl({ authentication: { identify }, authorization });
    const admission = await access.admit({ certificate: undefined, headers: {} }, 'GET', '/pods', never);
    expect(admission).toMatchObject({ refusal: { status: 403 } });
    const reviewer = { reviewAccess: async () => ({ allowed: word as boolean }) };
    const webhook = new WebhookAuthorization({ reviewer }, { nodeName: 'n1' });
    expect(await webhook.allows({ name: 'u', groups: [] }, 'get', 'pods', never)).toBe(false);
  });

  it('refuses construction if no client could be authenticated', () => {
    const parts = { clock: new FakeClock(), random: seededRandom(1) };
    expect(() => new Authentication(parts)).toThrow('no authentication method configured');
  });

  it('WebhookAuthorization needs neither a clock nor a random source from its caller', async () => {
    const authorization = new WebhookAuthorization(
      { reviewer: { reviewAccess: async () => ({ allowed: true }) } },
      { nodeName: 'n1' },
    );
    expect(await authorization.allows({ name: 'u', groups: [] }, 'get', 'pods', never)).toBe(true);
  });

  it('a review that both allows and denies is invalid', async () => {
    const reviewer = { reviewAccess: async () => ({ allowed: true, denied: true }) };
    const parts = { clock: new FakeClock(), random: seededRandom(1), reviewer };
    const authorization = new WebhookAuthorization(parts, { nodeName: 'n1' });
    await expect(authorization.allows({ name: 'u', groups: [] }, 'get', 'pods', never)).rejects.toThrow(
      'returned both allow and deny',
    );
  });
});

describe('connection and request limits', () => {
  const opened = (ledger: ConnectionLedger, key: string, closed: string[]): void => {
    ledger.opened(key, { destroy: () => closed.push(key) });
  };

  it('a flood of unauthenticated connections closes the oldest of them, and no authenticated connection', () => {
    const ledger = new ConnectionLedger(2);
    const closed: string[] = [];
    opened(ledger, 'known', closed);
    ledger.trusted('known');
    for (const key of ['a', 'b', 'c', 'd']) opened(ledger, key, closed);
    expect([closed, ledger.strangers]).toEqual([['a', 'b'], 2]);
  });

  it('at shutdown, idle connections are closed immediately, and busy ones when their requests are done', () => {
    const ledger = new ConnectionLedger(9);
    const closed: string[] = [];
    for (const key of ['idle', 'busy', 'session']) opened(ledger, key, closed);
    ledger.setEnds('session', { destroy: () => closed.push('destroyed'), close: () => closed.push('session') });
    const [first, second] = [ledger.begin('busy'), ledger.begin('busy')];
    ledger.end();
    expect(closed).toEqual(['idle', 'session']);
    first[Symbol.dispose]();
    expect(closed).toHaveLength(2);
    second[Symbol.dispose]();
    expect(closed).toEqual(['idle', 'session', 'busy']);
    for (const key of closed) ledger.closed(key);
    expect([ledger.size, ledger.strangers]).toEqual([0, 0]);
  });

  it('the limit of concurrent requests applies to each client separately', () => {
    const limit = new InFlightLimit(1);
    const first = limit.enter('a');
    expect(limit.enter('a')).toBeUndefined();
    expect(limit.enter('b')).toBeDefined();
    first?.[Symbol.dispose]();
    first?.[Symbol.dispose]();
    expect(limit.enter('a')).toBeDefined();
    expect(limit.clients).toBe(2);
  });
});
