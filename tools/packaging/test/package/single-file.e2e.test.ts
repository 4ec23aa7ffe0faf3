import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { completionScript } from '@node-agent/config';
import { Containerd, cannotRun, findContainerd, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { freePorts } from '@node-agent/tools-ports';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildSingleFiles } from '../../src/package/build.ts';
import { imageArchive } from '../../src/package/image-archive.ts';
import { ownArchitecture } from '../../src/package/node-program.ts';
import { readSource } from '../../src/package/source.ts';

const TIMEOUT_MS = 600_000;
const source = readSource({});
const directory = fs.mkdtempSync('/tmp/sf-');
const kubelet = path.join(directory, 'kubelet');
/** Environment without Node.js in PATH. */
const env = { PATH: '/nowhere', NODE_DEBUG: 'single-file' };
const run = promisify(execFile);

beforeAll(async () => {
  const [file] = await buildSingleFiles(source, [ownArchitecture()]);
  fs.writeFileSync(kubelet, file?.program ?? '', { mode: 0o755 });
  for (const name of ['nodectl', 'kubectl-why']) fs.symlinkSync('kubelet', path.join(directory, name));
}, TIMEOUT_MS);
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

test(
  'the same commit gives a single file of the same bytes',
  async () => {
    const [again] = await buildSingleFiles(source, [ownArchitecture()]);
    expect(sha256(again?.program)).toBe(sha256(fs.readFileSync(kubelet)));
  },
  TIMEOUT_MS,
);

test('kubelet --version names the commit, and V8 accepts the code cache', async () => {
  const { stdout, stderr } = await run(kubelet, ['--version'], { env });
  expect(stdout).toMatch(new RegExp(`^Kubernetes v1\\.\\d+\\.\\d+\\+node-agent\\.[\\d.]+\\.g${source.commit}\n$`));
  expect(stderr).toContain('kubelet: code cache used');
});

test.each(['bash', 'zsh', 'fish'] as const)('kubelet completion prints the completion script for %s', async (shell) => {
  expect((await run(kubelet, ['completion', shell], { env })).stdout).toBe(completionScript(shell));
});

test.each(['nodectl', 'kubectl-why'])(
  '%s is a link to the single file and runs the program of its name',
  async (name) => {
    const { stdout, stderr } = await run(path.join(directory, name), ['--version'], { env });
    expect(stdout).toBe(`${source.versionOf(`packages/${name}`)}\n`);
    expect(stderr).toContain(`${name}: code cache used`);
  },
);

test('kubelet cluster runs the cluster command', async () => {
  const { stdout } = await run(kubelet, ['cluster', '--help'], { env });
  expect(stdout).toMatch(/^Usage: kubelet cluster \[up\]/);
});

test.each([
  // The library for providers is loaded, and has looked for the provider.
  [
    'auth-provider of a kubeconfig',
    { 'auth-provider': { name: 'unknown' } },
    {},
    /auth provider unknown: the provider is unknown/,
  ],
  ['SOCKS proxy', { token: 't' }, { 'proxy-url': 'socks5://127.0.0.1:1' }, /ECONNREFUSED|refused|[Ss]ocks/],
])('kubectl-why loads the libraries that it needs for: %s', async (_name, user, cluster, message) => {
  const file = path.join(directory, 'kubeconfig.json');
  fs.writeFileSync(
    file,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1', ...cluster } }],
      users: [{ name: 'u', user }],
    }),
  );
  const failed = await run(path.join(directory, 'kubectl-why'), ['web', '--kubeconfig', file], { env }).catch(
    (error) => error,
  );
  expect(failed.stderr).toMatch(message);
});

const found = await findContainerd();
const reason = cannotRun() ?? ('reason' in found ? found.reason : undefined);

