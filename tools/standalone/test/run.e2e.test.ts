import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CriClient } from '@node-agent/cri-client';
import { cannotRun, findContainerd, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { placesIn } from '../src/places.ts';
import { runStandalone } from '../src/run.ts';
import { containerdOf } from '../src/runtimes/private.ts';

const PROGRAM = fileURLToPath(new URL('./from-sources.ts', import.meta.url));
const FLAGS = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'];
const TIMEOUT_MS = 90_000;

/** Running program with its output, read line by line. */
class Run {
  readonly child: ChildProcess;
  readonly exit: Promise<number | null>;
  output = '';

  constructor(args: readonly string[], [file = process.execPath, ...before]: readonly string[] = []) {
    this.child = spawn(file, [...before, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    this.exit = new Promise((resolve) => this.child.on('close', resolve));
  }

  async says(pattern: RegExp): Promise<void> {
    const until = performance.now() + TIMEOUT_MS;
    while (!pattern.test(this.output)) {
      if (performance.now() > until || this.child.exitCode !== null)
        throw new Error(`no ${pattern} in:\n${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

let runDir = '';
let runs: Run[] = [];

beforeEach(async () => {
  // The run directory is not below a deep temporary directory, because it contains sockets.
  runDir = await mkdtemp('/tmp/na-run-');
});

afterEach(async () => {
  for (const { child, exit } of runs) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exit;
  }
  runs = [];
  await rm(runDir, { recursive: true, force: true });
});

function start(...args: readonly string[]): Run {
  const run = new Run([...FLAGS, PROGRAM, '--run-dir', runDir, ...args]);
  runs.push(run);
  return run;
}

/** Returns everything on the machine that contains the run directory's name. */
async function leftovers(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(runDir)) found.push(`process ${name}: ${line.replaceAll('\0', ' ')}`);
  }
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').filter((line) => line.includes(runDir));
  const bridge = `na-${createHash('sha256').update(placesIn(runDir).containerdDir).digest('hex').slice(0, 8)}`;
  const linesOf = async (file: string, args: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await promisify(execFile)(file, args).catch(() => ({ stdout: '' }));
    return stdout.split('\n').filter((line) => line.includes(bridge));
  };
  const links = await linesOf('ip', ['-o', 'link']);
  const rules = await linesOf('iptables', ['-t', 'nat', '-S']);
  return [...found, ...mounts, ...links, ...rules];
}

/** Runs the program as `npm start` does. */
function bootstrapScript(): string {
  const bootstrap = fileURLToPath(new URL('../../bootstrap/child.mjs', import.meta.url));
  const args = JSON.stringify([...FLAGS, PROGRAM, '--run-dir', runDir, '--runtime', 'fake']);
  return `import(${JSON.stringify(bootstrap)}).then(async ({ runChild }) =>
    process.exit(await runChild(process.execPath, ${args}, process.env, { passesInterrupt: true })))`;
}

const SETTLED = ['clock', 'crasher', 'shared'].map(running);

/**
 * Matches the line that reports a pod as Running. Between two reads of its status, the pod may be new or change its
 * phase.
 */
function running(pod: string): RegExp {
  return new RegExp(`${pod}-\\S+: (new, |phase \\S+ -> )Running`);
}

describe('npm start with the fake runtime', { timeout: TIMEOUT_MS }, () => {
  test('npm start runs the sample, prints a line for each change, and leaves nothing after SIGINT', async () => {
    const run = start('--runtime', 'fake');
    for (const pattern of SETTLED) await run.says(pattern);
    await run.says(/page: +\S+/);
    const page = /page: +(\S+)/.exec(run.output)?.[1] ?? '';
    expect(await (await fetch(page)).text()).toContain('<title>Node</title>');
    expect((await fetch(new URL('/events', page))).status).toBe(404);
    run.child.kill('SIGINT');
    expect(await run.exit).toBe(0);
    expect(run.output.split('\n')[0]).toMatch(/FAKE container runtime .*containers are simulated/);
    expect(run.output).toMatch(/shared-\S+: ready 0\/2 -> 2\/2/);
    expect(run.output).not.toContain('\x1b');
    expect(await leftovers()).toEqual([]);
    expect((await readdir(runDir)).sort()).toEqual(['kubelet.log', 'kubelet.yaml', 'logs', 'manifests']);
  });

  test("npm start runs the user's own manifests, follows their changes, and reports their problems", async () => {
    const manifests = join(runDir, 'mine');
    const pod = (name: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'c', image: 'busybox', command: ['sleep', 'infinity'] }],
        },
      });
    const missing = start('--runtime', 'fake', '--manifests', manifests);
    expect(await missing.exit).toBe(1);
    expect(missing.output).toMatch(/--manifests .*mine: no such directory/);
    await mkdir(manifests);
    await writeFile(join(manifests, 'one.json'), pod('one'));
    const run = start('--runtime', 'fake', '--manifests', manifests);
    await run.says(running('one'));
    await writeFile(join(manifests, 'two.json'), pod('two'));
    await run.says(running('two'));
    await writeFile(join(manifests, 'three.json'), '{');
    await run.says(/manifest: .*three\.json/);
    await rm(join(manifests, 'one.json'));
    await run.says(/one-\S+: gone/);
    run.child.kill('SIGTERM');
    expect(await run.exit).toBe(0);
    expect(await readdir(manifests)).toEqual(['three.json', 'two.json']);
  });

  test.each<[string, (run: Run) => void]>([
    ['SIGHUP (the terminal closes)', ({ child }) => child.kill('SIGHUP')],
    ['SIGQUIT', ({ child }) => child.kill('SIGQUIT')],
    ['the output was closed (| head)', ({ child }) => child.stdout?.destroy()],
    [
      'SIGINT and a closed output (| tee)',
      ({ child }) => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        child.kill('SIGINT');
      },
    ],
  ])('npm start leaves nothing running or mounted after %s', async (_how, end) => {
    const run = start('--runtime', 'fake');
    for (const pattern of SETTLED) await run.says(pattern);
    end(run);
    expect(await run.exit, run.output).toBe(0);
    expect(await leftovers()).toEqual([]);
  });

  test('npm start leaves nothing running or mounted when its parent process is killed', async () => {
    const args = [...FLAGS, PROGRAM, '--run-dir', runDir, '--runtime', 'fake'];
    // The shell has a second command, so that it stays the parent process.
    const run = new Run(args, ['/bin/sh', '-c', '"$0" "$@"; exit 1', process.execPath]);
    runs.push(run);
    for (const pattern of SETTLED) await run.says(pattern);
    run.child.kill('SIGKILL');
    await run.exit; // The output closes when the last process that holds it exits.
    expect(run.output).toMatch(/stopped after/);
    expect(await leftovers()).toEqual([]);
  });

  test("npm start stops on a SIGINT that only the npm script's process receives", async () => {
    const run = new Run(['-e', bootstrapScript()]);
    runs.push(run);
    for (const pattern of SETTLED) await run.says(pattern);
    run.child.kill('SIGINT');
    expect(await run.exit).toBe(0);
    expect(run.output).toMatch(/stopped after/);
    expect(await leftovers()).toEqual([]);
  });

  test.each(['SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    'npm start stops when %s ends the shell between npm and the program',
    async (signal) => {
      const run = new Run(['-e', bootstrapScript()], ['/bin/sh', '-c', '"$0" "$@"; exit 1', process.execPath]);
      runs.push(run);
      for (const pattern of SETTLED) await run.says(pattern);
      run.child.kill(signal);
      await run.exit;
      expect(run.output).toMatch(/stopped after/);
      expect(await leftovers()).toEqual([]);
    },
  );

  test('a second run in the same directory starts with restart count 0 and keeps the logs of the first run', async () => {
    for (const previous of [false, true]) {
      const run = start('--runtime', 'fake');
      for (const pattern of SETTLED) await run.says(pattern);
      run.child.kill('SIGINT');
      expect(await run.exit).toBe(0);
      expect(run.output).not.toMatch(/clock-\S+: restarts/);
      const places = placesIn(runDir);
      const logs = await readdir(previous ? places.previousLogs : places.podLogs);
      expect(logs.some((name) => name.startsWith('default_clock-'))).toBe(true);
      const clock = (await readdir(places.podLogs)).find((name) => name.startsWith('default_clock-')) ?? '';
      expect(await readdir(join(places.podLogs, clock, 'clock'))).toEqual(['0.log']);
    }
  });

  test('npm start rejects a second run in the same directory', async () => {
    const first = start('--runtime', 'fake');
    await first.says(/runtime ready/);
    const second = start('--runtime', 'fake');
    expect(await second.exit).toBe(1);
    expect(second.output).toMatch(/another node is running in/);
  });

  test("npm start exits with the end of the kubelet's log if the kubelet keeps exiting", async () => {
    let output = '';
    const exitCode = await runStandalone(['--runtime', 'fake', '--run-dir', runDir], {
      output: { write: (text: string) => (output += text) },
      kubelet: { file: '/bin/sh', args: ['-c', 'echo no such luck; exit 3'] },
      ending: new AbortController().signal,
      hurry: new AbortController().signal,
    });
    expect(exitCode).toBe(1);
    expect(output).toMatch(/the kubelet keeps exiting: exited with exit code 3\nno such luck/);
    expect(await leftovers()).toEqual([]);
  });

  test("npm start gives the kubelet a certificate directory of its own, not that of the machine's kubelet", async () => {
    let output = '';
    await runStandalone(['--runtime', 'fake', '--run-dir', runDir], {
      output: { write: (text: string) => (output += text) },
      kubelet: { file: '/bin/sh', args: ['-c', 'echo "$0" "$@"; exit 3'] },
      ending: new AbortController().signal,
      hurry: new AbortController().signal,
    });
    expect(output).toContain(`--cert-dir=${runDir}/`);
  });

  test('npm start with --once-ready exits when every pod is running', async () => {
    const run = start('--runtime', 'fake', '--once-ready');
    expect(await run.exit).toBe(0);
    expect(run.output).toMatch(/every pod is running after/);
    expect(await leftovers()).toEqual([]);
  });

  test('npm start rejects an unknown flag with the usage, and a runtime that does not respond with its endpoint', async () => {
    const typo = start('--runtimes', 'fake');
    expect(await typo.exit).toBe(2);
    expect(typo.output).toMatch(/--runtimes[\s\S]*Usage:/);
    const absent = start('--runtime', `unix://${runDir}/none.sock`);
    expect(await absent.exit).toBe(1);
    expect(absent.output).toMatch(/none\.sock: container runtime does not answer/);
  });
});

describe('npm start with containerd', { timeout: 2 * TIMEOUT_MS }, () => {
  test('npm start runs all pods with a private containerd, and leaves no process, mount, bridge, rule or cgroup after SIGINT', async (context) => {
    const found = await findContainerd();
    if ('reason' in found) return context.skip(found.reason);
    const run = start();
    for (const pattern of SETTLED) await run.says(pattern);
    const [bridge, rule] = [/^\d+: na-/, /^-A POSTROUTING/];
    for (const kind of [/^process /, / \/tmp\/na-run/, bridge, rule])
      expect(await leftovers()).toContainEqual(expect.stringMatching(kind));
    const bundles = join(placesIn(runDir).containerdDir, 'state/io.containerd.runtime.v2.task/k8s.io');
    const ids = await readdir(bundles);
    expect(ids.length).toBeGreaterThanOrEqual(6);
    run.child.kill('SIGINT');
    expect(await run.exit, run.output).toBe(0);
    expect(run.output.split('\n')[0]).toMatch(/a private containerd \d/);
    expect(await leftovers()).toEqual([]);
    const controllers = await readdir('/sys/fs/cgroup');
    const groups = await Promise.all(
      ['', ...controllers].map((name) => readdir(join('/sys/fs/cgroup', name, 'k8s.io')).catch(() => [])),
    );
    expect(groups.flat().filter((name) => ids.includes(name))).toEqual([]);
    expect((await readdir(runDir)).sort()).toEqual([
      'containerd.log',
      'kubelet.log',
      'kubelet.yaml',
      'logs',
      'manifests',
    ]);
  });

  test('npm start does not wait for grace periods after a second SIGINT', async (context) => {
    const found = await findContainerd();
    if ('reason' in found) return context.skip(found.reason);
    const manifests = join(runDir, 'mine');
    await mkdir(manifests);
    const command = ['sh', '-c', 'trap "" TERM; while true; do sleep 1; done'];
    const container = { name: 'c', image: PAUSE_IMAGE, imagePullPolicy: 'Never', command };
    const spec = { terminationGracePeriodSeconds: 60, dnsPolicy: 'Default', containers: [container] };
    const deaf = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'deaf' }, spec };
    await writeFile(join(manifests, 'deaf.json'), JSON.stringify(deaf));
    const run = start('--manifests', manifests);
    await run.says(running('deaf'));
    run.child.kill('SIGINT');
    await run.says(/stopping the pods/);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(run.child.exitCode).toBe(null);
    const secondAt = performance.now();
    run.child.kill('SIGINT');
    expect(await run.exit, run.output).toBe(0);
    expect(performance.now() - secondAt).toBeLessThan(30_000);
    expect(await leftovers()).toEqual([]);
  });

  test('npm start removes the leftovers of a run that was killed with kill -9, and starts normally', async (context) => {
    const found = await findContainerd();
    if ('reason' in found) return context.skip(found.reason);
    const first = start();
    for (const pattern of SETTLED) await first.says(pattern);
    first.child.kill('SIGKILL');
    await first.exit;
    expect(await leftovers()).not.toEqual([]);
    const second = start('--once-ready');
    expect(await second.exit, second.output).toBe(0);
    expect(second.output).toMatch(/removed leftovers of an earlier run/);
    expect(await leftovers()).toEqual([]);
  });

  test('npm start stops only its own pods in an existing containerd', async (context) => {
    const found = await findContainerd();
    if ('reason' in found || cannotRun() !== undefined)
      return context.skip('reason' in found ? found.reason : 'no root');
    const shared = await mkdtemp('/tmp/na-cri-');
    const containerd = containerdOf(placesIn(shared), found.binaries);
    await containerd.start();
    await using client = new CriClient({}, { endpoint: containerd.endpoint });
    try {
      const metadata = { name: 'foreign', namespace: 'x', uid: 'foreign-uid', attempt: 0 };
      await client.runPodSandbox({ config: { metadata, logDirectory: '/tmp', linux: {} } });
      const run = start('--runtime', containerd.endpoint);
      for (const pattern of SETTLED) await run.says(pattern);
      expect((await client.listPodSandbox({})).items).toHaveLength(4);
      run.child.kill('SIGINT');
      expect(await run.exit, run.output).toBe(0);
      const { items } = await client.listPodSandbox({});
      expect(items.map((sandbox) => [sandbox.metadata?.name, sandbox.state])).toEqual([['foreign', 0]]);
      expect(await leftovers()).toEqual([]);
    } finally {
      await containerd.stop();
      await rm(shared, { recursive: true, force: true });
    }
  });
});
