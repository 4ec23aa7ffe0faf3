import { RestClient } from '@node-agent/kube-client';
import { captureLogger } from '@node-agent/telemetry/testing';
import { describe, expect, test } from 'vitest';
import { TokenManager } from '../src/token-manager.ts';
import { podTokenQuery, refreshDue, tokenKey } from '../src/token-rules.ts';
import { pod, runToTheEnd, within, world } from './fixtures.ts';

const web = pod('web', { serviceAccountName: 'default' });

function setUp() {
  const given = world();
  given.api.put({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: 'default', name: 'default' } });
  given.api.put({ apiVersion: 'v1', kind: 'Pod', ...web });
  const { logger, lines } = captureLogger();
  const fraction = { value: 0 };
  const client = new RestClient({ transport: given.api, clock: given.clock }, { maxRetries: 0 });
  const tokens = new TokenManager({ ...given.components, client, logger, random: { next: () => fraction.value } });
  const get = (expirationSeconds?: number) =>
    within(
      given.clock,
      0,
      tokens.get(podTokenQuery(web, expirationSeconds === undefined ? {} : { expirationSeconds }), given.signal),
    );
  return { ...given, tokens, get, lines, fraction };
}

type Result = Awaited<ReturnType<ReturnType<typeof setUp>['get']>>;
const tokenOf = (result: Result): string => (result && 'value' in result ? result.value.token : 'none');

describe('a service account token', () => {
  test('a token is bound to its pod and audience, and requested once for all concurrent callers', async () => {
    const { clock, requests, signal, tokens } = setUp();
    const query = podTokenQuery(web, { audience: 'vault', expirationSeconds: 900 });
    const both = [tokens.get(query, signal), tokens.get(query, signal)] as const;
    const first = await within(clock, 0, both[0]);
    expect(tokenOf(await within(clock, 0, both[1]))).toBe(tokenOf(first));
    const claims = JSON.parse(Buffer.from(tokenOf(first).split('.')[1] ?? '', 'base64url').toString());
    expect(claims).toMatchObject({ aud: ['vault'], 'kubernetes.io': { pod: { name: 'web', uid: 'web-uid' } } });
    expect(requests.length).toBe(1);
  });

  test('a token is replaced after 80% of its lifetime and not earlier', async () => {
    const { clock, get, requests } = setUp();
    await get(1000);
    await clock.advance(800_000);
    await get(1000);
    expect(requests.length).toBe(1);
    await clock.advance(1);
    await get(1000);
    expect(requests.length).toBe(2);
  });

  test('a token is replaced in time if the wall clock was set back', async () => {
    const { clock, get, requests } = setUp();
    await get(1000);
    clock.jumpWallClock(-3600_000);
    await clock.advance(800_001);
    await get(1000);
    expect(requests.length).toBe(2);
  });

  test('K3: a token that cannot be replaced is returned while it is valid, and not after it expired', async () => {
    const { api, clock, get, lines } = setUp();
    const first = tokenOf(await get(1000));
    api.refuseConnections();
    await clock.advance(900_000);
    expect(tokenOf(await get(1000))).toBe(first);
    expect(lines.map(({ message }) => message)).toEqual(["Couldn't update token"]);
    await clock.advance(100_001);
    expect(await get(1000)).toMatchObject({
      error: { code: 'TokenUnavailable', message: expect.stringMatching(/expired and refresh failed: /) },
    });
    api.acceptConnections();
    expect(tokenOf(await get(1000))).not.toBe(first);
  });

  test('a token is obtained although the API server learns of its pod later than the node', async () => {
    const { api, clock, requests, signal, tokens } = setUp();
    const late = pod('late', { serviceAccountName: 'default' });
    const asked = within(clock, 200, tokens.get(podTokenQuery(late, {}), signal));
    clock.setTimer(60, () => void api.put({ apiVersion: 'v1', kind: 'Pod', ...late }));
    expect(tokenOf(await asked)).not.toBe('none');
    expect(requests.length).toBe(3);

    const never = tokens.get(podTokenQuery(pod('never', { serviceAccountName: 'default' }), {}), signal);
    expect(await within(clock, 400, never)).toMatchObject({
      error: { code: 'TokenUnavailable', message: 'failed to fetch token: pods "never" not found' },
    });
    expect(requests.length).toBe(8);
  });

  test("a token of a missing service account is an error with the API server's reason", async () => {
    const { clock, signal, tokens } = setUp();
    const query = podTokenQuery(pod('web', { serviceAccountName: 'nobody' }), {});
    expect(await within(clock, 0, tokens.get(query, signal))).toMatchObject({
      error: { message: 'failed to fetch token: serviceaccounts "nobody" not found', cause: { code: 'NotFound' } },
    });
  });

  test('a token is dropped when its pod is deleted, and when the token has expired', async () => {
    const { clock, get, tokens } = setUp();
    runToTheEnd((signal) => tokens.start(signal));
    await get(700);
    await get(1000);
    tokens.deleteForPod('other');
    await clock.advance(720_000);
    await clock.settle();
    expect(tokens.size).toBe(1);
    tokens.deleteForPod('web-uid');
    expect(tokens.size).toBe(0);
  });

  test('W4: no token appears in a log line or an error', async () => {
    const { api, clock, get, lines } = setUp();
    const first = tokenOf(await get(1000));
    api.refuseConnections();
    await clock.advance(900_000);
    await get(1000);
    await clock.advance(200_000);
    const refused = await get(1000);
    expect(lines.length).toBeGreaterThan(0);
    const said = [...lines.map((line) => JSON.stringify(line)), String(refused && 'error' in refused && refused.error)];
    for (const text of said) expect(text).not.toContain(first);
  });
});