describe.runIf(reason === undefined)('the single-file kubelet with containerd, in a chroot without Node.js', () => {
  let containerd: Containerd;
  let child: ChildProcess | undefined;
  const config = path.join(directory, 'kubelet.json');
  const socket = path.join(directory, 'admin/admin.sock');
  const nodectl = async (...args: readonly string[]): Promise<string> =>
    (await run(path.join(directory, 'nodectl'), ['--socket', socket, ...args], { env: { PATH: '/nowhere' } })).stdout;

  beforeAll(async () => {
    if ('reason' in found) return;
    containerd = new Containerd({
      binaries: found.binaries,
      directory: path.join(directory, 'c'),
      subnet: '10.199.61.0/24',
    });
    await containerd.start();
    const [healthzPort, port] = await freePorts(2);
    for (const each of ['manifests', 'admin']) fs.mkdirSync(path.join(directory, each), { mode: 0o700 });
    fs.writeFileSync(
      config,
      JSON.stringify({
        ...{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' },
        containerRuntimeEndpoint: containerd.endpoint,
        staticPodPath: path.join(directory, 'manifests'),
        podLogsDir: path.join(directory, 'logs'),
        ...{
          healthzPort,
          port,
          failSwapOn: false,
          failCgroupV1: false,
          cgroupsPerQOS: false,
          enforceNodeAllocatable: [],
        },
        evictionHard: { 'memory.available': '1Mi' },
        logging: { format: 'json' },
      }),
    );
    const flags = ['--config', config, '--admin-socket', socket, '--hostname-override', 'n'];
    const places = ['--root-dir', path.join(directory, 'root'), '--cert-dir', path.join(directory, 'pki')];
    child = spawn('unshare', ['--mount', 'sh', '-ec', WITHOUT_NODE, kubelet, directory, ...flags, ...places], {
      stdio: ['ignore', fs.openSync(path.join(directory, 'log'), 'w'), fs.openSync(path.join(directory, 'log'), 'a')],
    });
  }, TIMEOUT_MS);
  afterAll(async () => {
    if (child?.exitCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await containerd?.stop();
  }, TIMEOUT_MS);

  test(
    'the single-file kubelet runs a pod whose manifest is read by the worker thread',
    async () => {
      // More than 32 KiB are read by the worker thread.
      const metadata = { name: 'web', annotations: { large: 'x'.repeat(40_000) } };
      writeManifest('web', { ...pod, metadata });
      await expect
        .poll(async () => nodectl('pods', 'web', '--check').catch(logTail), { timeout: TIMEOUT_MS })
        .toContain('Running');
      const command = 'command -v node || echo no node here';
      expect(await nodectl('exec', 'web', '--', 'sh', '-c', command)).toBe('no node here\n');
      await expect.poll(async () => nodectl('logs', 'web'), { timeout: TIMEOUT_MS }).toBe('hello\n');
      expect(await nodectl('node', '-o', 'json')).toContain(source.commit);
    },
    TIMEOUT_MS,
  );

  test(
    'the single-file kubelet removes a large volume, which only the helper process does',
    async () => {
      fs.rmSync(path.join(directory, 'manifests/web.json'));
      const pods = path.join(directory, 'root/pods');
      await expect.poll(() => fs.readdirSync(pods), { timeout: TIMEOUT_MS }).toEqual([]);
      writeManifest('again', { ...pod, metadata: { name: 'again' } });
      await expect
        .poll(async () => nodectl('pods', 'again', '--check').catch(logTail), { timeout: TIMEOUT_MS })
        .toContain('Running');
    },
    TIMEOUT_MS,
  );

  test(
    'the part end-pods ends the pods of a stopped kubelet, as the removal of the package does',
    async () => {
      child?.kill('SIGTERM');
      if (child) await once(child, 'exit');
      expect(child?.exitCode).toBe(0);
      const { stdout } = await run(kubelet, ['--node-agent-part=end-pods', '--config', config], {
        env: { PATH: '/nowhere' },
      });
      // The sandbox of the removed pod with many files may still wait for its garbage collection.
      expect(stdout).toMatch(/^ended [12] pods\n$/);
    },
    TIMEOUT_MS,
  );

  test(
    'kubelet cluster up --detach starts the single file again as the cluster command',
    async () => {
      const args = ['up', '--detach', '--run-dir', path.join(directory, 'cl'), '--binaries', '/nowhere'];
      const failed = await run(kubelet, ['cluster', ...args]).catch((error) => error);
      expect(failed).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/^kubelet cluster: find the programs of the cluster: \/nowhere has no etcd, /),
      });
      expect(fs.existsSync(path.join(directory, 'cl'))).toBe(false);
    },
    TIMEOUT_MS,
  );

  test(
    'ctr imports the image archive',
    async () => {
      if ('reason' in found) return;
      const archive = path.join(directory, 'image.tar');
      const content = {
        reference: 'node-agent.local/kubelet:test',
        program: fs.readFileSync(kubelet),
        links: ['nodectl'],
        labels: {},
      };
      fs.writeFileSync(archive, imageArchive({ ...content, architecture: ownArchitecture(), seconds: source.seconds }));
      const ctr = ['--address', containerd.endpoint.replace('unix://', ''), '-n', 'test', 'images'];
      execFileSync(found.binaries.ctr, [...ctr, 'import', '--snapshotter', 'native', '--no-unpack', archive], {
        stdio: 'pipe',
      });
      expect(execFileSync(found.binaries.ctr, [...ctr, 'ls', '-q'], { encoding: 'utf8' })).toBe(
        `${content.reference}\n`,
      );
      execFileSync(found.binaries.ctr, [...ctr, 'rm', content.reference]);
    },
    TIMEOUT_MS,
  );
});

/** Number of files in the pod's volume: the kubelet's own process removes up to 1000. */
const FILES = 1500;
const SCRIPT = `i=0; while [ $i -lt ${FILES} ]; do : >/data/$i; i=$((i+1)); done; echo hello; exec sleep 1000`;
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        ...{ name: 'm', image: PAUSE_IMAGE, imagePullPolicy: 'Never', command: ['sh', '-c', SCRIPT] },
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ],
    volumes: [{ name: 'data', emptyDir: {} }],
  },
};

function writeManifest(name: string, manifest: object): void {
  const file = path.join(directory, `${name}.new`);
  fs.writeFileSync(file, JSON.stringify(manifest));
  fs.renameSync(file, path.join(directory, 'manifests', `${name}.json`));
}

/**
 * Makes a root directory of the system's directories and the test's, in which no Node.js can run, and starts the kubelet
 * there. Arguments: the program, the test's directory, the kubelet's flags.
 */
const WITHOUT_NODE = `
new=$1/new-root; own=$1; shift
mkdir "$new"; mount -t tmpfs tmpfs "$new"
for each in usr lib lib64 bin sbin etc proc sys dev run; do
  if [ -L /$each ]; then cp -P /$each "$new/"
  elif [ -d /$each ]; then mkdir "$new/$each"; mount --rbind /$each "$new/$each"; fi
done
mkdir -p "$new$own" "$new/var/lib"; mount --rbind "$own" "$new$own"
for each in usr/bin usr/local/bin; do
  [ ! -e "$new/$each/node" ] || mount --bind /dev/null "$new/$each/node"
done
unset NODE_OPTIONS
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
if chroot "$new" node --version; then echo "Node.js is in the new root"; exit 1; fi
exec chroot "$new" "$0" "$@"
`;

function readOrNothing(file: string): string {
  try {
    return fs.readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

function logTail(): string {
  return readOrNothing(path.join(directory, 'log')).slice(-1000);
}

function sha256(data: Uint8Array = new Uint8Array()): string {
  return createHash('sha256').update(data).digest('hex');
}
