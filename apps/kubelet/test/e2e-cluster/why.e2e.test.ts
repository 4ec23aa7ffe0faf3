import { execFile } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { PodExplanation } from '@node-agent/kubelet-core';
import { approveServingRequests } from '@node-agent/tools-control-plane';
import { beforeAll, expect, test } from 'vitest';
import { script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import type { TestCluster } from './test-cluster.ts';
import { FOREVER } from './workloads.ts';

const exec = promisify(execFile);
const PLUGIN = fileURLToPath(new URL('../../../../packages/kubectl-why/src/bin.ts', import.meta.url));

/** Runs `kubectl why` with the plugin on PATH, where kubectl searches for plugins. */
async function why(
  it: TestCluster,
  args: readonly string[],
  kubeconfig: string = it.plane.adminKubeconfig,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = {
    ...process.env,
    PATH: `${join(it.directory, 'bin')}${delimiter}${process.env.PATH}`,
    KUBECONFIG: kubeconfig,
  };
  try {
    return { code: 0, ...(await exec(it.programs.kubectl, ['why', ...args], { env, timeout: 30_000 })) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

await withCluster(
  'kubectl why',
  { subnet: '10.199.84.0/24', configuration: { serverTLSBootstrap: true } },
  (cluster) => {
    beforeAll(async () => {
      const it = cluster();
      await mkdir(join(it.directory, 'bin'));
      const plugin = join(it.directory, 'bin', 'kubectl-why');
      const node = `${process.execPath} --conditions=@node-agent/source --disable-warning=ExperimentalWarning`;
      await writeFile(plugin, `#!/bin/sh\nexec ${node} ${PLUGIN} "$@"\n`);
      await chmod(plugin, 0o755);
      await it.until('the node to be reached', async () => {
        await approveServingRequests(it.plane);
        const { status } = await it.plane.request('GET', '/api/v1/nodes/e2e/proxy/healthz');
        return status === 200 || undefined;
      });
    }, 240_000);

    test('kubectl finds the plugin kubectl-why, which prints each step of a running pod with its times', async () => {
      const it = cluster();
      const { stdout: plugins } = await exec(it.programs.kubectl, ['plugin', 'list'], {
        env: { ...process.env, PATH: `${join(it.directory, 'bin')}${delimiter}${process.env.PATH}` },
      });
      expect(plugins).toContain('kubectl-why');
      const exec1 = { exec: { command: ['true'] } };
      const main = script('main', FOREVER, {
        lifecycle: { postStart: exec1, preStop: { sleep: { seconds: 1 } } },
        readinessProbe: { ...exec1, periodSeconds: 1 },
      });
      const volumes = [{ name: 'v', emptyDir: {} }];
      await it.createPod('web', { initContainers: [script('init', 'sleep 0.2')], containers: [main], volumes });
      await it.readyPod('web');
      const { code, stdout } = await why(it, ['web']);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^Pod default\/web is Running, on the node e2e\n/);
      expect(stdout).toMatch(/Waits for: nothing\n\nNext: nothing: the pod is in the desired state\n/);
      console.log(stdout);
      const explained = JSON.parse((await why(it, ['web', '-o', 'json'])).stdout) as PodExplanation;
      const names = explained.steps.map(({ step, target }) => [step, target].filter(Boolean).join(' '));
      const before = ['Scheduled', 'Seen', 'Admission', 'Cgroup', 'Volumes', 'Sandbox', 'StartContainer init'];
      const order = [...before, 'StartContainer main', 'PostStart main', 'Probe readiness of main', 'Condition Ready'];
      expect(names.filter((name) => order.includes(name))).toEqual(order);
      expect(names).toContain('Image init');
      expect(names).toContain('StatusSent');
      expect(explained.steps.every(({ outcome }) => outcome === 'done')).toBe(true);
    });

    test('kubectl why prints what a waiting pod waits for, and since when', async () => {
      const it = cluster();
      const volume = { name: 's', secret: { secretName: 'not-there' } };
      const volumeMounts = [{ name: 's', mountPath: '/s' }];
      await it.createPod('waits', { containers: [script('main', FOREVER, { volumeMounts })], volumes: [volume] });
      const text = await it.until('the wait', async () => {
        const { stdout } = await why(it, ['waits']);
        return /^volumes: .*"not-there" not found; next try in/.test(stdout) ? stdout : undefined;
      });
      expect(text).toMatch(/Waits for:\n {2}- .*since \d{4}-/);
      expect(text).toMatch(/Next:\n(?: {2}- Volumes\n)? {2}- Sandbox\n {2}- Image main\n/);
      const node = await why(it, ['--node', 'e2e']);
      expect(node.stdout).toMatch(/^Node e2e: \d+ pods?, \d+ of them not in the desired state/);
      expect(node.stdout).toContain('default/waits (Pending)');
    });

    test('kubectl why prints when a crashed container exited, and when it will be restarted', async () => {
      const it = cluster();
      await it.createPod('crashes', { containers: [script('main', 'exit 3')] });
      await it.podUntil('crashes', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
      const text = await it.until('the back-off', async () => {
        const { stdout } = await why(it, ['crashes']);
        return stdout.includes('CrashLoopBackOff') && stdout.includes('tried again in') ? stdout : undefined;
      });
      expect(text).toMatch(/container main: CrashLoopBackOff: .*\(for .*, since .*; tried again in /);
      expect(text).toMatch(/ContainerEnded +main +exit code 3/);
      expect(text).toMatch(/started [23] times/);
    });

    test('kubectl why prints a message for a missing pod, an unscheduled pod, and a missing permission', async () => {
      const it = cluster();
      expect(await why(it, ['nobody'])).toMatchObject({
        code: 1,
        stderr: 'error: there is no pod nobody in the namespace default\n',
      });
      await it.createPod('homeless', { containers: [script('main', FOREVER)], nodeSelector: { nowhere: 'true' } });
      const text = await it.until('the scheduler', async () => {
        const { stdout } = await why(it, ['homeless']);
        return stdout.includes('Unschedulable') ? stdout : undefined;
      });
      expect(text).toMatch(/not scheduled to a node yet[\s\S]*0\/1 nodes are available/);

      const admin = ['--kubeconfig', it.plane.adminKubeconfig];
      const kubectl = async (...args: string[]): Promise<string> =>
        (await exec(it.programs.kubectl, [...admin, ...args])).stdout.trim();
      await kubectl('create', 'serviceaccount', 'jane');
      const token = await kubectl('create', 'token', 'jane');
      const config = JSON.parse(await kubectl('config', 'view', '--raw', '-o', 'json'));
      const file = join(it.directory, 'jane.kubeconfig');
      await writeFile(
        file,
        JSON.stringify({
          ...config,
          users: config.users.map(({ name }: { name: string }) => ({ name, user: { token } })),
        }),
      );
      const pods = await why(it, ['web'], file);
      expect(pods.stderr).toMatch(/forbidden[\s\S]*resources: \["pods"\]/);
      await kubectl('create', 'role', 'reader', '--verb=get', '--resource=pods');
      await kubectl('create', 'rolebinding', 'reader', '--role=reader', '--serviceaccount=default:jane');
      const proxy = await it.until('the role', async () => {
        const said = await why(it, ['web'], file);
        return said.stderr.includes('nodes/proxy') ? said : undefined;
      });
      expect(proxy.stderr).toMatch(/forbidden[\s\S]*resources: \["nodes\/proxy"\]/);
      await kubectl('create', 'clusterrole', 'why', '--verb=get', '--resource=nodes/proxy');
      await kubectl('create', 'clusterrolebinding', 'why', '--clusterrole=why', '--serviceaccount=default:jane');
      await it.until(
        'the permission to take effect',
        async () => (await why(it, ['web'], file)).code === 0 || undefined,
      );
    });

    test('kubectl why prints for a terminating pod which container is being stopped, and the next steps', async () => {
      const it = cluster();
      await it.create('/api/v1/namespaces/default/pods', {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'slow' } },
        spec: {
          terminationGracePeriodSeconds: 20,
          containers: [script('main', `trap '' TERM; while :; do sleep 1; done`)],
        },
      });
      await it.readyPod('slow');
      await it.plane.request('DELETE', '/api/v1/namespaces/default/pods/slow');
      const text = await it.until('the stop', async () => {
        const { stdout } = await why(it, ['slow']);
        return stdout.includes('stop: containers are being stopped') ? stdout : undefined;
      });
      expect(text).toMatch(/Next:\n {2}- CleanUp\n/);
      for (const name of ['web', 'waits', 'crashes', 'slow']) await it.deletePod(name);
    });
  },
);
