import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Containerd, type Found, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { containerId, script, TestNode } from './test-node.ts';

const TIMEOUT_MS = 120_000;
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';

/** A flexVolume driver that mounts a tmpfs and writes the mount options into a file there. */
const FLEX_DRIVER = `#!/bin/sh
echo "$1 $2" | sed 's/ $//' >> "$(dirname "$0")/calls"
case "$1" in
  init) echo '{"status": "Success", "capabilities": {"attach": false}}' ;;
  mount) mount -t tmpfs flex "$2" && printf %s "$3" > "$2/text" && echo '{"status": "Success"}' ;;
  unmount) umount "$2" && echo '{"status": "Success"}' ;;
  *) echo '{"status": "Not supported"}' ;;
esac
`;

/** Registers tests of the volumes that containers see, with a real kubelet on a real containerd. */
export function filesSuite(title: string, found: Found, subnet: string): void {
  if ('reason' in found) {
    test(`${title} mounts volumes`, (context) => context.skip(found.reason));
    return;
  }
  describe(`volumes on ${title}`, { timeout: TIMEOUT_MS }, () => {
    let directory = '';
    let containerd: Containerd;
    let node: TestNode;

    beforeAll(async () => {
      directory = await mkdtemp('/tmp/na-e2e-');
      containerd = new Containerd({ binaries: found.binaries, directory: join(directory, 'c'), subnet });
      await containerd.start();
      const configuration = { volumePluginDir: join(directory, 'exec') };
      node = new TestNode({ directory, endpoint: containerd.endpoint, configuration });
      await node.start();
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      await containerd?.stop();
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    /** Returns the mount points below the kubelet's root directory. */
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

    test('V4: a flexVolume is mounted by its driver, kept over a kill of the kubelet, and unmounted with its pod', async () => {
      const driver = join(directory, 'exec/example.com~share');
      await mkdir(driver, { recursive: true });
      await writeFile(join(driver, 'share'), FLEX_DRIVER, { mode: 0o755 });
      const volumeMounts = [{ name: 'data', mountPath: '/data' }];
      const options = { text: 'of the driver' };
      await node.write({
        name: 'flex',
        spec: {
          containers: [script('c', `cat /data/text > /data/seen; ${FOREVER}`, { volumeMounts })],
          volumes: [{ name: 'data', flexVolume: { driver: 'example.com/share', options } }],
        },
      });
      const pod = await node.running('flex');
      const volume = join(node.rootDir, 'pods', pod.metadata.uid, 'volumes/example.com~share/data');
      const seen = await node.until('the file of the container', () =>
        readFile(join(volume, 'seen'), 'utf8').then(
          (text) => text || undefined,
          () => undefined,
        ),
      );
      expect(JSON.parse(seen)).toMatchObject({ ...options, 'kubernetes.io/pod.name': 'flex-e2e' });
      await node.kill('SIGKILL');
      await node.start();
      expect(containerId(await node.running('flex'))).toBe(containerId(pod));
      await gone('flex');
      const calls = (await readFile(join(driver, 'calls'), 'utf8')).trim().split('\n');
      expect(calls.filter((call) => call !== 'init')).toEqual([`mount ${volume}`, `unmount ${volume}`]);
    });

    test('containers see sub-paths of each kind of volume, also after kills of the kubelet', async () => {
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

    test('W3: rejects a subPath that a container replaced by a symlink, and the pod reports the reason', async () => {
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

    /** Returns what a container wrote to a volume of its pod, once the file is complete. */
    const said = async (name: string, volume = 'out'): Promise<string> => {
      const pod = await node.running(name);
      const file = join(node.rootDir, 'pods', pod.metadata.uid, 'volumes/kubernetes.io~empty-dir', volume, 'said');
      return node.until(`what ${name} says`, () => readFile(file, 'utf8').catch(() => undefined));
    };
    const saying = (text: string): string => `{ ${text}; } > /out/draft 2>&1; mv /out/draft /out/said; ${FOREVER}`;
    const OUT = { name: 'out', mountPath: '/out' };

    test('the runtime mounts image volumes, as a whole and with a sub-path', async () => {
      const volumeMounts = [
        OUT,
        { name: 'image', mountPath: '/image' },
        { name: 'image', mountPath: '/bin-of-it', subPath: 'bin' },
      ];
      const text = saying('ls -d /image/bin/sh /bin-of-it/sh; touch /image/x');
      const image = { reference: PAUSE_IMAGE, pullPolicy: 'Never' };
      await node.write({
        name: 'image',
        spec: {
          containers: [script('c', text, { volumeMounts })],
          volumes: [
            { name: 'image', image },
            { name: 'out', emptyDir: {} },
          ],
        },
      });
      expect((await said('image')).split('\n')).toEqual([
        '/bin-of-it/sh',
        '/image/bin/sh',
        'touch: /image/x: Read-only file system',
        '',
      ]);
      await gone('image');

      const missing = { reference: 'localhost/none:1', pullPolicy: 'Never' };
      await node.write({
        name: 'missing',
        spec: {
          containers: [script('c', FOREVER, { volumeMounts })],
          volumes: [
            { name: 'image', image: missing },
            { name: 'out', emptyDir: {} },
          ],
        },
      });
      const pod = await node.podUntil(
        'missing',
        ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImageNeverPull',
      );
      expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toBe(
        'Container image "localhost/none:1" is not present with pull policy of Never',
      );
      await gone('missing');
    });

    test("fsGroup owns the pod's volumes and can write to the writable ones", async () => {
      const volumeMounts = [
        OUT,
        { name: 'memory', mountPath: '/memory' },
        { name: 'info', mountPath: '/info' },
        { name: 'memory', mountPath: '/part', subPath: 'made' },
      ];
      const text = saying(
        'touch /memory/f /part/f; for i in /out /memory /memory/f /part /info /info/name; do stat -L -c "%n %a %u:%g" $i; done; id -G',
      );
      const items = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }];
      await node.write({
        name: 'grouped',
        spec: {
          securityContext: { runAsUser: 1000, runAsGroup: 3000, fsGroup: 2000, fsGroupChangePolicy: 'OnRootMismatch' },
          containers: [script('c', text, { volumeMounts })],
          volumes: [
            { name: 'out', emptyDir: {} },
            { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
            { name: 'info', downwardAPI: { items, defaultMode: 0o400 } },
          ],
        },
      });
      expect((await said('grouped')).split('\n')).toEqual([
        '/out 2777 0:2000',
        '/memory 3777 0:2000',
        '/memory/f 644 1000:2000',
        '/part 3777 0:2000',
        '/info 3777 0:2000',
        '/info/name 440 0:2000',
        '3000 2000',
        '',
      ]);
      await gone('grouped');
    });

    test('mounts propagate as the pod specifies, and are recursively read-only if the pod requests it', async () => {
      await mkdir(host('shared/ro/below'), { recursive: true });
      const shared = host('shared');
      execFileSync('mount', ['--bind', shared, shared]);
      execFileSync('mount', ['--make-shared', shared]);
      try {
        execFileSync('mount', ['-t', 'tmpfs', 'below', join(shared, 'ro/below')]);
        const volumeMounts = [
          OUT,
          { name: 'shared', mountPath: '/both', mountPropagation: 'Bidirectional' },
          { name: 'shared', mountPath: '/in', mountPropagation: 'HostToContainer' },
          { name: 'shared', mountPath: '/none' },
          { name: 'shared', mountPath: '/plain', readOnly: true },
          { name: 'shared', mountPath: '/deep', readOnly: true, recursiveReadOnly: 'Enabled' },
        ];
        const text = saying(
          'mkdir /both/m; mount -t tmpfs inside /both/m; touch /both/m/f; ls /in/m; ls /none/m; touch /plain/ro/below/f; touch /deep/ro/below/f',
        );
        await node.write({
          name: 'propagated',
          spec: {
            containers: [script('c', text, { volumeMounts, securityContext: { privileged: true } })],
            volumes: [
              { name: 'out', emptyDir: {} },
              { name: 'shared', hostPath: { path: shared, type: 'Directory' } },
            ],
          },
        });
        expect((await said('propagated')).split('\n')).toEqual([
          'f',
          'touch: /deep/ro/below/f: Read-only file system',
          '',
        ]);
        expect(await readdir(join(shared, 'm'))).toEqual(['f']);
        const pod = await node.pod('propagated');
        expect(pod?.status?.containerStatuses?.[0]?.volumeMounts).toContainEqual({
          name: 'shared',
          mountPath: '/deep',
          readOnly: true,
          recursiveReadOnly: 'Enabled',
        });
        await gone('propagated');
      } finally {
        execFileSync('umount', ['--recursive', shared]);
      }
    });

    test("mounts propagate in volumes below the kubelet's root directory, regardless of the propagation of the machine's root", async () => {
      const both =
        'mkdir /v/m; mount -t tmpfs x /v/m; touch /v/m/f; until [ -e /v/seen ]; do sleep 0.1; done; umount /v/m';
      const inwards = 'until [ -e /w/m/f ]; do sleep 0.1; done; ls /w/m; touch /w/seen';
      await node.write({
        name: 'own-propagated',
        spec: {
          containers: [
            script('both', `${both}; ${FOREVER}`, {
              volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
              securityContext: { privileged: true },
            }),
            script('in', saying(inwards), {
              volumeMounts: [OUT, { name: 'v', mountPath: '/w', mountPropagation: 'HostToContainer' }],
            }),
          ],
          volumes: [
            { name: 'out', emptyDir: {} },
            { name: 'v', emptyDir: {} },
          ],
        },
      });
      expect(await said('own-propagated')).toBe('f\n');
      await gone('own-propagated');
    });

    test('K1: unmounts the volumes of an orphaned pod and keeps the mounted content', async () => {
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
