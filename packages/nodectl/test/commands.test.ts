import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SpdyStream } from '@node-agent/spdy';
import { parse } from '@node-agent/yaml';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeKubelet, pod } from './fake-kubelet.ts';

let kubelet: FakeKubelet;
beforeEach(async () => {
  kubelet = await FakeKubelet.start();
  kubelet.pods(pod('web'), pod('db', { metadata: { name: 'db-n1', namespace: 'team' } }));
});
afterEach(() => kubelet.stop());

const crashing = {
  containerStatuses: [
    { name: 'main', ready: false, restartCount: 3, state: { waiting: { reason: 'CrashLoopBackOff' } } },
  ],
};

describe('nodectl pods', () => {
  it('nodectl pods prints a table of the pods of all namespaces', async () => {
    expect(await kubelet.run('pods')).toEqual({
      ...{ code: 0, err: '' },
      out: [
        'NAMESPACE   NAME     READY   STATUS    RESTARTS   AGE',
        'default     web-n1   1/1     Running   0          10m',
        'team        db-n1    1/1     Running   0          10m',
        '',
      ].join('\n'),
    });
  });

  it('nodectl pods prints the pods of one namespace or one pod, and more columns with -o wide', async () => {
    expect((await kubelet.run('pods', '-n', 'team')).out).not.toContain('web');
    const { out } = await kubelet.run('pods', 'web', '-o', 'wide');
    expect(out).toMatch(/IP +SOURCE +IMAGES\n.*10\.0\.0\.5 +file +web:1\n$/);
  });

  it('nodectl prints JSON with -o json and YAML with -o yaml', async () => {
    const json = JSON.parse((await kubelet.run('pods', '-o', 'json')).out);
    expect(json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual([
      'web-n1',
      'db-n1',
    ]);
    expect(parse((await kubelet.run('pods', '-o', 'yaml')).out)).toEqual(json);
  });

  it('nodectl pods --check exits with 7 if a pod is not ready', async () => {
    expect((await kubelet.run('pods', '--check')).code).toBe(0);
    kubelet.pods(pod('web'), pod('bad', { status: crashing }));
    expect((await kubelet.run('pods', '--check')).code).toBe(7);
    expect((await kubelet.run('pods', 'web', '--check')).code).toBe(0);
  });

  it('nodectl pods -w prints the pods that changed, and continues while the kubelet restarts', async () => {
    let rounds = 0;
    const lists = [[pod('web')], [pod('web')], [pod('web', { status: crashing })], []];
    kubelet.answers.set('/pods', () => {
      const items = lists[Math.min(rounds, lists.length - 1)];
      rounds++;
      if (rounds === 6) kubelet.ending.abort();
      return rounds === 5 ? { status: 500, body: 'starting' } : { body: { items } };
    });
    const { code, out, err } = await kubelet.run('pods', '-w', '--interval', '0.1');
    expect(code).toBe(130);
    expect(out.match(/web-n1 +\d.*/g)).toEqual([
      expect.stringContaining('Running'),
      expect.stringContaining('CrashLoopBackOff'),
    ]);
    expect(out).toContain('default/web-n1 is gone\n');
    expect(err).toBe('nodectl: starting\n');
  });
});

describe('nodectl logs', () => {
  it('nodectl logs passes its flags to the kubelet, and prints the bytes of the log', async () => {
    kubelet.answers.set('/containerLogs/default/web-n1/main?tailLines=2', { body: 'a\n\x1b[31mb\n' });
    expect(await kubelet.run('logs', 'web', '--tail', '2')).toEqual({ code: 0, out: 'a\n\x1b[31mb\n', err: '' });
  });

  it('nodectl logs replaces control characters on a terminal, unless --raw is given', async () => {
    kubelet.isTTY = true;
    kubelet.answers.set('/containerLogs/default/web-n1/main', { body: '\x1b[2Jgone ü\n' });
    expect((await kubelet.run('logs', 'web')).out).toBe('\uFFFD[2Jgone ü\n');
    expect((await kubelet.run('logs', 'web', '--raw')).out).toBe('\x1b[2Jgone ü\n');
  });

  it("nodectl logs prints the kubelet's reason for a refused request", async () => {
    kubelet.answers.set('/containerLogs/default/web-n1/main?previous=true', {
      status: 400,
      body: 'no previous\x1b[2J',
    });
    expect(await kubelet.run('logs', 'web', '-p')).toEqual({
      code: 1,
      out: '',
      err: 'nodectl: no previous\uFFFD[2J\n',
    });
  });
});

describe('nodectl exec', () => {
  /** Ends the next command with this status, after some output. */
  const ending = (status: object) => {
    const streams: Record<string, SpdyStream> = {};
    kubelet.onStream = (stream) => {
      streams[String(stream.headers.streamtype)] = stream;
      stream.resume();
      if (stream.headers.streamtype !== 'stderr') return;
      setImmediate(() => {
        streams.stdout?.end('out\n');
        stream.end('err\n');
        streams.error?.end(JSON.stringify(status));
      });
    };
  };

  it('nodectl exec returns the exit code and the output of the command', async () => {
    ending({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
    expect(await kubelet.run('exec', 'web', '--', 'false', '-x')).toEqual({ code: 3, out: 'out\n', err: 'err\n' });
    expect(kubelet.asked.at(-1)).toBe('/exec/default/web-n1/main?output=1&error=1&command=false&command=-x');
  });

  it('nodectl exec passes standard input on to the command', async () => {
    const heard: string[] = [];
    let error: SpdyStream | undefined;
    const all: SpdyStream[] = [];
    kubelet.onStream = (stream) => {
      all.push(stream);
      if (stream.headers.streamtype === 'error') error = stream;
      if (stream.headers.streamtype !== 'stdin') return void stream.resume();
      stream.on('data', (chunk) => heard.push(String(chunk)));
      stream.on('end', () => {
        error?.end('{"status":"Success"}');
        for (const each of all) each.end();
      });
    };
    kubelet.stdin.end('typed');
    expect((await kubelet.run('exec', 'web', '-i', '--', 'cat')).code).toBe(0);
    expect(heard).toEqual(['typed']);
  });

  it('nodectl exec exits with 125 if the command cannot be run, whatever the reason', async () => {
    ending({ status: 'Failure', message: 'no such file' });
    expect(await kubelet.run('exec', 'web', '--', 'none')).toMatchObject({
      code: 125,
      err: 'err\nnodectl: exec: no such file\n',
    });
    expect((await kubelet.run('exec', 'nobody', '--', 'x')).code).toBe(125);
    kubelet.answers.set('/exec/default/web-n1/main?output=1&error=1&command=x', {
      status: 500,
      body: 'container not found',
    });
    expect(await kubelet.run('exec', 'web', '--', 'x')).toMatchObject({
      code: 125,
      err: 'nodectl: container not found\n',
    });
  });

  it('nodectl exec refuses --tty without a terminal', async () => {
    expect(await kubelet.run('exec', 'web', '-t', '--', 'sh')).toMatchObject({
      ...{ code: 2, err: "nodectl: exec: --tty needs a terminal\nSee 'nodectl --help' for usage.\n" },
    });
  });
});

describe('nodectl port-forward', () => {
  it('nodectl port-forward forwards connections, reports the error of a connection, and ends on an interrupt', async () => {
    const asked: unknown[] = [];
    kubelet.onStream = (stream) => {
      const { streamtype, port, requestid } = stream.headers;
      asked.push([streamtype, port, requestid]);
      if (streamtype === 'error') {
        stream.resume();
        stream.end(requestid === '1' ? 'connection refused\x1b[2J' : '');
      } else stream.on('data', (chunk) => stream.write(`echo ${chunk}`)).on('end', () => stream.end());
    };
    const running = kubelet.run('port-forward', 'web', ':80');
    // The local port is printed in the output, which a test reads only at the end. Therefore the test finds the port
    // through the fake kubelet.
    await vi.waitFor(() => expect(kubelet.asked).toContain('/portForward/default/web-n1'));
    kubelet.ending.abort();
    expect(await running).toMatchObject({
      code: 130,
      out: expect.stringMatching(/^Forwarding from 127\.0\.0\.1:\d+ -> 80\n$/),
    });

    kubelet.ending = new AbortController();
    const port = await freePort();
    const again = kubelet.run('port-forward', 'web', `${port}:80`);
    expect(await vi.waitFor(() => say(port, 'hello'))).toBe('echo hello');
    expect(await say(port, 'again')).toBe('');
    kubelet.ending.abort();
    expect(await again).toMatchObject({ code: 130, err: 'nodectl: port 80: connection refused\\x1b[2J\n' });
    expect(asked.slice(0, 2)).toEqual([
      ['error', '80', '0'],
      ['data', '80', '0'],
    ]);
  });

  async function freePort(): Promise<number> {
    const { createServer } = await import('node:net');
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    await new Promise((resolve) => server.close(resolve));
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  function say(port: number, text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let heard = '';
      const socket = connect({ port, host: '127.0.0.1' }, () => socket.end(text));
      socket.on('data', (chunk) => {
        heard += chunk;
      });
      socket.on('close', () => resolve(heard)).on('error', reject);
    });
  }
});

describe('nodectl apply and delete', () => {
  let directory = '';
  const manifest = (name: string, image = 'web:1'): string =>
    `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: main, image: "${image}"}]}\n`;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'static-'));
    kubelet.answers.set('/configz', { body: { kubeletconfig: { staticPodPath: directory } } });
    kubelet.answers.set('/debug/node', { body: { metadata: { name: 'n1' } } });
  });
  afterEach(() => rm(directory, { recursive: true }));

  async function given(text: string): Promise<string> {
    const path = join(tmpdir(), `given-${process.pid}.yaml`);
    await writeFile(path, text);
    return path;
  }

  it('nodectl apply creates, changes and keeps a manifest, and nodectl delete removes it', async () => {
    const file = await given(manifest('new'));
    const line = (verb: string) => `pod default/new-n1 ${verb} (default_new.yaml)\n`;
    expect(await kubelet.run('apply', '-f', file)).toEqual({ code: 0, out: line('created'), err: '' });
    expect(await kubelet.run('apply', '-f', file)).toMatchObject({ code: 0, out: line('unchanged') });
    await given(manifest('new', 'web:2'));
    expect(await kubelet.run('apply', '-f', file)).toMatchObject({ code: 0, out: line('configured') });
    expect(await readFile(join(directory, 'default_new.yaml'), 'utf8')).toContain('web:2');
    expect(await kubelet.run('delete', 'new')).toMatchObject({ code: 0, out: line('deleted') });
    expect(await readdir(directory)).toEqual([]);
    await rm(file);
  });

  it('nodectl apply and delete change nothing with --dry-run', async () => {
    const file = await given(manifest('new'));
    expect((await kubelet.run('apply', '--dry-run', '-f', file)).out).toContain('created (default_new.yaml) (dry run)');
    expect(await readdir(directory)).toEqual([]);
    await kubelet.run('apply', '-f', file);
    expect((await kubelet.run('delete', 'new', '--dry-run')).out).toContain('deleted');
    expect(await readdir(directory)).toEqual(['default_new.yaml']);
  });

  it('nodectl apply reads standard input, and writes no part of an invalid manifest', async () => {
    kubelet.stdin.end(manifest('UPPER'));
    const { code, err } = await kubelet.run('apply', '-f', '-');
    expect([code, await readdir(directory)]).toEqual([6, []]);
    expect(err).toMatch(/^nodectl: standard input:3:\d+: metadata\.name: /);
  });

  it('nodectl apply and delete refuse to remove another pod of the same file', async () => {
    await writeFile(join(directory, 'two.yaml'), `${manifest('new')}---\n${manifest('other')}`);
    const file = await given(manifest('new'));
    const message = 'nodectl: two.yaml also defines default/other-n1, which would be removed';
    expect(await kubelet.run('apply', '-f', file)).toMatchObject({ code: 6, err: `${message}\n` });
    expect(await kubelet.run('delete', 'new')).toMatchObject({ code: 6, err: `${message} too\n` });
    expect(await kubelet.run('delete', '-f', join(directory, 'two.yaml'))).toMatchObject({ code: 0 });
  });

  it('nodectl delete reports that a pod comes from another source or does not exist', async () => {
    expect(await kubelet.run('delete', 'web')).toMatchObject({
      ...{ code: 3, err: 'nodectl: the pod default/web-n1 does not come from the static pod directory\n' },
    });
    expect(await kubelet.run('delete', 'nobody')).toMatchObject({ code: 3 });
  });

  it('nodectl apply reports why the kubelet has no manifest directory', async () => {
    const file = await given(manifest('new'));
    kubelet.answers.set('/configz', { body: { kubeletconfig: {} } });
    expect((await kubelet.run('apply', '-f', file)).err).toMatch(/has no staticPodPath/);
    kubelet.answers.set('/configz', { body: { kubeletconfig: { staticPodPath: file } } });
    expect((await kubelet.run('apply', '-f', file)).err).toMatch(/is a file, not a directory/);
    const remote = await kubelet.runWith(['--server', 'https://127.0.0.1:1'], ['apply', '-f', file]);
    expect(remote).toMatchObject({ code: 1, err: expect.stringContaining('run this on the node, without --server') });
  });
});

