import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from '@node-agent/yaml';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { printableYaml } from '../src/printable-yaml.ts';
import { renderTable } from '../src/table.ts';
import { FakeKubelet, pod, type Ran } from './fake-kubelet.ts';

/** Matches characters that draw on a terminal, except those of a document's layout. */
const DRAWS = /[^\P{Cc}\n\t]|\p{Cf}|[\u2028\u2029]/u;
const CLEAR = '\x1b[2J';

let kubelet: FakeKubelet;
beforeEach(async () => {
  kubelet = await FakeKubelet.start();
});
afterEach(() => kubelet.stop());

/** Runs nodectl against a server whose responses the test writes. */
async function runAgainst(answer: RequestListener, ...argv: readonly string[]): Promise<Ran> {
  const directory = await mkdtemp(join(tmpdir(), 'ctl-'));
  const socket = join(directory, 's');
  const server = createServer(answer).listen(socket);
  await new Promise((resolve) => server.once('listening', resolve));
  try {
    return await kubelet.runWith(['--socket', socket], argv);
  } finally {
    server.closeAllConnections();
    server.close();
    await rm(directory, { recursive: true });
  }
}

describe('nodectl with a response that does not end', () => {
  it.each([200, 500])(
    'nodectl ends after --request-timeout with exit code 4 if a response has no end, also if its status is %d',
    async (status) => {
      const start = (_: unknown, response: Parameters<RequestListener>[1]): void => {
        response.writeHead(status).write('{');
      };
      expect(await runAgainst(start, 'pods', '--request-timeout', '0.2')).toEqual({
        ...{ code: 4, out: '' },
        err: expect.stringMatching(
          /^nodectl: cannot reach the kubelet at \S+: no complete answer to \/pods in 0\.2 s\n$/,
        ),
      });
    },
  );

  it('a log may be received for longer than --request-timeout', async () => {
    const log: RequestListener = ({ url }, response) => {
      if (url === '/pods') return void response.end(JSON.stringify({ items: [pod('web')] }));
      response.writeHead(200).write('first\n');
      setTimeout(() => response.end('second\n'), 400);
    };
    expect(await runAgainst(log, 'logs', 'web', '--request-timeout', '0.2')).toEqual({
      ...{ code: 0, out: 'first\nsecond\n', err: '' },
    });
  });
});

describe('nodectl with a connection that is lost during a response', () => {
  const cut = (response: Parameters<RequestListener>[1], text: string): void => {
    response.writeHead(200, { 'content-length': 100 }).write(text);
    setTimeout(() => response.destroy(), 20);
  };

  it('if the connection is lost during a list, nodectl prints one line and exits with code 4', async () => {
    expect(await runAgainst((_, response) => cut(response, '{'), 'pods')).toEqual({
      ...{ code: 4, out: '' },
      err: expect.stringMatching(/^nodectl: cannot reach .*: the connection was lost before the end of the answer\n$/),
    });
  });

  it('if the connection is lost during a log, nodectl prints the part that arrived and one line, and exits with code 4', async () => {
    const log: RequestListener = ({ url }, response) => {
      if (url === '/pods') response.end(JSON.stringify({ items: [pod('web')] }));
      else cut(response, 'part\n');
    };
    expect(await runAgainst(log, 'logs', 'web')).toEqual({
      ...{ code: 4, out: 'part\n' },
      err: expect.stringMatching(
        /: the connection was lost during the answer to \/containerLogs\/default\/web-n1\/main\n$/,
      ),
    });
  });
});

describe('nodectl with a response without the fields of its kind', () => {
  it.each<[path: string, body: object, argv: readonly string[]]>([
    ['/debug/events', {}, ['events']],
    ['/debug/events', { items: [{}] }, ['events']],
    ['/debug/images', {}, ['images']],
    ['/debug/images', { images: [{}] }, ['images']],
    ['/debug/node', {}, ['node']],
    ['/stats/summary', {}, ['top']],
    ['/pods', { items: [{ metadata: { name: 'p' }, spec: { containers: [null] } }] }, ['pods', '-o', 'wide']],
  ])(
    'for a response without the fields of its kind, nodectl prints one line and exits with code 1: %s with %j',
    async (path, body, argv) => {
      kubelet.answers.set(path, { body });
      expect(await kubelet.run(...argv)).toEqual({
        ...{ code: 1, out: '' },
        err: expect.stringMatching(/^nodectl: unexpected answer from the kubelet: .+\n$/),
      });
    },
  );

  it("a malformed response to nodectl exec gives exit code 125, because all other exit codes can be the command's", async () => {
    kubelet.answers.set('/pods', { body: { items: [{ metadata: { name: 'p' }, spec: { containers: [null] } }] } });
    expect(await kubelet.run('exec', 'p', '--', 'x')).toMatchObject({
      ...{ code: 125, err: expect.stringMatching(/^nodectl: unexpected answer from the kubelet: .+\n$/) },
    });
  });

  it('a response without the expected fields does not end nodectl pods -w after a first list', async () => {
    let rounds = 0;
    kubelet.answers.set('/pods', () => {
      if (++rounds === 3) kubelet.ending.abort();
      return { body: { items: [rounds === 1 ? pod('web') : pod('web', { spec: { containers: [null] } })] } };
    });
    const { code, err } = await kubelet.run('pods', '-w', '--interval', '0.1');
    expect([code, rounds]).toEqual([130, 3]);
    expect(err).toMatch(/^nodectl: unexpected answer from the kubelet: .+\n$/);
  });

  it('nodectl shows a quantity that is a number, and a resource called __proto__', async () => {
    kubelet.answers.set('/debug/node', {
      body: '{"metadata":{"name":7},"status":{"capacity":{"__proto__":"1","cpu":4},"allocatable":{"cpu":3}}}',
    });
    const { code, out } = await kubelet.run('node');
    expect(code).toBe(0);
    expect(out).toMatch(/^Name: +7\n/);
    expect(out).toMatch(/^__proto__ +1 +-\ncpu +4 +3\n/m);
  });
});

