import { connect as connectHttp2 } from 'node:http2';
import { FakeClock } from '@node-agent/async/testing';
import type { Pod } from '@node-agent/pod-spec';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ContainerLogOptions } from '../src/endpoints/log-query.ts';
import { alwaysAllow, type LogComponents, logEndpoints } from '../src/index.ts';
import { podWith, quiet } from './log-pods.ts';
import { type KeyPair, Pki } from './pki.ts';
import { allOf, ask, askHttp2, rawConnection, startSecured } from './secured-fixture.ts';

describe('/containerLogs', () => {
  let pki: Pki;
  let serving: KeyPair;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    pki = await Pki.create();
    serving = await pki.issue({ subject: '/CN=n1', usage: 'serverAuth' });
    return () => pki[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  const running = podWith({ containerID: 'containerd://c1', state: { running: {} } });

  async function start(readLog: LogComponents['readLog'], pod: Pod | undefined = running): Promise<number> {
    const endpoints = logEndpoints({ getPodByName: (_namespace, name) => (name === 'web' ? pod : undefined), readLog });
    const server = await startSecured(serving, { anonymous: true, authorization: alwaysAllow, endpoints });
    ends.push(() => server.end());
    return server.port;
  }

  const PATH = '/containerLogs/default/web/main';

  it("/containerLogs returns the container's output with the requested options", async () => {
    const asked: [string, ContainerLogOptions][] = [];
    const port = await start(async function* (...[id, options]) {
      asked.push([id, options]);
      yield { data: Buffer.from('one\n') };
      yield { data: Buffer.from('two\n') };
    });
    for (const got of [await ask(port, `${PATH}?tailLines=2`), await askHttp2(port, `${PATH}?tailLines=2`)]) {
      expect(got).toMatchObject({ status: 200, body: 'one\ntwo\n' });
      expect(got.headers['content-type']).toBe('text/plain; charset=utf-8');
    }
    expect(asked[0]).toEqual(['containerd://c1', { ...quiet, tailLines: 2 }]);
  });

  it("refuses invalid log requests in upstream's words", async () => {
    const failure = new Error('unable to retrieve container logs for containerd://c1');
    const port = await start(() => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(failure) }) }));
    const refusals = async (path: string): Promise<unknown> => {
      const { status, body } = await ask(port, path);
      return [status, body];
    };
    expect(await refusals(`${PATH}?tailLines=x`)).toEqual([400, '{"message": "Unable to decode query."}']);
    expect(await refusals(`${PATH}?tailLines=-1`)).toEqual([422, '{"message": "Invalid request."}']);
    expect(await refusals('/containerLogs/default/other/main')).toEqual([404, 'pod "other" does not exist']);
    expect(await refusals('/containerLogs/default/web/x')).toEqual([404, 'container "x" not found in pod "web"']);
    expect(await refusals(`${PATH}?previous=true`)).toEqual([
      400,
      'previous terminated container "main" in pod "web" not found',
    ]);
    expect(await refusals(PATH)).toEqual([400, 'unable to retrieve container logs for containerd://c1']);
    expect(await refusals(`${PATH}?follow=true`)).toEqual([
      200,
      'unable to retrieve container logs for containerd://c1\n',
    ]);
  });

  it('a client that follows a log gets the headers immediately, and later the last line and the end', async () => {
    const lines = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const port = await start(async function* () {
      for (const { promise } of lines) yield { data: Buffer.from(await promise) };
    });
    const socket = await rawConnection(port);
    let got = '';
    socket.on('data', (chunk: Buffer) => {
      got += chunk;
    });
    socket.write(`GET ${PATH}?follow=true HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await vi.waitFor(() => expect(got).toMatch(/^HTTP\/1\.1 200 OK/));
    lines[0]?.resolve('first\n');
    await vi.waitFor(() => expect(got).toContain('first'));
    lines[1]?.resolve('last\n');
    await allOf(socket);
    expect(got).toMatch(/last\n\r\n0\r\n\r\n$/);
  });

  it('W2: a client that follows a log and disconnects leaves no open file, with or without output', async () => {
    let open = 0;
    const port = await start(async function* (_id, _options, signal) {
      open++;
      try {
        yield { data: Buffer.from('x') };
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      } finally {
        open--;
      }
    });
    const sockets = await Promise.all(Array.from({ length: 20 }, () => rawConnection(port)));
    for (const socket of sockets) socket.write(`GET ${PATH}?follow=true HTTP/1.1\r\nHost: x\r\n\r\n`);
    await vi.waitFor(() => expect(open).toBe(20));
    for (const socket of sockets) socket.destroy();
    await vi.waitFor(() => expect(open).toBe(0));
  });

  it('a log that fails in the middle closes the connection of its client', async () => {
    const port = await start(async function* () {
      yield { data: Buffer.from('x') };
      throw new Error('lost');
    });
    await expect(ask(port, PATH)).rejects.toThrow();
    await expect(ask(port, `${PATH}?follow=true`)).rejects.toThrow();
  });

  it.each([
    ['HTTP/1.1', undefined],
    ['HTTP/2', ['h2']],
  ])(
    'K4: a client that does not read 1 GB of logs costs only the buffered data, and is disconnected (%s)',
    async (_name, protocols) => {
      const piece = Buffer.alloc(64 * 1024, 'x');
      let given = 0;
      let isOpen = false;
      const clock = new FakeClock();
      const endpoints = logEndpoints({
        getPodByName: () => running,
        async *readLog() {
          isOpen = true;
          try {
            for (; given < 2 ** 30; given += piece.length) yield { data: piece };
          } finally {
            isOpen = false;
          }
        },
      });
      const limits = { stallMs: 600_000 };
      const server = await startSecured(
        serving,
        { anonymous: true, authorization: alwaysAllow, endpoints, clock },
        { limits },
      );
      ends.push(() => server.end());
      const before = process.memoryUsage().rss;
      let isClosed = false;
      let readAgain: () => unknown = () => {};
      if (protocols === undefined) {
        const socket = await rawConnection(server.port);
        socket.once('close', () => {
          isClosed = true;
        });
        socket.write(`GET ${PATH}?follow=true HTTP/1.1\r\nHost: x\r\n\r\n`);
        socket.pause();
        readAgain = () => socket.resume();
        ends.unshift(async () => void socket.destroy());
      } else {
        const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false });
        session.on('error', () => {});
        const stream = session.request({ ':path': `${PATH}?follow=true` });
        stream.on('error', () => {});
        readAgain = () => stream.resume();
        stream.once('close', () => {
          isClosed = true;
        });
        ends.unshift(async () => session.destroy());
      }
      await vi.waitFor(() => expect(isOpen).toBe(true));
      let last = -1;
      await vi.waitFor(
        () => {
          const isStill = given === last;
          last = given;
          expect(isStill).toBe(true);
        },
        { interval: 300, timeout: 10_000 },
      );
      // The limit leaves room for the data that the kernel buffers in the loopback sockets.
      expect(given).toBeLessThan(24 * 2 ** 20);
      expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20);
      expect(isOpen).toBe(true);
      await clock.advance(600_000);
      await vi.waitFor(() => expect(isOpen).toBe(false));
      // When the client resumes reading, its connection is closed.
      readAgain();
      await vi.waitFor(() => expect(isClosed).toBe(true));
    },
  );
});
