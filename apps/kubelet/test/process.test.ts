import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { rawVersion, versionText } from '../src/version.ts';
import { removeDirectory } from './remove-directory.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

let directory: string;
let kubelet: ChildProcess | undefined;
const taken: Server[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kubelet-'));
});

afterEach(async () => {
  if (kubelet !== undefined && kubelet.exitCode === null && kubelet.signalCode === null) {
    kubelet.kill('SIGKILL');
    await once(kubelet, 'exit');
  }
  for (const server of taken.splice(0)) server.close();
  await removeDirectory(directory);
});

async function takePort(): Promise<{ server: Server; port: number }> {
  const server = createServer();
  taken.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

/** Starts the kubelet as a process without a runtime. */
async function start(
  settings: Readonly<Record<string, unknown>>,
  rootDir = join(directory, 'root'),
  more: readonly string[] = [],
): Promise<{ lines: AsyncIterator<string> }> {
  const path = join(directory, 'kubelet.yaml');
  const configuration = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    makeIPTablesUtilChains: false,
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    containerRuntimeEndpoint: `unix://${join(directory, 'absent.sock')}`,
    podLogsDir: join(directory, 'pods'),
    ...settings,
  };
  await writeFile(path, JSON.stringify(configuration));
  const flags = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'];
  const places = [`--root-dir=${rootDir}`, `--cert-dir=${join(directory, 'pki')}`, ...more];
  const args = [...flags, main, `--config=${path}`, ...places];
  kubelet = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: directory });
  if (kubelet.stderr === null) throw new Error('no standard error stream');
  return { lines: createInterface(kubelet.stderr)[Symbol.asyncIterator]() };
}

async function lineWith(lines: AsyncIterator<string>, text: string): Promise<string> {
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    if (next.value.includes(text)) return next.value;
  }
  throw new Error(`the kubelet ended without a line that has ${JSON.stringify(text)}`);
}

async function exitCode(): Promise<number | null> {
  if (kubelet === undefined) throw new Error('not started');
  if (kubelet.exitCode === null) await once(kubelet, 'exit');
  return kubelet.exitCode;
}

/** Retries a request until the server listens; the process does not report when it does. */
async function ask(url: string): Promise<string> {
  for (;;) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer !== undefined) return `${answer.status} ${await answer.text()}`;
    await setTimeout(20);
  }
}

test('K2: without a runtime, the kubelet keeps running, reports the reason in its health, and exits with 0 on SIGTERM', async () => {
  const { server, port } = await takePort();
  server.close();
  const { lines } = await start({ healthzPort: port, readOnlyPort: 0 });
  await lineWith(lines, 'Container runtime sanity check failed');
  expect(await ask(`http://127.0.0.1:${port}/healthz/runtime`)).toMatch(/^500 .*absent\.sock/);
  kubelet?.kill('SIGTERM');
  expect(await exitCode()).toBe(0);
});

test.each(['root/', './root//', '../{directory}/root/.'])('accepts the root directory path %s', async (text) => {
  const rootDir = text.replace('{directory}', basename(directory));
  const { lines } = await start({ healthzPort: 0, readOnlyPort: 0 }, rootDir);
  await lineWith(lines, 'Container runtime sanity check failed');
  expect(await readdir(join(directory, 'root'))).not.toEqual([]);
  kubelet?.kill('SIGTERM');
  expect(await exitCode()).toBe(0);
});

test('refuses to start a second kubelet on the same root directory until the first was killed', {
  timeout: 120_000,
}, async () => {
  const first = await start({ healthzPort: 0, readOnlyPort: 0 });
  const firstProcess = kubelet;
  onTestFinished(() => void firstProcess?.kill('SIGKILL'));
  await lineWith(first.lines, 'Container runtime sanity check failed');
  const second = await start({ healthzPort: 0, readOnlyPort: 0 });
  expect(await lineWith(second.lines, 'The kubelet failed')).toContain(
    `lock root directory ${directory}/root: another kubelet (process ${firstProcess?.pid}) uses it`,
  );
  expect(await exitCode()).toBe(1);
  firstProcess?.kill('SIGKILL');
  if (firstProcess !== undefined && firstProcess.signalCode === null) await once(firstProcess, 'exit');
  const third = await start({ healthzPort: 0, readOnlyPort: 0 });
  await lineWith(third.lines, 'Container runtime sanity check failed');
});

