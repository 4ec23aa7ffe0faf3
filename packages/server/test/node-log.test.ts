import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { FakeClock } from '@node-agent/async/testing';
import { nodeFileSystem } from '@node-agent/host';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Call } from '../src/call.ts';
import { directoryPage } from '../src/directory-page.ts';
import { hostLogEndpoints, journalctl, type NodeJournal } from '../src/index.ts';
import { journalArgs, UNITS_ARGS } from '../src/node-log/journal.ts';
import { parseNodeLogQuery } from '../src/node-log/node-log-query.ts';
import { patternProblem } from '../src/node-log/pattern-problem.ts';

const parse = (query: string, hasPath = false) => parseNodeLogQuery(new URLSearchParams(query), hasPath);

describe('a query of logs', () => {
  it.each([
    ['', undefined],
    ['other=1', undefined],
    ['query=kubelet', { services: ['kubelet'], options: {} }],
    ['query=kubelet&query=a@b.c:d_e-f', { services: ['kubelet', 'a@b.c:d_e-f'], options: {} }],
    ['query=+&query=kubelet', { services: ['kubelet'], options: {} }],
    ['query=/foo.log', { services: [], file: '/foo.log', options: {} }],
    ['query=a\\b', { services: [], file: 'a\\b', options: {} }],
    ['query=k&tailLines=0', { services: ['k'], options: { tailLines: 0 } }],
    ['query=k&tailLines=100000', { services: ['k'], options: { tailLines: 100_000 } }],
    ['query=k&tailLines=', { services: ['k'], options: {} }],
    ['query=k&boot=-1&pattern=a.b', { services: ['k'], options: { boot: -1, pattern: 'a.b' } }],
    [
      'query=k&sinceTime=2023-01-04T02:00:00Z&untilTime=2023-01-04T02:00:00%2B00:00',
      { services: ['k'], options: { sinceTime: '2023-01-04T02:00:00Z', untilTime: '2023-01-04T02:00:00+00:00' } },
    ],
  ])('%s is read', (query, expected) => {
    expect(parse(query)).toEqual(expected && { query: expected });
  });

  it.each([
    ['query=', 400, 'query: Invalid value: [""]: may not be empty'],
    ['query=++&query=', 400, 'query: Invalid value: ["  ",""]: may not be empty'],
    ['query=k&sinceTime=yesterday', 400, 'sinceTime: Invalid value: "yesterday": invalid time format'],
    [
      'query=k&untilTime=2023-02-30T00:00:00Z',
      400,
      'untilTime: Invalid value: "2023-02-30T00:00:00Z": invalid time format',
    ],
    [
      'query=k&boot=x&tailLines=1.5',
      400,
      '[boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax, tailLines: Invalid value: "1.5": strconv.Atoi: parsing "1.5": invalid syntax]',
    ],
    ['boot=0', 406, 'query: Required value: cannot be empty with options'],
    ['query=k&query=/f', 406, 'query: Invalid value: "[/f], [k]": cannot specify a file and service'],
    ['query=/a&query=/b', 406, 'query: Invalid value: ["/a","/b"]: cannot specify more than one file'],
    ['query=/a&tailLines=1', 406, 'query: Invalid value: ["/a"]: cannot specify file with options'],
    ['query=k&boot=1', 406, 'boot: Invalid value: 1: must be less than 1'],
    ['query=k&tailLines=-1', 406, 'tailLines: Invalid value: -1: must be between 0 and 100000, inclusive'],
    ['query=k&tailLines=100001', 406, 'tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive'],
    [
      'query=k&sinceTime=2023-02-04T02:00:00Z&untilTime=2023-01-04T02:00:00Z',
      406,
      'untilTime: Invalid value: "2023-01-04T02:00:00Z": must be after `sinceTime`',
    ],
    ['query=k;ls', 406, 'query: Invalid value: "k;ls": input contains unsupported characters'],
    ['query=k%00', 406, 'query: Invalid value: "k\\u0000": input contains unsupported characters'],
    ['query=a&query=b&query=c&query=d&query=e', 406, 'query: Too many: 5: must have at most 4 items'],
    [`query=${'a'.repeat(257)}`, 406, `query: Invalid value: "${'a'.repeat(257)}": length must be less than 256`],
    [
      'query=k&pattern=foo%5C',
      406,
      'pattern: Invalid value: "foo\\\\": error parsing regexp: trailing backslash at end of expression: ``',
    ],
  ])('%s is refused', (query, status, message) => {
    expect(parse(query)).toEqual({ status, message });
  });

  it('has no path beside it', () => {
    expect(parse('query=k', true)).toEqual({ status: 406, message: 'path not allowed in query mode' });
    expect(parse('', true)).toBeUndefined();
  });

  it.each(['a.*b', '(?i)error', '^x{2,3}$', '[[:alpha:]]+', '(?P<name>a)', '\\Ax\\z', '\\pL', 'a|b', '\\Q(\\E', ''])(
    'takes the pattern %s',
    (pattern) => {
      expect(patternProblem(pattern)).toBeUndefined();
    },
  );

  it.each([
    ['(', 'missing closing )'],
    ['a)', 'unexpected )'],
    ['[a', 'missing closing ]'],
    ['*a', 'missing argument to repetition operator'],
    ['(?=a)', 'invalid or unsupported Perl syntax'],
    ['(?<!a)b', 'invalid or unsupported Perl syntax'],
    ['(a)\\1', 'invalid escape sequence'],
    ['[b-a]', 'invalid character class range'],
    ['a'.repeat(1001), 'expression too large'],
  ])('refuses the pattern %s', (pattern, problem) => {
    expect(patternProblem(pattern)).toContain(`error parsing regexp: ${problem}`);
  });

  it('W3: is an answer of its own whatever it says, and no service gets an option of another program', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('kubelet', '-f', '--file=/etc/shadow', '/x', '../y', ' '));
    const members = fc.record({ query: text, boot: text, tailLines: text, pattern: text, sinceTime: text });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), members, (queries, others) => {
        const query = new URLSearchParams(others);
        for (const one of queries) query.append('query', one);
        const parsed = parseNodeLogQuery(query, false);
        if (parsed?.query === undefined) return;
        for (const argument of journalArgs(parsed.query.services, parsed.query.options)) {
          expect(argument).toMatch(
            /^(--(utc|no-pager|output=short-precise|since=|until=|pager-end|lines=\d+$|unit=[\w\-.:@]*$|grep=|boot$)|-?\d+$)/,
          );
        }
      }),
    );
  });
});

