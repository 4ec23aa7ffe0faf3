import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Containerd, type Found } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { containerId, script, TestNode } from './test-node.ts';

const TIMEOUT_MS = 120_000;
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';

/** What containers see of volumes, on a real kubelet and a real containerd. */
export function filesSuite(title: string, found: Found, subnet: string): void {
  if ('reason' in found) {
    test(`${title} shows files`, (context) => context.skip(found.reason));
    return;
  }
  describe(`files on ${title}`, { timeout: TIMEOUT_MS }, () => {
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
      await rm(directory, { recursive: true, force: true });
    }, TIMEOUT_MS);

    /** What is mounted below the kubelet's own directory. */
    const mounts = async (): Promise<readonly string[]> => {
      const text = await readFile('/proc/self/mountinfo', 'utf8');
      const points = text.split('\n').map((line) => line.split(' ')[4] ?? '');
      return points.filter((point) => point.startsWith(`${node.rootDir}/pods/`) && point.includes('volume-subpaths'));
    };
    const gone = async (name: string): Promise<void> => {
      await node.remove(name);
      await node.until('nothing to be mounted', async () => ((await mounts()).length === 0 ? true : undefined));
      await node.until('directories to be gone', async () =>
        (await readdir(join(node.rootDir, 'pods'))).length === 0 ? true : undefined,
      );
    };
    const host = (name: string): string => join(directory, 'host', name);

    test('parts of volumes of each kind are what containers see, across kills of the kubelet', async () => {
      await mkdir(host('data'), { recursive: true });
      await writeFile(host('data/file'), 'of the host');
      const env = [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
      const volumeMounts = [
        { name: 'scratch', mountPath: '/dir', subPath: 'a/b' },
        { name: 'scratch', mountPath: '/named', subPathExpr: 'logs/$(POD)' },
        { name: 'host', mountPath: '/etc/file', subPath: 'file', readOnly: true },
        { name: 'info', mountPath: '/etc/name', subPath: 'deep/name' },
        { name: 'scratch', mountPath: '/all' },
      ];
      const text = `cat /etc/file /etc/name > /all/seen; touch /dir/x /named/y; touch /etc/file 2>>/all/err; ${FOREVER}`;
      const items = [{ path: 'deep/name', fieldRef: { fieldPath: 'metadata.name' } }];
      await node.write({
        name: 'parts',
        spec: {
          containers: [script('c', text, { env, volumeMounts })],
          volumes: [
            { name: 'scratch', emptyDir: {} },
            { name: 'host', hostPath: { path: host('data') } },
            { name: 'info', projected: { sources: [{ downwardAPI: { items } }] } },
          ],
        },
      });
      const pod = await node.running('parts');
      const { uid } = pod.metadata;
      const scratch = join(node.rootDir, 'pods', uid, 'volumes/kubernetes.io~empty-dir/scratch');
      await node.until('the read-only file to be refused', async () =>
        (await readFile(join(scratch, 'err'), 'utf8').catch(() => '')) === '' ? undefined : true,
      );
      expect(await readFile(join(scratch, 'seen'), 'utf8')).toBe('of the hostparts-e2e');
      expect(await readdir(join(scratch, 'a/b'))).toEqual(['x']);
      expect(await readdir(join(scratch, 'logs/parts-e2e'))).toEqual(['y']);
      expect(await mounts()).toHaveLength(4);

      await node.kill('SIGKILL');
      await node.start();
      expect(containerId(await node.running('parts'))).toBe(containerId(pod));
      expect(await mounts()).toHaveLength(4);
      await gone('parts');
      expect(await readFile(host('data/file'), 'utf8')).toBe('of the host');
    });

    test('W3: a link that a container plants leads nowhere, and the pod says so', async () => {
      const volumeMounts = [{ name: 'scratch', mountPath: '/data' }];
      await node.write({
        name: 'planted',
        spec: {
          initContainers: [script('plant', 'ln -s /etc /data/link; ln -s ../../.. /data/up', { volumeMounts })],
          containers: [
            script('link', FOREVER, { volumeMounts: [{ name: 'scratch', mountPath: '/x', subPath: 'link' }] }),
            script('up', FOREVER, { volumeMounts: [{ name: 'scratch', mountPath: '/x', subPath: 'up/secret' }] }),
          ],
          volumes: [{ name: 'scratch', emptyDir: {} }],
        },
      });
      const pod = await node.podUntil('planted', ({ status }) =>
        (status?.containerStatuses ?? []).every(({ state }) => state?.waiting?.reason === 'CreateContainerConfigError'),
      );
      const said = pod.status?.containerStatuses?.map(({ state }) => state?.waiting?.message).sort();
      expect(said).toEqual([
        'failed to prepare subPath for volumeMount "scratch" of container "link"',
        'failed to prepare subPath for volumeMount "scratch" of container "up"',
      ]);
      expect(await mounts()).toEqual([]);
      await gone('planted');
    });

    test('K1: what an orphan leaves mounted is taken away, and nothing of what it shows', async () => {
      await mkdir(host('kept'), { recursive: true });
      const volumeMounts = [{ name: 'host', mountPath: '/x', subPath: 'made' }];
      await node.write({
        name: 'orphan',
        spec: {
          containers: [script('c', `touch /x/f; ${FOREVER}`, { volumeMounts })],
          volumes: [{ name: 'host', hostPath: { path: host('kept') } }],
        },
      });
      await node.running('orphan');
      expect(await mounts()).toHaveLength(1);
      await node.kill('SIGKILL');
      await rm(join(node.manifests, 'orphan.json'));
      await node.start();
      await gone('orphan');
      expect(await readdir(host('kept/made'))).toEqual(['f']);
    });
  });
}