test('K1: with --exit-on-lock-contention, exits with 0 when a second kubelet waits for the lock file, which then runs', {
  timeout: 120_000,
}, async () => {
  const flags = [`--lock-file=${join(directory, 'lock')}`, '--exit-on-lock-contention'];
  const first = await start({ healthzPort: 0, readOnlyPort: 0 }, undefined, flags);
  const firstProcess = kubelet;
  onTestFinished(() => void firstProcess?.kill('SIGKILL'));
  await lineWith(first.lines, 'Container runtime sanity check failed');
  const second = await start({ healthzPort: 0, readOnlyPort: 0 }, undefined, flags);
  await lineWith(second.lines, 'Acquiring file lock');
  expect(await lineWith(first.lines, 'Shutting down')).toContain('another process waits for the lock');
  if (firstProcess?.exitCode === null) await once(firstProcess, 'exit');
  expect(firstProcess?.exitCode).toBe(0);
  await lineWith(second.lines, 'Container runtime sanity check failed');
});

test('the kubelet exits with 1 if a part cannot start, and logs the name of the part', async () => {
  const { port } = await takePort();
  const { lines } = await start({ healthzPort: 0, readOnlyPort: port, logging: { format: 'json' } });
  const line = await lineWith(lines, 'The kubelet failed');
  const why = `read-only server ended: cannot listen on 127.0.0.1:${port}`;
  expect(JSON.parse(line)).toMatchObject({ level: 'error', err: expect.stringContaining(why), ts: expect.any(Number) });
  expect(await exitCode()).toBe(1);
});

test("the kubelet logs in klog's format by default, and logs no errors of closed clients at shutdown", async () => {
  const { lines } = await start({ healthzPort: 0, readOnlyPort: 0 });
  const first = await lineWith(lines, 'Kubelet version');
  expect(first).toMatch(/^I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [^ \]]+\.ts:\d+\] "Kubelet version" version="v1\.36\.3/);
  await lineWith(lines, 'Container runtime sanity check failed');
  kubelet?.kill('SIGTERM');
  await lineWith(lines, 'Shutting down; pods keep running');
  const rest: string[] = [];
  for (let next = await lines.next(); !next.done; next = await lines.next()) rest.push(next.value);
  expect(rest.filter((line) => line.startsWith('E'))).toEqual([]);
  expect(await exitCode()).toBe(0);
});

