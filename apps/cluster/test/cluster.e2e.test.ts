import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cannotRun, findContainerd, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { findCluster, missingClusterPrograms } from '@node-agent/tools-control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { placesIn } from '../src/places.ts';
import { readState } from '../src/state.ts';

const exec = promisify(execFile);
/** Built programs, which are linked into one directory as in an installation. */
const PROGRAMS = { kubelet: '../../kubelet/dist/main.js', 'kubelet-cluster': '../dist/main.js' };
const TIMEOUT_MS = 240_000;

/** A running `kubelet cluster` command and its output. */
class Run {
  readonly child: ChildProcess;
  readonly exit: Promise<number | null>;
  output = '';

  constructor(args: readonly string[]) {
    this.child = spawn(join(programs, 'kubelet'), ['cluster', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    this.exit = new Promise((resolve) => this.child.on('close', resolve));
  }

  async says(text: string): Promise<void> {
    const until = performance.now() + TIMEOUT_MS;
    while (!this.output.includes(text)) {
      if (performance.now() > until || this.child.exitCode !== null) throw new Error(`no ${text} in:\n${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function whyNot(): Promise<string | undefined> {
  const reason = cannotRun();
  if (reason !== undefined) return reason;
  const containerd = await findContainerd();
  if ('reason' in containerd) return containerd.reason;
  const missing = await missingClusterPrograms();
  return missing.length === 0 ? undefined : `not built: ${missing.join(', ')}`;
}

let directory = '';
/** Directory of the installed programs. */
let programs = '';
let mountPoints: readonly string[] = [];

beforeAll(async () => {
  // The directory contains sockets, so its path must be short.
  directory = await mkdtemp('/tmp/na-cl-');
  programs = await mkdtemp('/tmp/na-clp-');
  for (const [name, file] of Object.entries(PROGRAMS)) {
    await symlink(fileURLToPath(new URL(file, import.meta.url)), join(programs, name));
    // `access` fails if the packages are not built.
    await access(join(programs, name));
  }
  mountPoints = ['/var/lib/kubelet', '/var/lib/cni', '/var/log/pods'].filter((path) => !existsSync(path));
});

afterAll(async () => {
  await new Run(['down', '--run-dir', directory]).exit;
  for (const made of [directory, programs]) await rm(made, { recursive: true, force: true });
}, TIMEOUT_MS);

/** Returns all processes, cgroups and links of the cluster, and everything else that is left of it on the machine. */
async function traces(): Promise<readonly string[]> {
  const { link, group } = placesIn(directory);
  const found: string[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(directory)) found.push(`process ${name}: ${line.replaceAll('\0', ' ')}`);
  }
  const linesOf = async (file: string, args: readonly string[], text: string): Promise<readonly string[]> => {
    const { stdout } = await exec(file, args).catch(() => ({ stdout: '' }));
    return stdout.split('\n').filter((line) => line.includes(text));
  };
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .filter((line) => line.includes(directory));
  const groups = ['/sys/fs/cgroup', ...(await readdir('/sys/fs/cgroup')).map((name) => join('/sys/fs/cgroup', name))];
  return [
    ...found,
    ...mounts,
    ...groups.map((parent) => join(parent, group)).filter(existsSync),
    ...mountPoints.filter(existsSync),
    ...(await linesOf('ip', ['-o', 'link'], link)),
    ...(await linesOf('ip', ['route'], link)),
    ...(await linesOf('iptables', ['-t', 'nat', '-S'], link)),
    ...(await linesOf('iptables', ['-S'], link)),
    ...[directory].filter(existsSync),
  ];
}

/** Returns the objects of a web server on each node behind one service. The server's page is its pod name. */
function webObjects(): string {
  const labels = { app: 'web' };
  const spread = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: labels },
  };
  const container = { name: 'web', image: PAUSE_IMAGE, command: ['httpd', '-f', '-p', '80', '-h', '/etc'] };
  const template = {
    metadata: { labels },
    spec: { terminationGracePeriodSeconds: 0, topologySpreadConstraints: [spread], containers: [container] },
  };
  const deployment = { replicas: 2, selector: { matchLabels: labels }, template };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: deployment },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web' },
        spec: { selector: labels, ports: [{ port: 80 }] },
      },
    ],
  });
}

/** Returns a pod on a node that requests the page of the service repeatedly by its DNS name. */
function client(nodeName: string): string {
  const ask = 'for i in $(seq 20); do wget -qO- http://web.default.svc.cluster.local/hostname || exit 1; done';
  const container = { name: 'client', image: PAUSE_IMAGE, command: ['sh', '-c', ask] };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `client-${nodeName}` },
    spec: { nodeName, restartPolicy: 'Never', containers: [container] },
  });
}

const reason = await whyNot();
if (reason !== undefined) test('a cluster of two nodes', (context) => context.skip(reason));
else {
  test(
    'two nodes serve a service by its DNS name, and after kill -9 of the command, down leaves nothing behind',
    async () => {
      const found = await findCluster({ say: () => {} });
      if ('reason' in found) throw new Error(found.reason);
      const run = new Run(['--nodes', '2', '--run-dir', directory]);
      await run.says('services and DNS ready');
      await run.says('Ctrl-C removes');
      const kubeconfig = placesIn(directory).kubeconfig;
      const kubectl = async (args: readonly string[], input = ''): Promise<string> => {
        const called = exec(found.binaries.kubectl, [`--kubeconfig=${kubeconfig}`, ...args], { timeout: TIMEOUT_MS });
        called.child.stdin?.end(input);
        return (await called).stdout;
      };
      expect(await kubectl(['get', 'nodes', '--no-headers'])).toMatch(/^node-1 +Ready .*\nnode-2 +Ready /);
      await kubectl(['create', '-f', '-'], webObjects());
      await kubectl(['rollout', 'status', 'deployment/web', '--timeout=120s']);
      for (const node of ['node-1', 'node-2']) await kubectl(['create', '-f', '-'], client(node));
      const isDone = '--for=jsonpath={.status.phase}=Succeeded';
      await kubectl(['wait', isDone, '--timeout=120s', 'pod/client-node-1', 'pod/client-node-2']);
      const pods = (await kubectl(['get', 'pods', '-l', 'app=web', '-o', 'name'])).trim().split('\n').sort();
      for (const node of ['node-1', 'node-2']) {
        const answers = new Set((await kubectl(['logs', `client-${node}`])).trim().split('\n'));
        expect([...answers].map((name) => `pod/${name}`).sort()).toEqual(pods);
      }
      expect((await traces()).length).toBeGreaterThan(5);
      const state = await readState(placesIn(directory).state);
      process.kill(state?.pid ?? 0, 'SIGKILL');
      expect(await run.exit).toBe(1);
      const down = new Run(['down', '--run-dir', directory]);
      expect([await down.exit, down.output]).toEqual([0, `the cluster in ${directory} ended\n`]);
      expect(await traces()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'down during the start leaves nothing behind',
    async () => {
      const run = new Run(['--run-dir', directory]);
      const isConnected = async (): Promise<boolean> => (await traces()).some((line) => line.includes('POSTROUTING'));
      while (!(await isConnected())) await new Promise((resolve) => setTimeout(resolve, 50));
      const down = new Run(['down', '--run-dir', directory]);
      expect([await down.exit, down.output]).toEqual([0, `the cluster in ${directory} ended\n`]);
      expect([await run.exit, run.output]).toEqual([0, 'removing the cluster\n']);
      expect(await traces()).toEqual([]);
    },
    TIMEOUT_MS,
  );
}