describe('arguments of journalctl', () => {
  const basic = ['--utc', '--no-pager', '--output=short-precise'];

  it.each([
    [[], {}, []],
    [['p1', 'p2'], {}, ['--unit=p1', '--unit=p2']],
    [['p1'], { pattern: 'foo' }, ['--unit=p1', '--grep=foo']],
    [['p1'], { boot: -1 }, ['--unit=p1', '--boot', '-1']],
    [['p1'], { tailLines: 100 }, ['--pager-end', '--lines=100', '--unit=p1']],
    [
      ['p1'],
      { sinceTime: '2023-01-04T02:03:04Z', untilTime: '2023-02-04T02:00:00+02:00' },
      ['--since=2023-1-4 02:3:4 UTC', '--until=2023-2-4 00:0:0 UTC', '--unit=p1'],
    ],
  ])('%j %j', (services, options, expected) => {
    expect(journalArgs(services, options)).toEqual([...basic, ...expected]);
  });
});

/** A journal that knows some units, and repeats what it is asked. */
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

  it('asks the journal for what it knows, once for all of them', async () => {
    const journal = fakeJournal('kubelet.service\ncontainerd.service\n');
    const { body, type } = await ask(callOf('query=kubelet&query=containerd&tailLines=5'), journal);
    expect(body).toBe('journal --pager-end --lines=5 --unit=kubelet --unit=containerd\n');
    expect(type).toBe('text/plain;charset=UTF-8');
    expect(journal.asked).toHaveLength(2);
  });

  it('is gzipped for who takes that', async () => {
    const call = callOf('query=kubelet', [], { 'accept-encoding': 'gzip' });
    expect((await ask(call, fakeJournal('kubelet.service'))).body).toBe('journal --unit=kubelet\n');
  });

  it('asks the journal nothing for who wants the head alone', async () => {
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
  ])('W3: looks for a file of what the journal does not know: %s', async (service, expected) => {
    expect((await ask(callOf(`query=${service}`))).body).toBe(expected);
  });

  it('W3: reads nothing outside of its directory', async () => {
    for (const query of ['query=leads-out', 'query=../etc/passwd', 'query=/../etc/passwd', 'query=below/../../x']) {
      expect((await ask(callOf(query))).body, query).not.toContain('root:');
    }
    expect(await ask(callOf('query=../plain'))).toMatchObject({
      status: 406,
      body: 'query: Invalid value: ["../plain"]: statat ../plain: path escapes from parent\n',
    });
  });

  it('W3: a name with a NUL is of nothing that is there, and no path of the host is told', async () => {
    for (const rest of [['\0'], ['plain\0'], ['below', 'x\0.log']]) {
      expect(await ask(callOf('', rest)), rest.join('/')).toMatchObject({ status: 404, body: '404 page not found\n' });
    }
    expect(await ask(callOf('query=/plain%00'))).toMatchObject({
      status: 406,
      body: 'query: Invalid value: ["/plain\\u0000"]: statat /plain\0: invalid argument\n',
    });
  });

  it('gives a file that is named, and refuses one that is not there', async () => {
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

  it('says that options are for the journal alone', async () => {
    const journal = fakeJournal('kubelet.service');
    expect((await ask(callOf('query=kubelet&query=plain&boot=0'), journal)).body).toBe(
      'journal --unit=kubelet --boot 0\n\noptions present and query resolved to log files for [plain]\ntry without specifying options\n',
    );
  });

  it('does without a journal, and looks at no query where queries are off', async () => {
    const none = fakeJournal('', Object.assign(new Error('spawn journalctl ENOENT'), { code: 'ENOENT' }));
    expect((await ask(callOf('query=plain'), none)).body).toBe('plain\n');
    const { logs } = hostLogEndpoints({ files: nodeFileSystem }, { directory });
    expect(await logs?.(callOf('query=plain'))).toMatchObject({ body: expect.stringContaining('<pre>') });
  });

  it('W5: a query that takes too long is ended', async () => {
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

  it('W2: ends journalctl with its client, and gives both of its outputs', async () => {
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

it('a directory is listed as by Go', () => {
  const { body } = directoryPage([
    { name: 'a b&<"\'>.log', kind: 'file' },
    { name: 'c:d', kind: 'file' },
    { name: 'pods', kind: 'directory' },
    { name: "q?#%'()=$@+,;", kind: 'file' },
  ]);
  expect(body).toBe(
    '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n' +
      '<a href="a%20b&%3C%22%27%3E.log">a b&amp;&lt;&#34;&#39;&gt;.log</a>\n' +
      '<a href="./c:d">c:d</a>\n' +
      '<a href="pods/">pods/</a>\n' +
      '<a href="q%3F%23%25%27%28%29=$@+,;">q?#%&#39;()=$@+,;</a>\n</pre>\n',
  );
});