test('without an API server, the kubelet serves the secured port with a self-signed certificate to clients that the configuration allows', async () => {
  const { server, port } = await takePort();
  server.close();
  const { lines } = await start({
    ...{ healthzPort: 0, readOnlyPort: 0, address: '127.0.0.1', port },
    authentication: { anonymous: { enabled: true } },
    authorization: { mode: 'AlwaysAllow' },
    enableSystemLogHandler: false,
  });
  await lineWith(lines, 'Secured server is listening');
  const curl = async (path: string): Promise<string> => {
    const flags = ['-s', '-w', ' %{http_code}', '--cacert', join(directory, 'pki/kubelet.crt')];
    const { stdout } = await promisify(execFile)('curl', [...flags, '-k', `https://127.0.0.1:${port}${path}`]);
    return stdout;
  };
  expect(await curl('/healthz/ping')).toBe('ok 200');
  expect(await curl('/pods')).toMatch(/^\{"kind":"PodList".* 200$/s);
  expect(await curl('/logs/')).toBe('logs endpoint is disabled.\n 405');
  expect(await curl('/statusz')).toMatch(/kubelet statusz.* 200$/s);
  expect(await curl('/exec/default/none/main?output=1')).toBe('pod does not exist 404');
});

test('the kubelet applies a changed configuration, names fields that need a restart, and refuses an invalid file', {
  timeout: 120_000,
}, async () => {
  const { server, port } = await takePort();
  server.close();
  const settings = {
    ...{ healthzPort: 0, readOnlyPort: 0, address: '127.0.0.1', port, maxPods: 10 },
    ...{ authentication: { anonymous: { enabled: true } }, authorization: { mode: 'AlwaysAllow' } },
  };
  const { lines } = await start(settings);
  await lineWith(lines, 'Secured server is listening');
  const path = join(directory, 'kubelet.yaml');
  const text = await readFile(path, 'utf8');
  const change = async (values: object): Promise<void> => {
    await writeFile(`${path}.new`, JSON.stringify({ ...JSON.parse(text), ...values }));
    await rename(`${path}.new`, path);
  };
  const shown = async () => {
    const url = `https://127.0.0.1:${port}/configz`;
    return JSON.parse((await promisify(execFile)('curl', ['-sk', url])).stdout);
  };

  await change({
    maxPods: 20,
    logging: { verbosity: 4 },
    evictionHard: { 'memory.available': '1Mi' },
    syncFrequency: '5m',
  });
  expect(await lineWith(lines, 'Applied changed configuration')).toContain('maxPods');
  expect(await lineWith(lines, 'needs a restart of the kubelet')).toContain('syncFrequency');
  expect(await shown()).toMatchObject({
    kubeletconfig: { maxPods: 20, syncFrequency: '1m0s', evictionHard: { 'memory.available': '1Mi' } },
    kubeletconfigReload: { needsRestart: ['syncFrequency'] },
  });

  await change({ maxPods: -1, containerLogMaxFiles: 1 });
  const refusals = [
    await lineWith(lines, 'invalid, the previous'),
    await lineWith(lines, 'invalid, the previous'),
  ].join();
  expect(refusals).toMatch(/kubelet\.yaml:\d+:\d+: maxPods/);
  expect(refusals).toMatch(/kubelet\.yaml:\d+:\d+: containerLogMaxFiles/);
  expect(await shown()).toMatchObject({ kubeletconfig: { maxPods: 20, containerLogMaxFiles: 5 } });

  await change({ maxPods: 30 });
  await lineWith(lines, 'Configuration is valid again');
  kubelet?.kill('SIGHUP');
  await lineWith(lines, 'as requested by SIGHUP');
  expect(await shown()).toMatchObject({ kubeletconfig: { maxPods: 30, syncFrequency: '1m0s' } });
  expect(await shown()).not.toHaveProperty('kubeletconfigReload');
  kubelet?.kill('SIGTERM');
  expect(await exitCode()).toBe(0);
});

test('the kubelet serves CPU and heap profiles to go tool pprof, its flags, and its logs', {
  timeout: 300_000,
}, async (context) => {
  const command = promisify(execFile);
  const hasGo = await command('go', ['version']).then(
    () => true,
    () => false,
  );
  if (!hasGo) return context.skip('there is no go');
  const { server, port } = await takePort();
  server.close();
  const { lines } = await start({
    ...{ healthzPort: 0, readOnlyPort: 0, address: '127.0.0.1', port },
    ...{ authentication: { anonymous: { enabled: true } }, authorization: { mode: 'AlwaysAllow' } },
    enableSystemLogQuery: true,
  });
  await lineWith(lines, 'Secured server is listening');
  const base = `127.0.0.1:${port}`;
  const pprof = async (path: string): Promise<string> => {
    const env = { ...process.env, PPROF_TMPDIR: directory };
    return (await command('go', ['tool', 'pprof', '-top', `https+insecure://${base}${path}`], { env })).stdout;
  };
  expect(await pprof('/debug/pprof/profile?seconds=1')).toMatch(/^Type: cpu$/m);
  expect(await pprof('/debug/pprof/heap')).toMatch(/^Type: inuse_space$/m);
  expect(await pprof('/debug/pprof/goroutine')).toContain('event loop');
  const curl = async (path: string): Promise<string> =>
    (await command('curl', ['-s', '-k', '-w', ' %{http_code}', `https://${base}${path}`])).stdout;
  expect(await curl('/flagz')).toMatch(/\nconfig=\S+kubelet\.yaml\n[\s\S]*\nv=0\n.* 200$/s);
  expect(await curl('/logs/?query=no-such-service')).toMatch(/log not found for no-such-service\n 200$/);
  expect(await curl('/logs/?query=a%3Bb')).toMatch(/input contains unsupported characters\n 406$/);
  const { stdout } = await command('curl', [
    '-s',
    '-k',
    '-o',
    '/dev/null',
    '-w',
    '%{size_download}',
    `https://${base}/debug/pprof/trace?seconds=1`,
  ]);
  expect(Number(stdout)).toBeGreaterThan(100);
});

test('without an API server, the kubelet rejects an explicit setting that needs an API server', async () => {
  const { lines } = await start({ healthzPort: 0, authorization: { mode: 'Webhook' } });
  expect(await lineWith(lines, 'The kubelet failed')).toContain(
    'authorization.mode: no client provided, cannot use webhook authorization',
  );
  expect(await exitCode()).toBe(1);
});

test('the kubelet prints one line to standard error and exits with 1 for an invalid configuration', async () => {
  const { lines } = await start({ maxPods: 'many' });
  expect(await lineWith(lines, 'maxPods')).toMatch(/^kubelet: .*kubelet\.yaml.*maxPods/);
  expect(await exitCode()).toBe(1);
});

test('exits with 1 for a FIFO as its configuration file, instead of waiting for a writer', async () => {
  const fifo = join(directory, 'fifo');
  await promisify(execFile)('mkfifo', [fifo]);
  const args = ['--conditions=@node-agent/source', main, `--config=${fifo}`];
  // SIGKILL, because a process that waits for the writer does not end otherwise.
  const command = promisify(execFile)(process.execPath, args, { timeout: 30_000, killSignal: 'SIGKILL' });
  await expect(command).rejects.toMatchObject({
    code: 1,
    stderr: `kubelet: ${fifo}: cannot be read: ${fifo} is not a regular file\n`,
  });
}, 60_000);

test.each([
  [['help'], /^kubelet: unknown command help; kubelet --help lists the flags\n$/],
  [
    ['--nope', '--max-pods=x', 'run'],
    /^kubelet: unknown flag: --nope\nkubelet: unknown command run; .*\nkubelet: invalid argument "x" for "--max-pods" flag: .*\n$/,
  ],
])('rejects the command line %j and prints each problem on its own line', async (args, expected) => {
  const command = promisify(execFile)(process.execPath, ['--conditions=@node-agent/source', main, ...args]);
  await expect(command).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(expected) });
});

