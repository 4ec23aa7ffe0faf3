import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { CriClient } from '@node-agent/cri-client';
import { Containerd, type Found } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { containerId, script, TestNode } from './test-node.ts';

const exec = promisify(execFile);
const TIMEOUT_MS = 120_000;
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';

/** Registers tests of a real kubelet with manifests on a real containerd, including restarts of both. */
export function nodeSuite(title: string, found: Found, subnet: string): void {
  if ('reason' in found) {
    test(`${title} runs pods`, (context) => context.skip(found.reason));
    return;
  }
  const { binaries } = found;
  describe(title, { timeout: TIMEOUT_MS }, () => {
    let directory = '';
    let containerd: Containerd;
    let cri: CriClient;
    let node: TestNode;

    beforeAll(async () => {
      // The path is short, because the directory contains Unix sockets, whose paths have a maximum length.
      directory = await mkdtemp('/tmp/na-e2e-');
      containerd = new Containerd({ binaries, directory: join(directory, 'c'), subnet });
      await containerd.start();
      cri = new CriClient({}, { endpoint: containerd.endpoint });
      node = new TestNode({
        directory,
        endpoint: containerd.endpoint,
        configuration: { containerLogMaxSize: '20Ki', containerLogMaxFiles: 50, containerLogMonitorInterval: '3s' },
      });
      await node.start();
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      await cri?.close();
      await containerd?.stop();
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    const sandboxesOf = async (uid: string) => {
      const { items } = await cri.listPodSandbox({});
      return items.filter(({ metadata }) => metadata?.uid === uid);
    };
    /** Waits for the sandbox: a pod whose manifest was removed is no longer served, but its containers stop later. */
    const stopped = (uid: string): Promise<boolean> =>
      node.until('the sandbox to be stopped', async () =>
        (await sandboxesOf(uid)).every(({ state }) => state !== 0) ? true : undefined,
      );
    const killContainer = async (id: string): Promise<void> => {
      const socket = containerd.endpoint.slice('unix://'.length);
      await exec(binaries.ctr, ['--address', socket, '-n', 'k8s.io', 'task', 'kill', '-s', 'SIGKILL', id]);
    };
    const exists = (path: string): Promise<boolean> =>
      access(path).then(
        () => true,
        () => false,
      );
    const restartsOf = (pod: Awaited<ReturnType<TestNode['running']>>): number =>
      pod.status?.containerStatuses?.[0]?.restartCount ?? -1;

    test('starts a pod for an added manifest, replaces it for an edited manifest, and stops it for a removed manifest', async () => {
      const spec = (text: string): object => ({ containers: [script('c', `echo ${text}; ${FOREVER}`)] });
      await node.write({ name: 'life', spec: spec('one') });
      const first = await node.running('life');
      expect(first.status?.phase).toBe('Running');
      expect(first.status?.podIP).toMatch(new RegExp(`^${subnet.replace(/\d+\/24$/, '').replaceAll('.', '\\.')}`));
      const { uid } = first.metadata;
      expect(await exists(join(node.rootDir, 'pods', uid))).toBe(true);

      await node.write({ name: 'life', spec: spec('two') });
      const second = await node.podUntil('life', (pod) => pod.metadata.uid !== uid && pod.status?.phase === 'Running');
      expect(containerId(second)).not.toBe(containerId(first));
      const log = join(node.podLogs, `default_life-e2e_${second.metadata.uid}`, 'c', '0.log');
      await node.until('its log', async () => ((await readFile(log, 'utf8')).includes('two') ? true : undefined));

      await node.remove('life');
      for (const one of [uid, second.metadata.uid]) await stopped(one);
      await node.until('the directory to be gone', async () =>
        (await exists(join(node.rootDir, 'pods', second.metadata.uid))) ? undefined : true,
      );
    });

    test('F2: keeps a pod whose manifest becomes invalid, and follows the manifest once it is valid', async () => {
      const spec = { containers: [script('c', FOREVER)] };
      await node.write({ name: 'fragile', spec });
      const before = await node.running('fragile');
      await node.writeText('fragile', '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ');
      await node.until('a line in the log', async () =>
        /"Manifest has a problem"/.test(await readFile(node.logFile, 'utf8')) ? true : undefined,
      );
      await node.write({ name: 'beside', spec });
      await node.running('beside');
      expect(containerId(await node.running('fragile'))).toBe(containerId(before));
      await node.write({ name: 'fragile', spec });
      await node.remove('beside');
      expect(containerId(await node.running('fragile'))).toBe(containerId(before));
      await node.remove('fragile');
    });

    test('restarts a killed container and reports its termination as the last state', async () => {
      await node.write({ name: 'victim', spec: { containers: [script('c', FOREVER), script('other', FOREVER)] } });
      const before = await node.running('victim');
      await killContainer(containerId(before, 'c'));
      const after = await node.podUntil(
        'victim',
        (pod) => restartsOf(pod) === 1 && containerId(pod) !== containerId(before),
      );
      const status = after.status?.containerStatuses?.find(({ name }) => name === 'c');
      expect(status?.lastState?.terminated).toMatchObject({
        exitCode: 137,
        containerID: `containerd://${containerId(before, 'c')}`,
      });
      expect(containerId(after, 'other')).toBe(containerId(before, 'other'));
      await node.remove('victim');
    });

    test('K1: after a kill -9, the next kubelet keeps running containers, restarts exited ones and starts new pods', async () => {
      const spec = { containers: [script('c', FOREVER)] };
      await node.write({ name: 'steady', spec });
      await node.write({ name: 'dying', spec });
      const [steady, dying] = [await node.running('steady'), await node.running('dying')];
      await node.kill('SIGKILL');
      await killContainer(containerId(dying));
      await node.write({ name: 'late', spec });
      await node.start();
      await node.running('late');
      const reborn = await node.podUntil('dying', (pod) => restartsOf(pod) === 1);
      expect(containerId(reborn)).not.toBe(containerId(dying));
      const adopted = await node.running('steady');
      expect(containerId(adopted)).toBe(containerId(steady));
      expect([adopted.metadata.uid, adopted.status?.podIP]).toEqual([steady.metadata.uid, steady.status?.podIP]);
      expect(restartsOf(adopted)).toBe(0);
      const { containers } = await cri.listContainers({ filter: { state: { state: 1 } } });
      const names = containers.map(({ labels }) => labels['io.kubernetes.pod.name']).sort();
      expect(names).toEqual(['dying-e2e', 'late-e2e', 'steady-e2e']);
      for (const name of ['steady', 'dying', 'late']) await node.remove(name);
    });

    test('K1, C1: after kills at any instant of starting and stopping pods, each pod has one container of each name', async () => {
      const names = ['n1', 'n2', 'n3', 'n4', 'n5'];
      const spec = {
        initContainers: [script('i', 'sleep 0.3')],
        containers: [script('a', FOREVER), script('b', FOREVER)],
      };
      for (const [index, name] of names.entries()) {
        await node.write({ name, spec });
        if (index > 2) await rm(join(node.manifests, `${names[index - 3]}.json`));
        // The kubelet needs about a second to start: the kills fall before, during and after the first syncs.
        await new Promise((resolve) => setTimeout(resolve, 700 + 400 * index));
        await node.kill('SIGKILL');
        await node.start();
      }
      for (const name of names.slice(2)) await node.running(name);
      const live = await node.until('the containers that are wanted, and no others', async () => {
        const { containers } = await cri.listContainers({ filter: { state: { state: 1 } } });
        const found = containers.map(({ labels, metadata }) => `${labels['io.kubernetes.pod.name']}/${metadata?.name}`);
        return found.length === 6 ? found.sort() : undefined;
      });
      expect(live).toEqual(names.slice(2).flatMap((name) => [`${name}-e2e/a`, `${name}-e2e/b`]));
      // A container that the runtime can neither start nor remove counts as a restart of its successor.
      const { containers: ended } = await cri.listContainers({ filter: { state: { state: 2 } } });
      const statuses = await Promise.all(ended.map(({ id }) => cri.containerStatus({ containerId: id })));
      const stuck = statuses.flatMap(({ status }) => (status !== null && !(status.startedAt > 0) ? [status] : []));
      for (const name of names.slice(2)) {
        const pod = await node.running(name);
        const { uid } = pod.metadata;
        const own = stuck.filter(
          ({ labels, metadata }) => labels['io.kubernetes.pod.uid'] === uid && metadata?.name === 'a',
        );
        expect(restartsOf(pod)).toBe(own.length);
      }
      for (const name of names.slice(2)) await node.remove(name);
      await node.until('the end of all', async () => {
        const { items } = await cri.listPodSandbox({ filter: { state: { state: 0 } } });
        return items.length === 0 ? true : undefined;
      });
    });

    test('K2: reports a hung runtime, and loses or duplicates no pod when the runtime continues', async () => {
      const spec = { containers: [script('c', FOREVER)] };
      await node.write({ name: 'patient', spec });
      const before = await node.running('patient');
      const { pid } = containerd;
      if (pid === undefined) throw new Error('containerd does not run');
      process.kill(pid, 'SIGSTOP');
      try {
        await node.write({ name: 'newcomer', spec });
        const sick = await node.until('the kubelet to be unhealthy', async () => {
          const health = await node.health();
          return health?.ok === false ? health : undefined;
        });
        expect(sick.text).toMatch(/\[-\]runtime/);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await node.until('the kubelet to be healthy', async () => ((await node.health())?.ok ? true : undefined), 20_000);
      await node.running('newcomer');
      const after = await node.running('patient');
      expect(containerId(after)).toBe(containerId(before));
      expect(restartsOf(after)).toBe(0);
      for (const name of ['patient', 'newcomer']) await node.remove(name);
    });

    test('K2: pods keep their containers over a restart of containerd, and new pods start', async () => {
      const spec = { containers: [script('c', FOREVER)] };
      await node.write({ name: 'calm', spec });
      const before = await node.running('calm');
      await containerd.killProcess('SIGKILL');
      await node.write({ name: 'meanwhile', spec });
      expect(containerId(await node.running('calm'))).toBe(containerId(before));
      await containerd.startProcess();
      await node.until('the kubelet to be healthy', async () => ((await node.health())?.ok ? true : undefined));
      await node.running('meanwhile');
      const after = await node.running('calm');
      expect(containerId(after)).toBe(containerId(before));
      expect(restartsOf(after)).toBe(0);
      for (const name of ['calm', 'meanwhile']) await node.remove(name);
    });

    // The tests run concurrently, because they mostly wait.
    describe('concurrent pods', { concurrent: true, timeout: TIMEOUT_MS }, () => {
      test('a removed pod gets its grace period and not more', async () => {
        const volumes = [{ name: 'out', hostPath: { path: join(directory, 'grace'), type: 'DirectoryOrCreate' } }];
        const volumeMounts = [{ name: 'out', mountPath: '/out' }];
        const polite = 'trap "sleep 1; echo done > /out/polite; exit 0" TERM; while true; do sleep 1 & wait $!; done';
        const deaf = 'trap "" TERM; while true; do sleep 1; done';
        const containers = [script('polite', polite, { volumeMounts }), script('deaf', deaf)];
        await node.write({ name: 'grace', spec: { terminationGracePeriodSeconds: 4, volumes, containers } });
        const pod = await node.running('grace');
        const startedAt = performance.now();
        await node.remove('grace');
        await stopped(pod.metadata.uid);
        const tookMs = performance.now() - startedAt;
        expect(await readFile(join(directory, 'grace/polite'), 'utf8')).toBe('done\n');
        expect(tookMs).toBeGreaterThan(3_500);
        expect(tookMs).toBeLessThan(15_000);
      });

      test('an emptyDir is shared and removed with its pod; a hostPath is kept', async () => {
        const shared = join(directory, 'shared');
        await mkdir(shared);
        await writeFile(join(shared, 'in'), 'from the node');
        const volumes = [
          { name: 'empty', emptyDir: {} },
          { name: 'memory', emptyDir: { medium: 'Memory' } },
          { name: 'host', hostPath: { path: shared, type: 'Directory' } },
        ];
        const volumeMounts = [
          { name: 'empty', mountPath: '/empty' },
          { name: 'memory', mountPath: '/memory' },
          { name: 'host', mountPath: '/host' },
        ];
        const writer = `cp /host/in /empty/in; grep ' /memory ' /proc/mounts > /host/mounts; ${FOREVER}`;
        const reader = `until test -s /empty/in; do sleep 0.1; done; cp /empty/in /host/out; ${FOREVER}`;
        const containers = [script('writer', writer, { volumeMounts }), script('reader', reader, { volumeMounts })];
        await node.write({ name: 'volumes', spec: { volumes, containers } });
        const { uid } = (await node.running('volumes')).metadata;
        const text = await node.until(
          'the copy',
          async () => (await readFile(join(shared, 'out'), 'utf8')) || undefined,
        );
        expect(text).toBe('from the node');
        expect(await readFile(join(shared, 'mounts'), 'utf8')).toMatch(/^tmpfs \/memory tmpfs /);
        const empty = join(node.rootDir, 'pods', uid, 'volumes/kubernetes.io~empty-dir/empty/in');
        expect(await readFile(empty, 'utf8')).toBe('from the node');
        await node.remove('volumes');
        await node.until('the directory to be gone', async () =>
          (await exists(join(node.rootDir, 'pods', uid))) ? undefined : true,
        );
        expect((await readdir(shared)).sort()).toEqual(['in', 'mounts', 'out']);
        expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(uid);
      });

      test('C3: init containers run one after another, in order, before the main containers', async () => {
        const volumes = [{ name: 'out', hostPath: { path: join(directory, 'order'), type: 'DirectoryOrCreate' } }];
        const volumeMounts = [{ name: 'out', mountPath: '/out' }];
        const step = (name: string): object =>
          script(name, `echo ${name} begins >> /out/log; sleep 0.5; echo ${name} ends >> /out/log`, { volumeMounts });
        const main = script('main', `echo main begins >> /out/log; ${FOREVER}`, { volumeMounts });
        await node.write({
          name: 'order',
          spec: { volumes, initContainers: [step('a'), step('b')], containers: [main] },
        });
        const pod = await node.running('order');
        const log = await node.until('the log', async () => {
          const text = await readFile(join(directory, 'order/log'), 'utf8');
          return text.includes('main') ? text : undefined;
        });
        expect(log.trim().split('\n')).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'main begins']);
        expect(pod.status?.initContainerStatuses?.map(({ state }) => state?.terminated?.reason)).toEqual([
          'Completed',
          'Completed',
        ]);
        await node.remove('order');
      });

      test('C2: restarts a failed container immediately the first time, then waits in CrashLoopBackOff', async () => {
        await node.write({ name: 'crash', spec: { containers: [script('c', 'echo no luck; exit 7')] } });
        const pod = await node.podUntil(
          'crash',
          ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
        );
        const status = pod.status?.containerStatuses?.[0];
        expect(status?.lastState?.terminated).toMatchObject({ exitCode: 7, reason: 'Error' });
        expect(status?.state?.waiting?.message).toMatch(
          /^back-off 10s restarting failed container=c pod=crash-e2e_default\(/,
        );
        expect(pod.status?.phase).toBe('Running');
        const firstEnd = status?.lastState?.terminated?.finishedAt;
        const second = await node.podUntil(
          'crash',
          (now) =>
            restartsOf(now) > restartsOf(pod) &&
            now.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
        );
        const started = second.status?.containerStatuses?.[0]?.lastState?.terminated?.startedAt;
        expect(Date.parse(String(started)) - Date.parse(String(firstEnd))).toBeGreaterThanOrEqual(9_000);
        expect((await node.events('crash')).map(({ reason }) => reason)).toContain('BackOff');
        await node.remove('crash');
      });

      test('a completed pod is Succeeded or Failed by its exit codes, and stays so', async () => {
        const spec = (text: string): object => ({ restartPolicy: 'Never', containers: [script('c', text)] });
        await node.write({ name: 'good', spec: spec('exit 0') });
        await node.write({ name: 'bad', spec: spec('echo why > /dev/termination-log; exit 4') });
        await node.podUntil('good', ({ status }) => status?.phase === 'Succeeded');
        const bad = await node.podUntil('bad', ({ status }) => status?.phase === 'Failed');
        expect(bad.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 4, message: 'why\n' });
        for (const name of ['good', 'bad']) await node.remove(name);
      });

      test('a pod whose image cannot be pulled waits with the reason, and other pods run', async () => {
        const image = '127.0.0.1:1/none/such:1';
        await node.write({ name: 'never', spec: { containers: [{ name: 'c', image, imagePullPolicy: 'Never' }] } });
        await node.write({ name: 'pull', spec: { containers: [{ name: 'c', image }] } });
        const waits = (name: string, reason: string) =>
          node.podUntil(name, ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === reason);
        await waits('never', 'ErrImageNeverPull');
        await waits('pull', 'ErrImagePull');
        const backingOff = await waits('pull', 'ImagePullBackOff');
        expect(backingOff.status?.phase).toBe('Pending');
        expect((await node.events('pull')).map(({ message }) => message).join('\n')).toMatch(
          /Failed to pull image "127\.0\.0\.1:1\S+ failed to pull and unpack image /,
        );
        for (const name of ['never', 'pull']) await node.remove(name);
      });

      test("a pod with hostNetwork has the node's address and network namespace", async () => {
        const text = `readlink /proc/self/ns/net > /out/namespace; ${FOREVER}`;
        const volumes = [{ name: 'out', hostPath: { path: join(directory, 'network'), type: 'DirectoryOrCreate' } }];
        const containers = [script('c', text, { volumeMounts: [{ name: 'out', mountPath: '/out' }] })];
        await node.write({ name: 'host', spec: { hostNetwork: true, volumes, containers } });
        const pod = await node.running('host');
        expect(pod.status?.podIP).toBe(pod.status?.hostIP);
        const namespace = await node.until(
          'the namespace',
          async () => (await readFile(join(directory, 'network/namespace'), 'utf8')) || undefined,
        );
        expect(namespace.trim()).toBe(await readlink('/proc/self/ns/net'));
        await node.remove('host');
      });

      test('N7: rotates a log at its maximum size without losing a line', async () => {
        const lines = 3000;
        const text = `i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "line $i of many"; [ $((i % 100)) = 0 ] && sleep 0.3; done; ${FOREVER}`;
        await node.write({ name: 'talker', spec: { containers: [script('c', text)] } });
        const { uid } = (await node.running('talker')).metadata;
        const logs = join(node.podLogs, `default_talker-e2e_${uid}`, 'c');
        const read = async (name: string): Promise<string> => {
          const bytes = await readFile(join(logs, name));
          return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
        };
        const all = await node.until('all lines and a rotation', async () => {
          const names = await readdir(logs);
          const texts = await Promise.all(names.filter((name) => !name.endsWith('.tmp')).map(read));
          const numbers: readonly string[] = texts.join('').match(/(?<=stdout F line )\d+/g) ?? [];
          return names.length > 2 && numbers.includes(String(lines)) ? { names, numbers } : undefined;
        });
        expect(all.names).toContain('0.log');
        expect(new Set(all.numbers).size).toBe(lines);
        expect(all.numbers).toHaveLength(lines);
        await node.remove('talker');
      });
    });
  });

  describe(`kubelet start without a runtime or disk space on ${title}`, { timeout: TIMEOUT_MS }, () => {
    test('the kubelet waits for a missing runtime, reports it, and starts pods when the runtime runs', async () => {
      const directory = await mkdtemp('/tmp/na-e2e-');
      const parts = subnet.split('.');
      const containerd = new Containerd({
        binaries,
        directory: join(directory, 'c'),
        subnet: `${parts[0]}.${parts[1]}.${Number(parts[2]) + 1}.0/24`,
      });
      const node = new TestNode({ directory, endpoint: containerd.endpoint });
      try {
        await node.start();
        await node.write({ name: 'early', spec: { containers: [script('c', FOREVER)] } });
        const sick = await node.until('the kubelet to be unhealthy', async () => {
          const health = await node.health();
          return health?.ok === false && health.text.includes('[-]runtime') ? health : undefined;
        });
        expect(sick.text).toMatch(/\[-\]runtime/);
        await containerd.start();
        await node.running('early');
        await node.until('the kubelet to be healthy', async () => ((await node.health())?.ok ? true : undefined));
        expect(node.isRunning).toBe(true);
      } finally {
        await node.kill('SIGTERM');
        await containerd.stop();
        await removeDirectory(directory);
      }
    });

    test('a full disk fails only a pod that needs space, with a reason, and the pod starts once there is space', async () => {
      const directory = await mkdtemp('/tmp/na-e2e-');
      const parts = subnet.split('.');
      const containerd = new Containerd({
        binaries,
        directory: join(directory, 'c'),
        subnet: `${parts[0]}.${parts[1]}.${Number(parts[2]) + 2}.0/24`,
      });
      const rootDir = join(directory, 'small');
      await mkdir(rootDir);
      await exec('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'small', rootDir]);
      const node = new TestNode({ directory, endpoint: containerd.endpoint, rootDir });
      try {
        await containerd.start();
        await node.start();
        await node.write({ name: 'before', spec: { containers: [script('c', FOREVER)] } });
        const before = await node.running('before');
        await exec('sh', ['-c', `cat /dev/zero > ${rootDir}/filler || true`]);
        await node.write({ name: 'after', spec: { containers: [script('c', FOREVER)] } });
        await node.until('an event that says why', async () =>
          (await node.events('after')).some(({ message }) => /no space left|ENOSPC/i.test(message)) ? true : undefined,
        );
        expect(node.isRunning).toBe(true);
        expect(containerId(await node.running('before'))).toBe(containerId(before));
        await rm(join(rootDir, 'filler'));
        await node.running('after');
      } finally {
        await node.kill('SIGTERM');
        await containerd.stop();
        await exec('umount', [rootDir]).catch(() => {});
        await removeDirectory(directory);
      }
    });
  });
}