describe('nodectl explain, events, top, images and node', () => {
  it('nodectl explain prints the explanation of a pod or of the node', async () => {
    kubelet.answers.set('/debug/explain/default/web-n1?format=text', { body: 'Pod \x1b[2Jfine\n' });
    kubelet.answers.set('/debug/explain?format=json', { body: { pods: 2 } });
    expect((await kubelet.run('explain', 'web')).out).toBe('Pod \uFFFD[2Jfine\n');
    expect(JSON.parse((await kubelet.run('explain', '-o', 'json')).out)).toEqual({ pods: 2 });
  });

  it('nodectl events prints the events of all objects, of a pod, or of a namespace', async () => {
    const event = (kind: string, name: string, namespace?: string) => ({
      ...{
        involvedObject: { kind, name, namespace },
        type: 'Normal',
        reason: `R-${name}`,
        message: 'm\nevil',
        count: 2,
      },
      lastTimestamp: '2026-03-01T00:09:00Z',
    });
    const items = [event('Node', 'n1'), event('Pod', 'web-n1', 'default'), event('Pod', 'db-n1', 'team')];
    kubelet.answers.set('/debug/events', { body: { items } });
    const reasons = async (...argv: string[]) => (await kubelet.run('events', ...argv)).out.match(/R-\S+/g);
    expect(await reasons()).toEqual(['R-n1', 'R-web-n1', 'R-db-n1']);
    expect(await reasons('web')).toEqual(['R-web-n1']);
    expect(await reasons('-n', 'team')).toEqual(['R-db-n1']);
    expect((await kubelet.run('events', 'web')).out).toContain(
      '60s (x2)    Normal   R-web-n1   pod/default/web-n1   m\\nevil',
    );
  });

  it('nodectl node --check exits with 7 and prints the message of the Ready condition if the node is not Ready', async () => {
    const node = (status: string) => ({
      body: { metadata: { name: 'n1' }, status: { conditions: [{ type: 'Ready', status, message: 'no runtime' }] } },
    });
    kubelet.answers.set('/debug/node', node('True'));
    expect((await kubelet.run('node', '--check')).code).toBe(0);
    kubelet.answers.set('/debug/node', node('False'));
    expect(await kubelet.run('node', '--check')).toMatchObject({ code: 7, err: 'nodectl: not Ready: no runtime\n' });
    expect((await kubelet.run('node')).code).toBe(0);
  });

  it('nodectl images prints the images, and nodectl top prints the usage of the pods of a namespace', async () => {
    kubelet.answers.set('/debug/images', { body: { images: [] } });
    expect((await kubelet.run('images')).out).toBe('IMAGE   ID   SIZE   PINNED\n');
    const stats = (namespace: string) => ({ podRef: { namespace, name: `p-${namespace}` } });
    kubelet.answers.set('/stats/summary', { body: { node: { nodeName: 'n1' }, pods: [stats('a'), stats('b')] } });
    expect((await kubelet.run('top', '-n', 'a')).out).toMatch(/p-a/);
    expect((await kubelet.run('top', '-n', 'a')).out).not.toMatch(/p-b/);
  });
});

