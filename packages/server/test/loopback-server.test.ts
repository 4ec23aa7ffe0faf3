import { request } from 'node:http';
import { captureLogger, type LogLine } from '@node-agent/telemetry/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isSameSecret, localRequestProblem } from '../src/access/local-request.ts';
import { type LoopbackCall, LoopbackServer, ServerError } from '../src/index.ts';

const SECRET = 'a-secret-of-this-test-0123456789-abcdef';
const calls: LoopbackCall[] = [];
let controller: AbortController;
let ended: Promise<void>;
let port = 0;
let lines: readonly LogLine[] = [];

beforeEach(async () => {
  calls.length = 0;
  controller = new AbortController();
  const listening = Promise.withResolvers<number>();
  const answer = (call: LoopbackCall) => {
    calls.push(call);
    if (call.rest[0] === 'throws') throw new Error('no such page');
    if (call.rest[0] === 'invalid') return { status: 200, headers: { Bad: 'a\nb' }, body: '' };
    const headers = { 'Content-Type': 'text/plain' };
    return call.rest[0] === 'stream'
      ? { status: 200, headers, stream: [Buffer.from('one '), Buffer.from('two')] }
      : { status: 200, headers, body: 'the page' };
  };
  const options = {
    port: 0,
    secret: SECRET,
    name: 'dashboard',
    onListening: (got: { port: number }) => listening.resolve(got.port),
  };
  const captured = captureLogger();
  lines = captured.lines;
  ended = new LoopbackServer({ answer, logger: captured.logger }, options).start(controller.signal);
  port = await listening.promise;
});

afterEach(async () => {
  controller.abort();
  await ended;
});

function ask(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<[status: number, body: string]> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers, method, agent: false }, async (response) => {
      let body = '';
      for await (const chunk of response) body += chunk;
      resolve([response.statusCode ?? 0, body]);
    });
    asked.on('error', reject);
    asked.end();
  });
}

describe('LoopbackServer', () => {
  it('the loopback server passes requests below the secret on, with the rest of the path and the query', async () => {
    expect(await ask(`/${SECRET}/events?pod=a%2Fb`)).toEqual([200, 'the page']);
    expect(await ask(`/${SECRET}/stream`)).toEqual([200, 'one two']);
    expect(calls.map(({ rest, path }) => [rest, path])).toEqual([
      [['events'], `/${SECRET}/events`],
      [['stream'], `/${SECRET}/stream`],
    ]);
    expect(calls[0]?.query.get('pod')).toBe('a/b');
  });

  it.each(['/', '/events', `/${SECRET}x/`, `/${SECRET.slice(0, -1)}/`, `//${SECRET}/`, `/${SECRET}/../x`, '/%ff'])(
    'W1: the loopback server answers 404 to the path %s, which is not below the secret',
    async (path) => {
      expect((await ask(path))[0]).toBe(404);
      expect(calls).toEqual([]);
    },
  );

  it.each([
    'attacker.example',
    'attacker.example:80',
    '127.0.0.1.attacker.example',
    'localhost.attacker.example',
    '169.254.1.1',
  ])('W1: rejects the Host %j, which a browser sends after DNS rebinding', async (host) => {
    expect((await ask(`/${SECRET}/`, { host }))[0]).toBe(403);
    expect(calls).toEqual([]);
  });

  it.each(['http://attacker.example', 'null', 'https://127.0.0.1', 'http://127.0.0.1:1'])(
    'W1: rejects the Origin %s of another site',
    async (origin) => {
      expect((await ask(`/${SECRET}/`, { origin }))[0]).toBe(403);
      expect(calls).toEqual([]);
    },
  );

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'])('W1: rejects the method %s', async (method) => {
    expect((await ask(`/${SECRET}/`, {}, method))[0]).toBe(405);
    expect(calls).toEqual([]);
  });

  it('accepts the names of the loopback interface with any port, and an Origin that equals the Host', async () => {
    for (const host of ['localhost:9999', '127.0.0.1', '[::1]:80', 'LOCALHOST']) {
      expect((await ask(`/${SECRET}/`, { host, origin: `http://${host}` }))[0]).toBe(200);
    }
  });

  it.each([
    ['throws', `/${SECRET}/throws/deep?pod=a`],
    ['returns an invalid header', `/${SECRET}/invalid/deep`],
    ['throws for an encoded secret', `/%61${SECRET.slice(1)}/throws/deep`],
  ])('W4: logs the failure of a handler that %s without the secret', async (_what, path) => {
    expect((await ask(path))[0]).toBe(500);
    expect(lines.map(({ level, fields }) => [level, fields.path])).toEqual([
      ['error', expect.stringMatching(/^\/(throws|invalid)\/deep$/)],
    ]);
    expect(JSON.stringify(lines)).not.toContain(SECRET.slice(1));
  });

  it('listens on 127.0.0.1 only, and closes its streams when it stops', async () => {
    const [, body] = await ask(`/${SECRET}/stream`);
    expect(body).toBe('one two');
    const { signal } = calls[0] ?? {};
    controller.abort();
    await ended;
    expect(signal?.aborted).toBe(true);
    await expect(ask(`/${SECRET}/`)).rejects.toThrow(/ECONNREFUSED/);
  });

  it('rejects a secret that is short or not part of a path', () => {
    for (const secret of ['', 'short', `${'x'.repeat(40)}/`]) {
      const make = (): LoopbackServer =>
        new LoopbackServer({ answer: () => ({ status: 200, headers: {}, body: '' }) }, { port: 0, secret, name: 'x' });
      expect(make).toThrow(ServerError);
    }
  });
});

describe('the rules of the loopback port', () => {
  it('a request that is not for localhost, or is from another web site, is refused with the header that is wrong', () => {
    expect(localRequestProblem({})).toMatch(/Host/);
    expect(localRequestProblem({ host: 'localhost', origin: 'http://localhost' })).toBeUndefined();
    expect(localRequestProblem({ host: 'localhost', origin: 'http://localhost:1' })).toMatch(/other web sites/);
  });

  it('compares secrets of different lengths', () => {
    expect([isSameSecret('a', 'a'), isSameSecret('', 'a'), isSameSecret('ab', 'a')]).toEqual([true, false, false]);
  });
});
