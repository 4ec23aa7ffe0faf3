import { execFile, spawn } from 'node:child_process';
import { chmod, lstat, mkdtemp, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Containerd, findContainerd, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { TestNode } from './test-node.ts';

const exec = promisify(execFile);
const BIN = fileURLToPath(new URL('../../../../packages/nodectl/src/bin.ts', import.meta.url));
const NODE_FLAGS = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'];
const TIMEOUT_MS = 120_000;

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const found = await findContainerd();

describe.skipIf('reason' in found)('nodectl with a kubelet on containerd', { timeout: TIMEOUT_MS }, () => {
  let directory = '';
  let socket = '';
  let containerd: Containerd;
  let node: TestNode;

  beforeAll(async () => {
    if ('reason' in found) return;
    directory = await mkdtemp('/tmp/na-ctl-');
    socket = join(directory, 'admin/admin.sock');
    containerd = new Containerd({
      binaries: found.binaries,
      directory: join(directory, 'c'),
      subnet: '10.199.52.0/24',
    });
    await containerd.start();
    await certificates();
    node = new TestNode({
      ...{ directory, endpoint: containerd.endpoint, flags: [`--admin-socket=${socket}`] },
      configuration: {
        ...{ address: '127.0.0.1', enableDebuggingHandlers: true },
        authentication: { x509: { clientCAFile: join(directory, 'ca.pem') }, webhook: { enabled: false } },
        authorization: { mode: 'AlwaysAllow' },
      },
    });
    await node.start();
    await node.until('the admin socket', async () => ((await ctl('pods')).code === 0 ? true : undefined));
  }, TIMEOUT_MS);

  afterAll(async () => {
    await node?.kill('SIGTERM');
    await containerd?.stop();
    await removeDirectory(directory);
  }, TIMEOUT_MS);

  /**
   * Creates two certificate authorities and a client certificate of each. The kubelet trusts only the first authority.
   */
  async function certificates(): Promise<void> {
    const run = (...args: string[]) => exec('openssl', args, { cwd: directory });
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    for (const ca of ['ca', 'other']) {
      await run('req', '-x509', ...key, '-keyout', `${ca}.key`, '-out', `${ca}.pem`, '-subj', `/CN=${ca}`);
      const client = ca === 'ca' ? 'client' : 'stranger';
      await run(
        'req',
        ...key.slice(0, -2),
        '-keyout',
        `${client}.key`,
        '-out',
        `${client}.csr`,
        '-subj',
        '/CN=operator',
      );
      const signing = ['-CA', `${ca}.pem`, '-CAkey', `${ca}.key`, '-CAcreateserial', '-days', '2'];
      await run('x509', '-req', '-in', `${client}.csr`, ...signing, '-out', `${client}.pem`);
    }
  }

  function args(...argv: readonly string[]): readonly string[] {
    return [...NODE_FLAGS, BIN, '--socket', socket, ...argv];
  }

  async function run(argv: readonly string[], input = ''): Promise<Ran> {
    const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    const code = await new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? -1)));
    return { code, out, err };
  }

  const ctl = (...argv: readonly string[]): Promise<Ran> => run(args(...argv));

  /** Runs a command until its output matches `text`, then interrupts the command. */
  async function until(
    text: RegExp,
    argv: readonly string[],
    then = async (_match: RegExpExecArray) => {},
  ): Promise<Ran> {
    const child = spawn(process.execPath, args(...argv), { stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    const ended = new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? -1)));
    const match = await new Promise<RegExpExecArray>((resolve, reject) => {
      child.stdout.on('data', (chunk) => {
        out += chunk;
        const matched = text.exec(out);
        if (matched !== null) resolve(matched);
      });
      child.on('close', () => reject(new Error(`ended without ${text}: ${out}${err}`)));
    });
    try {
      await then(match);
    } finally {
      child.kill('SIGINT');
    }
    return { code: await ended, out, err };
  }

  function manifest(name: string, script: string): string {
    const container = { name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'Never', command: ['sh', '-c', script] };
    const spec = { dnsPolicy: 'Default', terminationGracePeriodSeconds: 1, containers: [container] };
    return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
  }

  async function apply(text: string): Promise<Ran> {
    return await run(args('apply', '-f', '-'), text);
  }

  const SERVE =
    'trap "exit 0" TERM; echo started; echo served > /index.html; httpd -p 8080 -h / ; while true; do sleep 1 & wait $!; done';

  test('W1: only root may open the admin socket', async () => {
    expect((await lstat(socket)).mode & 0o777).toBe(0o600);
    expect((await lstat(join(directory, 'admin'))).mode & 0o777).toBe(0o700);
    await chmod(directory, 0o755);
    const asNobody = { uid: 65_534, gid: 65_534 };
    const denied = exec('/usr/bin/curl', ['-s', '--unix-socket', socket, 'http://x/pods'], asNobody);
    await expect(denied).rejects.toMatchObject({ code: 7 });
  });

  test('nodectl creates, shows, explains, changes and deletes a pod, and runs logs, exec and port-forward', async () => {
    expect(await apply(manifest('web', SERVE))).toMatchObject({
      ...{ code: 0, out: 'pod default/web-e2e created (default_web.yaml)\n', err: '' },
    });
    await node.running('web');
    expect((await ctl('pods', '--check')).code).toBe(0);
    expect((await ctl('pods', '-o', 'wide')).out).toMatch(
      /default +web-e2e +1\/1 +Running +0 +\d+s +10\.199\.52\.\d+ +file/,
    );

    await node.until('the log', async () => ((await ctl('logs', 'web')).out === 'started\n' ? true : undefined));
    expect(await until(/started/, ['logs', 'web', '-f'])).toMatchObject({ code: 130 });

    expect(await ctl('exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3')).toEqual({
      ...{ code: 3, out: 'out\n', err: 'err\n' },
    });
    expect(await run(args('exec', 'web', '-i', '--', 'sh', '-c', 'cat; exit 0'), 'typed\n')).toMatchObject({
      ...{ code: 0, out: 'typed\n' },
    });
    expect(await ctl('exec', 'web', '--', '/no/such/program')).toMatchObject({ code: 125, out: '' });

    const forwarded = await until(/127\.0\.0\.1:(\d+) -> 8080/, ['port-forward', 'web', ':8080'], async ([, port]) => {
      expect((await exec('curl', ['-s', `http://127.0.0.1:${port}/index.html`])).stdout).toBe('served\n');
      expect((await exec('curl', ['-s', `http://127.0.0.1:${port}/index.html`])).stdout).toBe('served\n');
    });
    expect(forwarded).toMatchObject({ code: 130, err: '' });

    expect((await ctl('explain', 'web')).out).toContain('Pod default/web-e2e is Running');
    expect((await ctl('events', 'web')).out).toMatch(/Normal +Started +pod\/default\/web-e2e/);

    expect((await apply(manifest('web', SERVE))).out).toContain('unchanged');
    expect((await apply(manifest('web', SERVE.replace('started', 'again')))).out).toContain('configured');
    await node.until('the new log', async () => ((await ctl('logs', 'web')).out === 'again\n' ? true : undefined));
    expect((await ctl('delete', 'web')).out).toBe('pod default/web-e2e deleted (default_web.yaml)\n');
    await node.until('the pod to be gone', async () => ((await ctl('pods', 'web')).code === 3 ? true : undefined));
  });

  test('nodectl logs prints no control characters of a hostile log to a terminal', async () => {
    await apply(
      manifest('evil', `trap "exit 0" TERM; printf '\\033[2Jgone\\n'; while true; do sleep 1 & wait $!; done`),
    );
    await node.running('evil');
    const line = args('logs', 'evil')
      .map((arg) => `'${arg}'`)
      .join(' ');
    const shown = await node.until('the log', async () => {
      const { stdout } = await exec('script', ['-qec', `${process.execPath} ${line}`, '/dev/null']);
      return stdout.includes('gone') ? stdout : undefined;
    });
    expect(shown).toBe('\uFFFD[2Jgone\r\n');
    expect((await ctl('logs', 'evil')).out).toBe('\x1b[2Jgone\n');
    await ctl('delete', 'evil');
  });

  test("nodectl exec -it runs a shell in a terminal of the user's terminal size", async () => {
    await apply(manifest('shell', 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done'));
    await node.running('shell');
    const line = args('exec', 'shell', '-i', '-t', '--', 'sh', '-c', 'sleep 1; stty size; tty; exit 7');
    const command = `stty rows 33 cols 111; ${[process.execPath, ...line].map((arg) => `'${arg}'`).join(' ')}; echo code $?`;
    const { stdout } = await exec('script', ['-qec', command, '/dev/null']);
    expect(stdout).toMatch(/33 111\r+\n\/dev\/pts\/0\r+\n.*code 7/s);
    await ctl('delete', 'shell');
  });

  test('nodectl rejects an invalid manifest with the invalid field, and writes no file', async () => {
    const { code, err } = await apply(manifest('UPPER', 'true'));
    expect([code, (await readdir(node.manifests)).filter((name) => /upper/i.test(name))]).toEqual([6, []]);
    expect(err).toContain('metadata.name');
  });

  test('nodectl prints the conditions, capacity, images and usage of a standalone node', async () => {
    const { code, out } = await ctl('node', '--check');
    expect(code).toBe(0);
    expect(out).toMatch(/Kubelet: +v1\.36\.3\+node-agent/);
    expect(out).toMatch(/Runtime: +containerd:\/\//);
    expect(out).toMatch(
      /MemoryPressure +False .*\nDiskPressure +False .*\nPIDPressure +False .*\nReady +True +KubeletReady/,
    );
    expect(out).toMatch(/cpu +\d+ +\d+\n/);
    expect((await ctl('images')).out).toContain(PAUSE_IMAGE);
    expect((await ctl('events')).out).toMatch(/Normal +Starting +node\/e2e +Starting kubelet\./);
    const summary = JSON.parse((await ctl('top', '-o', 'json')).out);
    expect(summary.node.nodeName).toBe('e2e');
  });

  test('a remote kubelet admits nodectl with a trusted client certificate, and denies a certificate of another CA', async () => {
    const remote = (name: string, ...argv: string[]): Promise<Ran> => {
      const files = [
        '--client-certificate',
        join(directory, `${name}.pem`),
        '--client-key',
        join(directory, `${name}.key`),
      ];
      const server = ['--server', `https://127.0.0.1:${node.port}`, '--insecure-skip-tls-verify'];
      return run([...NODE_FLAGS, BIN, ...server, ...files, ...argv]);
    };
    await apply(manifest('far', 'trap "exit 0" TERM; echo far; while true; do sleep 1 & wait $!; done'));
    await node.running('far');
    expect((await remote('client', 'pods')).out).toContain('far-e2e');
    expect(await remote('client', 'exec', 'far', '--', 'sh', '-c', 'exit 4')).toMatchObject({ code: 4 });
    expect((await remote('client', 'node')).out).toContain('KubeletReady');
    expect(await remote('client', 'delete', 'far')).toMatchObject({ code: 1 });
    expect(await remote('stranger', 'pods')).toMatchObject({ code: 5, out: '' });
    // Without --insecure-skip-tls-verify, the self-signed certificate is verified.
    const verified = ['--server', `https://127.0.0.1:${node.port}`, 'pods'];
    expect(await run([...NODE_FLAGS, BIN, ...verified])).toMatchObject({ code: 4 });
    await ctl('delete', 'far');
  });

  test('a changed configuration file changes the capacity of the node without a restart', async () => {
    const file = join(directory, 'kubelet.json');
    const { pid } = node;
    const configuration = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(`${file}.new`, JSON.stringify({ ...configuration, maxPods: 42, syncFrequency: '3m' }));
    await rename(`${file}.new`, file);
    await node.until('the new number of pods', async () =>
      /pods +42 +42\n/.test((await ctl('node')).out) ? true : undefined,
    );
    const { out } = await ctl('events');
    expect(out).toMatch(/ConfigurationChanged +node\/e2e +Applied changed configuration: maxPods/);
    expect(out).toMatch(/ConfigurationNeedsRestart +node\/e2e +Needs a restart of the kubelet: syncFrequency/);
    expect([node.pid, node.isRunning]).toEqual([pid, true]);
  });

  test('K1: the admin socket serves again after the kubelet was killed and restarted', async () => {
    await node.kill('SIGKILL');
    expect(await ctl('pods')).toMatchObject({ code: 4, err: expect.stringContaining('the kubelet does not run') });
    await node.start();
    await node.until('the admin socket', async () => ((await ctl('pods')).code === 0 ? true : undefined));
    expect((await readFile(node.logFile, 'utf8')).match(/Admin socket is listening/g)?.length).toBe(2);
  });
});
