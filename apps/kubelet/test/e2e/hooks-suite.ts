import { access, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Containerd, type Found } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { script, TestNode } from './test-node.ts';

const TIMEOUT_MS = 120_000;
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';

/** Registers tests of lifecycle hooks with a real kubelet on a real containerd. */
export function hooksSuite(title: string, found: Found, subnet: string): void {
  if ('reason' in found) {
    test(`${title} runs lifecycle hooks`, (context) => context.skip(found.reason));
    return;
  }
  describe(`lifecycle hooks on ${title}`, { timeout: TIMEOUT_MS }, () => {
    let directory = '';
    let containerd: Containerd;
    let node: TestNode;

    beforeAll(async () => {
      directory = await mkdtemp('/tmp/na-e2e-');
      containerd = new Containerd({ binaries: found.binaries, directory: join(directory, 'c'), subnet });
      await containerd.start();
      node = new TestNode({ directory, endpoint: containerd.endpoint });
      await node.start();
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      await containerd?.stop();
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    /** Mounts a directory of the host into a container at `/shared`. */
    const shared = (container: object): object => ({
      containers: [{ ...container, volumeMounts: [{ name: 'shared', mountPath: '/shared' }] }],
      volumes: [{ name: 'shared', hostPath: { path: directory } }],
    });
    /** Waits for content, because a shell creates a file before it writes to it. */
    const written = (name: string): Promise<string> =>
      node.until(`${name} to be written`, async () => {
        const text = await readFile(join(directory, name), 'utf8').catch(() => '');
        return text === '' ? undefined : text;
      });

    test('runs a postStart command in the container before the container is ready', async () => {
      const postStart = { exec: { command: ['sh', '-c', 'sleep 1; echo started > /shared/post-start'] } };
      await node.write({ name: 'post', spec: shared(script('c', FOREVER, { lifecycle: { postStart } })) });
      await node.running('post');
      await expect(access(join(directory, 'post-start'))).resolves.toBeUndefined();
      await node.remove('post');
    });

    test('stops a container whose postStart failed, and the container waits with the reason', async () => {
      const postStart = { exec: { command: ['sh', '-c', 'echo no >&2; exit 3'] } };
      await node.write({ name: 'bad', spec: { containers: [script('c', FOREVER, { lifecycle: { postStart } })] } });
      const pod = await node.podUntil('bad', ({ status }) =>
        /^(PostStartHookError|CrashLoopBackOff)$/.test(status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
      );
      expect(pod.status?.containerStatuses?.[0]?.ready).toBe(false);
      const words = (await node.events('bad')).map(({ reason, message }) => `${reason}: ${message}`);
      expect(words).toContain('FailedPostStartHook: PostStartHook failed');
      expect(words).toContain('Killing: FailedPostStartHook');
      await node.remove('bad');
    });

    test('C5: finishes the preStop command before it stops the container', async () => {
      const preStop = { exec: { command: ['sh', '-c', 'sleep 1; echo hook >> /shared/order'] } };
      const text = 'trap "echo term >> /shared/order; exit 0" TERM; while true; do sleep 1 & wait $!; done';
      const spec = { terminationGracePeriodSeconds: 20, ...shared(script('c', text, { lifecycle: { preStop } })) };
      await node.write({ name: 'pre', spec });
      await node.running('pre');
      await node.remove('pre');
      await node.until('the end', async () => ((await written('order')).includes('term') ? true : undefined));
      expect(await written('order')).toBe('hook\nterm\n');
    });

    test('sends a preStop request to the specified host, and falls back from HTTPS to HTTP', async () => {
      const paths: (string | undefined)[] = [];
      const server = createServer((request, response) => {
        paths.push(request.url);
        response.statusCode = 500;
        response.end();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const httpGet = { host: '127.0.0.1', port, path: '/bye', scheme: 'HTTPS' };
      const lifecycle = { preStop: { httpGet } };
      await node.write({ name: 'http', spec: { containers: [script('c', FOREVER, { lifecycle })] } });
      await node.running('http');
      await node.remove('http');
      await node.until('the request', async () => (paths.length > 0 ? true : undefined));
      expect(paths).toEqual(['/bye']);
      await new Promise((resolve) => server.close(resolve));
    });

    test('C5: reports a failed preStop and stops the container', async () => {
      const preStop = { httpGet: { port: 9, path: '/' } };
      await node.write({ name: 'refused', spec: { containers: [script('c', FOREVER, { lifecycle: { preStop } })] } });
      const { uid } = (await node.running('refused')).metadata;
      await node.remove('refused');
      const line = await node.until('the line in the log', async () =>
        (await readFile(node.logFile, 'utf8'))
          .split('\n')
          .find((text) => text.includes('PreStop hook failed') && text.includes(uid)),
      );
      expect(line).toContain('connection refused');
    });

    test('a preStop sleep delays the stop of its container, and a postStart sleep of 0 seconds does not delay the start', async () => {
      const lifecycle = { preStop: { sleep: { seconds: 2 } }, postStart: { sleep: { seconds: 0 } } };
      const text = 'trap "date +%s > /shared/ended; exit 0" TERM; while true; do sleep 1 & wait $!; done';
      const spec = { terminationGracePeriodSeconds: 20, ...shared(script('c', text, { lifecycle })) };
      await node.write({ name: 'sleep', spec });
      await node.running('sleep');
      const toldAt = Math.floor(Date.now() / 1000);
      await node.remove('sleep');
      expect(Number(await written('ended')) - toldAt).toBeGreaterThanOrEqual(2);
    });

    test('P6: the next kubelet runs the preStop of a pod whose manifest was removed while no kubelet ran', async () => {
      const preStop = { exec: { command: ['sh', '-c', 'echo orphan > /shared/orphan'] } };
      await node.write({ name: 'orphan', spec: shared(script('c', FOREVER, { lifecycle: { preStop } })) });
      await node.running('orphan');
      await node.kill('SIGKILL');
      await rm(join(node.manifests, 'orphan.json'));
      await node.start();
      expect(await written('orphan')).toBe('orphan\n');
    });
  });
}
