import { seededRandom } from '@node-agent/async';
import { describe, expect, test } from 'vitest';
import { type AuditEntry, type RequestFault, seededFaults } from '../src/index.ts';
import { call, listen, MAPS, PODS, pod, types, world } from './support.ts';

const map = (name: string): object => ({ metadata: { name }, data: { a: '1' } });

describe('request faults', () => {
  test('a fault with status 429 has a Retry-After header, and the request is not executed', async () => {
    const { api } = world();
    api.faults.add({ verb: 'create', times: 1, fault: { kind: 'status', code: 429, retryAfterSeconds: 7 } });
    const refused = await call(api, 'POST', MAPS, map('a'));
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '7' } });
    expect(refused.body).toMatchObject({ reason: 'TooManyRequests', details: { retryAfterSeconds: 7 }, code: 429 });
    expect(api.objects('configmaps')).toHaveLength(0);
    expect((await call(api, 'POST', MAPS, map('a'))).status).toBe(201);
  });

  test('a fault with status 500 returns a Status, and a fault with its own body returns this body', async () => {
    const { api } = world();
    api.faults.add({ times: 1, fault: { kind: 'status', code: 500 } });
    api.faults.add({ times: 1, fault: { kind: 'status', code: 502, body: '<html>bad gateway' } });
    expect((await call(api, 'GET', MAPS)).body).toMatchObject({ kind: 'Status', reason: 'InternalError', code: 500 });
    expect(await call(api, 'GET', MAPS)).toMatchObject({ status: 502, text: '<html>bad gateway' });
  });

  test('a fault rule skips the first `skip` matching requests and applies to the next `times` ones only', async () => {
    const { api } = world();
    const struck: RequestFault[] = [];
    api.faults.onFault(({ fault }) => struck.push(fault));
    const fault: RequestFault = { kind: 'status', code: 503 };
    api.faults.add({ verb: ['get', 'patch'], resource: 'pods/status', name: 'web', skip: 1, times: 2, fault });
    api.put({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } });
    api.put({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'db' } });
    const codes: number[] = [];
    for (const path of ['web', 'db/status', 'web/status', 'web/status', 'web/status', 'web/status']) {
      codes.push((await call(api, 'GET', `${PODS}/${path}`)).status);
    }
    expect(codes).toEqual([200, 200, 200, 503, 503, 200]);
    expect(struck).toEqual([fault, fault]);
  });

  test('a removed fault rule no longer applies, and a rule with negative `times` is rejected', async () => {
    const { api } = world();
    const takeBack = api.faults.add({ fault: { kind: 'status', code: 500 } });
    takeBack();
    expect((await call(api, 'GET', MAPS)).status).toBe(200);
    expect(() => api.faults.add({ times: -1, fault: { kind: 'reset' } })).toThrow(TypeError);
  });

  test('a delay fault executes the request after the delay', async () => {
    const { api, clock } = world();
    api.faults.add({ times: 1, fault: { kind: 'delay', delayMs: 500 } });
    const answered = call(api, 'POST', MAPS, map('a'));
    await clock.advance(499);
    expect(api.objects('configmaps')).toHaveLength(0);
    await clock.advance(1);
    expect((await answered).status).toBe(201);
  });

  test('a request with a hang fault ends when its caller aborts or when the connection breaks at the timeout', async () => {
    const { api, clock } = world();
    api.faults.add({ fault: { kind: 'hang', timeoutMs: 1000 } });
    const stopped = new AbortController();
    const left = api.request({ method: 'GET', path: MAPS, headers: {} }, stopped.signal);
    stopped.abort(new Error('enough'));
    await expect(left).rejects.toThrow('enough');
    const waited = expect(call(api, 'GET', MAPS)).rejects.toMatchObject({ code: 'ECONNRESET' });
    await clock.advance(1000);
    await waited;
    expect(clock.pendingTimers).toBe(0);
  });

  test('a request with the fault answerLost is executed, and a request with reset or refuse is not', async () => {
    const { api } = world();
    api.faults.add({ times: 1, fault: { kind: 'reset' } });
    api.faults.add({ times: 1, fault: { kind: 'refuse' } });
    api.faults.add({ times: 1, fault: { kind: 'answerLost' } });
    const lost = { code: 'ECONNRESET' };
    await expect(call(api, 'POST', MAPS, map('a'))).rejects.toMatchObject(lost);
    await expect(call(api, 'POST', MAPS, map('a'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(api.objects('configmaps')).toHaveLength(0);
    await expect(call(api, 'POST', MAPS, map('a'))).rejects.toMatchObject(lost);
    expect(api.objects('configmaps')).toHaveLength(1);
  });

  test('a truncate fault sends half the body and then breaks the connection, or with `clean` ends the response normally', async () => {
    const { api } = world();
    const whole = await call(api, 'GET', MAPS);
    api.faults.add({ times: 1, fault: { kind: 'truncate', clean: true } });
    api.faults.add({ times: 1, fault: { kind: 'truncate' } });
    const half = await api.request({ method: 'GET', path: MAPS, headers: {} });
    const chunks: Uint8Array[] = [];
    for await (const chunk of half.body) chunks.push(chunk);
    expect(whole.text.startsWith(Buffer.concat(chunks).toString())).toBe(true);
    expect(() => JSON.parse(Buffer.concat(chunks).toString())).toThrow(SyntaxError);
    await expect(call(api, 'GET', MAPS)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  test('a stale fault returns a past state and its version, but does not affect deletions', async () => {
    const { api } = world();
    await call(api, 'POST', MAPS, map('a'));
    await call(api, 'POST', MAPS, map('b'));
    api.faults.add({ verb: ['get', 'list'], fault: { kind: 'stale', revisionsBehind: 1 } });
    const list = await call(api, 'GET', `${MAPS}?resourceVersion=0`);
    expect(list.body.items).toHaveLength(1);
    expect(list.body.metadata).toEqual({ resourceVersion: String(api.revision - 1) });
    expect((await call(api, 'GET', `${MAPS}/b`)).status).toBe(404);
    expect((await call(api, 'DELETE', `${MAPS}/b`)).status).toBe(200);
  });

  test('the same seed gives the same faults', async () => {
    const trace = async (seed: number): Promise<unknown[]> => {
      const { api, clock } = world();
      const entries: Pick<AuditEntry, 'status' | 'fault'>[] = [];
      api.onRequest(({ status, fault }) => entries.push({ status, fault }));
      api.faults.useSource(seededFaults(seededRandom(seed), { request: 0.5, maxDelayMs: 100 }));
      for (let i = 0; i < 40; i++) {
        const outcome = call(api, 'GET', MAPS).catch((error: Error) => error);
        await clock.advance(200);
        await outcome;
      }
      return entries;
    };
    const first = await trace(3);
    expect(await trace(3)).toEqual(first);
    expect(await trace(4)).not.toEqual(first);
    expect(new Set(first.map((entry) => (entry as AuditEntry).fault?.kind)).size).toBeGreaterThan(3);
  });
});

describe('watch faults', () => {
  test.each([
    ['cut', { error: expect.objectContaining({ code: 'ECONNRESET' }) }],
    ['end', 'end'],
  ] as const)('the watch fault %s applies after two events', async (kind, expected) => {
    const { api, clock } = world();
    api.faults.add({ fault: { kind: 'watch', watch: { kind, afterEvents: 2 } } });
    const watch = await listen(api, `${MAPS}?watch=true&resourceVersion=${api.revision}`);
    await call(api, 'POST', MAPS, map('a'));
    await clock.settle();
    expect([watch.lines.length, watch.ended()]).toEqual([1, undefined]);
    await call(api, 'POST', MAPS, map('b'));
    await call(api, 'POST', MAPS, map('c'));
    await clock.settle();
    expect([watch.lines.length, watch.ended()]).toEqual([2, expected]);
    expect([api.watchCount, clock.pendingTimers]).toEqual([0, 0]);
  });

  test('a hung watch stays open and sends no more events', async () => {
    const { api, clock } = world();
    api.faults.add({ fault: { kind: 'watch', watch: { kind: 'hang', afterMs: 1000 } } });
    const watch = await listen(api, `${MAPS}?watch=true&resourceVersion=0&allowWatchBookmarks=true`);
    await call(api, 'POST', MAPS, map('a'));
    await clock.advance(1000);
    await call(api, 'POST', MAPS, map('b'));
    await clock.advance(120_000);
    expect([types(watch), watch.ended()]).toEqual([['BOOKMARK', 'ADDED'], undefined]);
    watch.stop();
    await clock.settle();
    expect([api.watchCount, clock.pendingTimers]).toEqual([0, 0]);
  });

  test('an expire fault ends a watch with an ERROR event, and a garble fault breaks the connection after half an event', async () => {
    const { api, clock } = world();
    api.faults.add({ times: 1, fault: { kind: 'watch', watch: { kind: 'expire', afterMs: 10 } } });
    api.faults.add({ times: 1, fault: { kind: 'watch', watch: { kind: 'garble', afterMs: 10 } } });
    const expired = await listen(api, `${MAPS}?watch=true`);
    const garbled = await listen(api, `${MAPS}?watch=true`);
    await clock.advance(10);
    expect(JSON.parse(expired.lines[0] ?? '')).toMatchObject({
      type: 'ERROR',
      object: { code: 410, reason: 'Expired' },
    });
    expect(expired.ended()).toBe('end');
    expect(garbled.lines.join('').endsWith('\n')).toBe(false);
    expect(garbled.ended()).toMatchObject({ error: { code: 'ECONNRESET' } });
  });

  test('a watch fault does not affect other verbs', async () => {
    const { api } = world();
    api.faults.add({ fault: { kind: 'watch', watch: { kind: 'cut' } } });
    expect((await call(api, 'GET', MAPS)).status).toBe(200);
  });
});

describe('the whole server', () => {
  test('while the server refuses connections, requests fail and open watches are cut', async () => {
    const { api, clock } = world();
    const watch = await listen(api, `${PODS}?watch=true`);
    api.refuseConnections();
    await clock.settle();
    expect(watch.ended()).toMatchObject({ error: { code: 'ECONNRESET' } });
    await expect(call(api, 'GET', PODS)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    api.acceptConnections();
    expect((await call(api, 'GET', PODS)).status).toBe(200);
  });

  test('wipe empties the store and resets resource versions', async () => {
    const { api, clock } = world();
    await call(api, 'POST', PODS, pod('web'));
    for (let i = 0; i < 50; i++) await call(api, 'POST', MAPS, map(`m${i}`));
    const before = api.revision;
    const watch = await listen(api, `${PODS}?watch=true&resourceVersion=${before}`);
    api.wipe();
    await clock.settle();
    expect(watch.ended()).toMatchObject({ error: { code: 'ECONNRESET' } });
    expect(api.revision).toBeLessThan(before);
    expect((await call(api, 'GET', PODS)).body.items).toEqual([]);
    expect((await call(api, 'POST', PODS, pod('web'))).status).toBe(201);
    const late = call(api, 'GET', `${PODS}?resourceVersion=${before}`);
    await clock.advance(3000);
    expect((await late).status).toBe(504);
  });

  test('a bookmark is sent every minute to clients that allow bookmarks', async () => {
    const { api, clock } = world();
    const watch = await listen(api, `${PODS}?watch=true&allowWatchBookmarks=true&resourceVersion=${api.revision}`);
    await clock.advance(60_000);
    await clock.advance(60_000);
    expect(types(watch)).toEqual(['BOOKMARK', 'BOOKMARK']);
    api.sendBookmarks();
    await clock.settle();
    expect(types(watch)).toHaveLength(3);
    watch.stop();
  });

  test('a watch without a timeout ends between half an hour and an hour', async () => {
    const { api, clock } = world();
    const watch = await listen(api, `${PODS}?watch=true`);
    await clock.advance(1_799_000);
    expect(watch.ended()).toBeUndefined();
    await clock.advance(1_801_000);
    expect(watch.ended()).toBe('end');
  });
});