test.each([
  [['--help'], 'kubelet --help --all also lists'],
  [['--nope', '-h'], 'kubelet --help --all also lists'],
  [['--help', '--all'], '\nDeprecated:\n'],
])("prints the kubelet's flags for %j", async (args, expected) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=@node-agent/source', main, ...args]);
  expect(stdout).toContain(expected);
});

test("the kubelet's version contains the Kubernetes release and the package's own version", async () => {
  const manifest: unknown = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
  const { version } = manifest as { version: string };
  const command = promisify(execFile);
  const { stdout } = await command(process.execPath, ['--conditions=@node-agent/source', main, '--version']);
  expect(stdout).toBe(`Kubernetes v1.36.3+node-agent.${version}\n`);
  expect(rawVersion()).toBe(
    `version.Info{Major:"1", Minor:"36", GitVersion:"v1.36.3+node-agent.${version}", NodeVersion:"${process.version}", ` +
      `Platform:"linux/${process.arch === 'x64' ? 'amd64' : process.arch}"}`,
  );
});

test('writes the completion script of a known shell, and rejects another shell', { timeout: 120_000 }, async () => {
  const run = (shell: string) =>
    promisify(execFile)(process.execPath, ['--conditions=@node-agent/source', main, 'completion', shell]);
  expect((await run('bash')).stdout).toContain('complete -o filenames -F _kubelet kubelet\n');
  await expect(run('tcsh')).rejects.toMatchObject({
    ...{ code: 1, stdout: '', stderr: 'kubelet: completion: must be followed by one of bash, zsh, fish\n' },
  });
});