describe('exit codes', () => {
  it('the exit code of nodectl depends on the kind of failure', async () => {
    expect((await kubelet.run('images')).code).toBe(3);
    expect(await kubelet.runWith(['--socket', '/nowhere/admin.sock'], ['pods'])).toMatchObject({
      code: 4,
      err: expect.stringContaining('cannot reach the kubelet at /nowhere/admin.sock: there is no such socket'),
    });
    kubelet.answers.set('/pods', { status: 401, body: 'Unauthorized' });
    expect((await kubelet.run('pods')).code).toBe(5);
    kubelet.answers.set('/pods', { status: 403, body: 'Forbidden' });
    expect((await kubelet.run('pods')).code).toBe(5);
    kubelet.answers.set('/pods', { body: 'no JSON' });
    expect((await kubelet.run('pods')).code).toBe(1);
    kubelet.answers.set('/pods', { body: 'null' });
    expect(await kubelet.run('pods')).toMatchObject({
      code: 1,
      err: 'nodectl: the answer to /pods is not an object\n',
    });
    kubelet.answers.set('/pods', { body: { items: [null, 1, {}, { metadata: { name: 1 }, spec: {} }, pod('web')] } });
    expect((await kubelet.run('pods')).out.match(/^.+$/gm)).toHaveLength(2);
    expect((await kubelet.run('pods', '--nonsense')).code).toBe(2);
    const none = join(tmpdir(), 'no-such-key');
    const tls = ['--server', 'https://127.0.0.1:1', '--client-certificate', none, '--client-key', none];
    expect(await kubelet.runWith(tls, ['pods'])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`read ${none}`),
    });
    expect((await kubelet.runWith(['--server', 'https://127.0.0.1:1'], ['pods'])).code).toBe(4);
  });

  it('nodectl exits with 0 after printing its help or its version', async () => {
    expect(await kubelet.run('--version')).toEqual({ code: 0, out: '1.2.3\n', err: '' });
    expect((await kubelet.run('--help')).out).toContain('Exit codes:');
  });
});