const hour = 3_600_000;
test.each([
  ['an hour, at 80%', { lifetimeMs: hour }, 0.8 * hour, 0, false],
  ['an hour, after 80%', { lifetimeMs: hour }, 0.8 * hour + 1, 0, true],
  ['an hour, with jitter', { lifetimeMs: hour }, 0.8 * hour - 9000 + 1, 0.99, true],
  ['an hour, before its jitter', { lifetimeMs: hour }, 0.8 * hour - 9000, 0.99, false],
  ['a week, after a day', { lifetimeMs: 7 * 24 * hour }, 24 * hour + 1, 0, true],
  ['a week, at a day', { lifetimeMs: 7 * 24 * hour }, 24 * hour, 0, false],
  ['a second, after it', { lifetimeMs: 1000 }, 1001, 0, true],
])('a token is due for replacement (lifetime and age: %s): $4', (_what, { lifetimeMs }, ageMs, fraction, due) => {
  const token = { lifetimeMs, expiresAtMs: 5000 + lifetimeMs, obtainedAtMs: 70 };
  expect(refreshDue(token, { wallMs: 5000 + ageMs, monotonicMs: 70 }, fraction)).toBe(due);
  expect(refreshDue(token, { wallMs: 5000, monotonicMs: 70 + ageMs }, fraction)).toBe(due);
});

test('token keys include everything that identifies a token', () => {
  const base = podTokenQuery(web, {});
  const others = [
    base,
    { ...base, namespace: 'other' },
    { ...base, serviceAccountName: 'other' },
    { ...base, serviceAccountUid: 'u' },
    podTokenQuery(web, { audience: 'vault' }),
    podTokenQuery(web, { expirationSeconds: 601 }),
    podTokenQuery(pod('db', { serviceAccountName: 'default' }), {}),
    { ...base, spec: {} },
  ];
  expect(new Set(others.map(tokenKey)).size).toBe(others.length);
  expect(tokenKey(podTokenQuery(web, { expirationSeconds: 3600 }))).toBe(tokenKey(base));
});
