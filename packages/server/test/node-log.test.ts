import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { FakeClock } from '@node-agent/async/testing';
import { nodeFileSystem } from '@node-agent/host';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Call } from '../src/endpoints/call.ts';
import { hostLogEndpoints, journalctl, type NodeJournal } from '../src/index.ts';
import { UNITS_ARGS } from '../src/node-log/journal.ts';

/** A fake journal that knows some units and records the arguments of each call. */
function fakeJournal(units: string, failure?: Error): NodeJournal & { readonly asked: (readonly string[])[] } {
  const asked: (readonly string[])[] = [];
  return {
    asked,
    async *run(args) {
      asked.push(args);
      if (failure) throw failure;
      yield Buffer.from(args === UNITS_ARGS ? units : `journal ${args.slice(3).join(' ')}\n`);
      return 0;
    },
  };
}

function callOf(
  query: string,
  rest: readonly string[] = [],
  headers = {},
  signal = new AbortController().signal,
): Call {
  return {
    ...{ method: 'GET', headers, remoteAddress: '127.0.0.1', signal, user: { name: 'u', groups: [] } },
    takeTime() {},
    body: async () => Buffer.from(''),
    path: '/',
    params: { namespace: '', pod: '', uid: '', container: '', check: '', rest },
    query: new URLSearchParams(query),
  };
}