describe('renderTable', () => {
  it('renderTable renders a table of 200,000 rows', () => {
    const rows = Array.from({ length: 200_000 }, () => ['name', 'x']);
    expect(renderTable(['A', 'B'], rows)).toHaveLength('A      B\n'.length + rows.length * 'name   x\n'.length);
  });
});

describe('characters that draw on a terminal', () => {
  it('terminal control characters are escaped in the line of pods -w about a removed pod', async () => {
    let rounds = 0;
    kubelet.answers.set('/pods', () => {
      if (++rounds === 3) kubelet.ending.abort();
      return { body: { items: rounds === 1 ? [pod('web', { metadata: { name: `evil${CLEAR}\n\x07` } })] : [] } };
    });
    const { out } = await kubelet.run('pods', '-w', '--interval', '0.1');
    expect(out).toContain('default/evil\\x1b[2J\\n\\x07 is gone\n');
    expect(out).not.toMatch(DRAWS);
  });

  it('terminal control characters are replaced in the message of a failure after which pods -w continues', async () => {
    let rounds = 0;
    kubelet.answers.set('/pods', () => {
      if (++rounds === 3) kubelet.ending.abort();
      return rounds === 1 ? { body: { items: [] } } : { status: 500, body: `bad${CLEAR}\x1b]0;owned\x07` };
    });
    expect((await kubelet.run('pods', '-w', '--interval', '0.1')).err).toBe(
      'nodectl: bad\uFFFD[2J\uFFFD]0;owned\uFFFD\n',
    );
  });

  it('control characters and line breaks are escaped in notes and problems, so that a name cannot add a line', async () => {
    const containers = ['a\nnodectl: fine', 'b'].map((name) => ({ name }));
    const note = 'Defaulted to container a\\nnodectl: fine; the pod has a\\nnodectl: fine, b\n';
    kubelet.pods(pod('web', { spec: { containers } }));
    kubelet.answers.set('/containerLogs/default/web-n1/a%0Anodectl%3A%20fine', { body: '' });
    expect((await kubelet.run('logs', 'web')).err).toBe(note);
    expect((await kubelet.run('logs', 'web', '-c', 'c')).err).toBe(
      'nodectl: the pod web-n1 has no container c; it has a\\nnodectl: fine, b\n',
    );
    kubelet.answers.set('/exec/default/web-n1/a%0Anodectl%3A%20fine?output=1&error=1&command=x', {
      ...{ status: 500, body: 'no' },
    });
    expect((await kubelet.run('exec', 'web', '--', 'x')).err).toBe(`${note}nodectl: no\n`);
    const conditions = [{ type: 'Ready', status: 'False', message: `a\nnodectl: fine${CLEAR}` }];
    kubelet.answers.set('/debug/node', { body: { metadata: { name: 'n1' }, status: { conditions } } });
    expect((await kubelet.run('node', '--check')).err).toBe('nodectl: not Ready: a\\nnodectl: fine\\x1b[2J\n');
  });

  it('terminal control characters are escaped in the names and values of -o yaml', async () => {
    const annotations = {
      'key\u202E\x1b': 'a\u009Bb',
      next: 'a\u0085b',
      line: 'a\u2028b\u2029',
      tag: '\u{E0041}',
      cr: 'a\rb',
    };
    kubelet.pods(pod('web', { metadata: { annotations } }));
    const { out } = await kubelet.run('pods', '-o', 'yaml');
    expect(out).not.toMatch(DRAWS);
    expect(out).toContain('tag: "\\U000e0041"\n');
    expect(parse(out, { version: '1.1' }).items[0].metadata.annotations).toEqual(annotations);
  });

  it('YAML of any value contains no terminal control characters, and is parsed to the same value', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\\udb40', '\u{E0041}\n\u009B', 'a\r\nb'));
    const long = fc.array(text, { maxLength: 12 }).map((parts) => parts.join(' word '));
    fc.assert(
      fc.property(
        fc.dictionary(text, fc.oneof(text, long, fc.array(text, { maxLength: 3 }), fc.integer()), { maxKeys: 5 }),
        (value) => {
          const yaml = printableYaml(value);
          expect(yaml).not.toMatch(DRAWS);
          expect(parse(yaml, { version: '1.1' })).toEqual({ ...value });
        },
      ),
    );
  });
});