describe('kubelet cluster', () => {
  const runCluster = (link: string, path: string, args: readonly string[]): ChildProcess => {
    const flags = ['--conditions=@node-agent/source', link];
    const env = { PATH: path };
    return spawn(process.execPath, [...flags, 'cluster', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  };
  const outcome = async (child: ChildProcess) => {
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { stdout, stderr, code };
  };
  const text = async (stream: Readable | null): Promise<string> => (await stream?.toArray())?.join('') ?? '';

  test('kubelet cluster without the cluster program names the package to install', { timeout: 120_000 }, async () => {
    expect(await outcome(runCluster(main, directory, ['up']))).toEqual({
      ...{ code: 1, stdout: '' },
      stderr:
        'kubelet: cluster: kubelet-cluster is neither beside this program nor in PATH; install the npm package @node-agent/cluster\n',
    });
  });

  test.each(['beside the kubelet', 'in PATH'])(
    'kubelet cluster runs the cluster program %s with all arguments, and exits with its exit code',
    { timeout: 120_000 },
    async (place) => {
      const script = '#!/bin/sh\necho "$@"; exit 7\n';
      await writeFile(join(directory, 'kubelet-cluster'), script, { mode: 0o755 });
      const link = join(directory, 'kubelet');
      await symlink(main, link);
      const child =
        place === 'in PATH' ? runCluster(main, `/nowhere:${directory}`, ['up']) : runCluster(link, '', ['up']);
      expect(await outcome(child)).toEqual({ code: 7, stdout: 'cluster up\n', stderr: '' });
    },
  );

  test('kubelet cluster passes SIGTERM on to the cluster program and waits until the program has exited', {
    timeout: 120_000,
  }, async () => {
    const script = '#!/bin/sh\ntrap "echo ending; exit 0" TERM; echo ready; while :; do /bin/sleep 0.05; done\n';
    await writeFile(join(directory, 'kubelet-cluster'), script, { mode: 0o755 });
    const child = runCluster(main, directory, []);
    const ended = outcome(child);
    child.stdout?.once('data', () => child.kill('SIGTERM'));
    expect(await ended).toEqual({ code: 0, stdout: 'ready\nending\n', stderr: '' });
  });
});

test('the version of the kubelet names the commit of the build in the form that kubeadm reads', () => {
  const kubeadm = /^\s*Kubernetes v((0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-\w.+]*)?)\s*$/;
  expect(versionText('0.1.0', '1a2b3c4d5e6f')).toBe('v1.36.3+node-agent.0.1.0.g1a2b3c4d5e6f');
  expect(`Kubernetes ${versionText('0.1.0', '1a2b3c4d5e6f')}`).toMatch(kubeadm);
});

test('the kubelet process is found by the name `kubelet` and by its command line, with its arguments', async () => {
  const { lines } = await start({});
  await lines.next();
  const of = (file: string): Promise<string> => readFile(`/proc/${kubelet?.pid}/${file}`, 'utf8');
  expect(await of('comm')).toBe('kubelet\n');
  const [shown = ''] = (await of('cmdline')).split('\0');
  expect(shown).toMatch(/^kubelet --config=\S+kubelet\.yaml --root-dir=\S+ --cert-dir=\S+$/);
});