describe('/logs/', () => {
  let directory = '';

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'node-log-'));
    const files: Record<string, string> = {
      plain: 'plain\n',
      'withsuffix.log': 'with a suffix\n',
      'below/below.log': 'below\n',
      both: 'both\n',
      'both.log': 'never\n',
    };
    await mkdir(join(directory, 'below'));
    for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
    await symlink('/etc/passwd', join(directory, 'leads-out'));
    await symlink('plain', join(directory, 'leads-in'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  async function ask(
    call: Call,
    journal: NodeJournal | undefined = fakeJournal(''),
  ): Promise<{ status: number; body: string; type: string | undefined }> {
    const { logs } = hostLogEndpoints(
      { files: nodeFileSystem, clock: new FakeClock(), ...(journal && { journal }) },
      { directory },
    );
    const answer = await logs?.(call);
    if (answer === undefined) throw new Error('there is no such endpoint');
    const type = answer.headers['Content-Type'];
    if ('body' in answer) return { status: answer.status, body: answer.body, type };
    const chunks: Uint8Array[] = [];
    for await (const chunk of 'bytes' in answer ? [answer.bytes] : answer.stream) chunks.push(chunk);
    const all = Buffer.concat(chunks);
    const isZipped = answer.headers['Content-Encoding'] === 'gzip';
    return { status: answer.status, body: (isZipped ? gunzipSync(all) : all).toString(), type };
  }

  it('queries the journal once for all known services', async () => {
    const journal = fakeJournal('kubelet.service\ncontainerd.service\n');
    const { body, type } = await ask(callOf('query=kubelet&query=containerd&tailLines=5'), journal);
    expect(body).toBe('journal --pager-end --lines=5 --unit=kubelet --unit=containerd\n');
    expect(type).toBe('text/plain;charset=UTF-8');
    expect(journal.asked).toHaveLength(2);
  });

  it('node logs are gzipped if the client accepts gzip', async () => {
    const call = callOf('query=kubelet', [], { 'accept-encoding': 'gzip' });
    expect((await ask(call, fakeJournal('kubelet.service'))).body).toBe('journal --unit=kubelet\n');
  });

  it('a HEAD request of node logs does not run journalctl', async () => {
    for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
      const journal = fakeJournal('kubelet.service');
      const call = { ...callOf('query=kubelet', [], headers), method: 'HEAD' };
      const answer = await hostLogEndpoints({ files: nodeFileSystem, journal }, { directory }).logs?.(call);
      await new Promise((resolve) => setImmediate(resolve));
      expect([answer?.status, journal.asked]).toEqual([200, []]);
    }
  });

  it.each([
    ['plain', 'plain\n'],
    ['withsuffix', 'with a suffix\n'],
    ['below', 'below\n'],
    ['both', 'both\n'],
    ['leads-in', 'plain\n'],
    ['none', '\nlog not found for none\n'],
  ])(
    'W3: a query for the service %s, which the journal does not know, returns %j from the log files',
    async (service, expected) => {
      expect((await ask(callOf(`query=${service}`))).body).toBe(expected);
    },
  );

  it('W3: reads no file outside of the log directory', async () => {
    for (const query of ['query=leads-out', 'query=../etc/passwd', 'query=/../etc/passwd', 'query=below/../../x']) {
      expect((await ask(callOf(query))).body, query).not.toContain('root:');
    }
    expect(await ask(callOf('query=../plain'))).toMatchObject({
      status: 406,
      body: 'query: Invalid value: ["../plain"]: statat ../plain: path escapes from parent\n',
    });
  });

  it('W3: a log name with a NUL byte is reported as not found, without a host path', async () => {
    for (const rest of [['\0'], ['plain\0'], ['below', 'x\0.log']]) {
      expect(await ask(callOf('', rest)), rest.join('/')).toMatchObject({ status: 404, body: '404 page not found\n' });
    }
    expect(await ask(callOf('query=/plain%00'))).toMatchObject({
      status: 406,
      body: 'query: Invalid value: ["/plain\\u0000"]: statat /plain\0: invalid argument\n',
    });
  });

  // Quadratic time in the number of slashes would exceed the test's timeout.
  it('W3: handles a name with very many slashes in linear time', async () => {
    const slashes = '/'.repeat(200_000);
    expect(await ask(callOf(`query=${slashes}plain${slashes}`))).toMatchObject({ status: 200, body: 'plain\n' });
    expect((await ask(callOf(`query=none${slashes}plain`))).status).toBe(406);
  });

  it('serves a named log file, and refuses a missing one', async () => {
    expect(await ask(callOf('query=/plain'))).toMatchObject({ status: 200, body: 'plain\n' });
    expect(await ask(callOf('query=below/below.log'))).toMatchObject({ status: 200, body: 'below\n' });
    expect(await ask(callOf('query=below/'))).toMatchObject({
      status: 200,
      body: expect.stringContaining('below.log'),
    });
    expect(await ask(callOf('query=/none'))).toMatchObject({
      status: 406,
      body: 'query: Invalid value: ["/none"]: statat /none: no such file or directory\n',
    });
  });

  it('rejects journal options for log files', async () => {
    const journal = fakeJournal('kubelet.service');
    expect((await ask(callOf('query=kubelet&query=plain&boot=0'), journal)).body).toBe(
      'journal --unit=kubelet --boot 0\n\noptions present and query resolved to log files for [plain]\ntry without specifying options\n',
    );
  });

  it('serves log files without a journal, and ignores the query if log queries are off', async () => {
    const none = fakeJournal('', Object.assign(new Error('spawn journalctl ENOENT'), { code: 'ENOENT' }));
    expect((await ask(callOf('query=plain'), none)).body).toBe('plain\n');
    const { logs } = hostLogEndpoints({ files: nodeFileSystem }, { directory });
    expect(await logs?.(callOf('query=plain'))).toMatchObject({ body: expect.stringContaining('<pre>') });
  });

  it('W5: terminates a log query that exceeds its time limit', async () => {
    const clock = new FakeClock();
    let ended = false;
    const journal: NodeJournal = {
      async *run(args, signal) {
        if (args === UNITS_ARGS) yield Buffer.from('kubelet.service');
        else {
          yield Buffer.from('first\n');
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
          ended = true;
          return null;
        }
        return 0;
      },
    };
    const answer = await hostLogEndpoints({ files: nodeFileSystem, clock, journal }, { directory }).logs?.(
      callOf('query=kubelet'),
    );
    if (answer === undefined || !('stream' in answer)) throw new Error('there is no stream');
    const reading = (async () => {
      const chunks: string[] = [];
      for await (const chunk of answer.stream) chunks.push(Buffer.from(chunk).toString());
      return chunks;
    })();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await clock.advance(30_000);
    expect(await reading).toEqual(['first\n']);
    expect(ended).toBe(true);
  });

  it('W2: terminates journalctl when its client disconnects, and returns both of its outputs', async () => {
    const program = join(directory, 'fake-journalctl');
    await writeFile(
      program,
      '#!/bin/sh\necho "args: $*"\necho trouble >&2\n[ "$1" = stay ] && exec sleep 60\nexit 3\n',
    );
    await chmod(program, 0o755);
    const journal = journalctl(program);
    const output = journal.run(['a', 'b c'], new AbortController().signal);
    let text = '';
    let next = await output.next();
    for (; !next.done; next = await output.next()) text += Buffer.from(next.value).toString();
    expect(next.value).toBe(3);
    expect(text.split('\n').sort()).toEqual(['', 'args: a b c', 'trouble']);

    const controller = new AbortController();
    const staying = journal.run(['stay'], controller.signal);
    await staying.next();
    controller.abort(new Error('gone'));
    const rest: unknown[] = [];
    for (let last = await staying.next(); ; last = await staying.next()) {
      rest.push(last.value);
      if (last.done) break;
    }
    expect(rest.at(-1)).toBeNull();
    await expect(journalctl('/nowhere/journalctl').run([], new AbortController().signal).next()).rejects.toThrow(
      'ENOENT',
    );
  });
});
