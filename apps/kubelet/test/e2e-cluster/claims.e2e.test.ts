import { execFile } from 'node:child_process';
import { mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { containerId, script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import type { TestCluster } from './test-cluster.ts';
import { FOREVER } from './workloads.ts';

const exec = promisify(execFile);
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const GROUP = 4321;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Creates a persistent volume that is not bound to a claim. */
async function createVolume(it: TestCluster, name: string, spec: object): Promise<void> {
  await it.create('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '1Mi' },
      accessModes: ['ReadWriteMany'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: '',
      ...spec,
    },
  });
}

const claimSpec = (volumeName?: string): object => ({
  accessModes: ['ReadWriteMany'],
  resources: { requests: { storage: '1Mi' } },
  storageClassName: '',
  ...(volumeName && { volumeName }),
});

async function createClaim(it: TestCluster, name: string, volumeName: string): Promise<void> {
  const metadata = { name };
  await it.create(CLAIMS, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: claimSpec(volumeName) });
}

const onNode = (name: string): object => ({
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] }],
  },
});

const claimed = (name: string, claimName: string, readOnly = false): object => ({
  name,
  persistentVolumeClaim: { claimName, readOnly },
});

/** Returns the spec of a pod that runs a script and then stays. Each volume is mounted at `/<volume name>`. */
const podSpec = (text: string, volumes: readonly { readonly name?: string }[], more: object = {}): object => ({
  containers: [
    script('c', `${text}; ${FOREVER}`, { volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/${name}` })) }),
  ],
  volumes,
  ...more,
});

/** Returns the mount points of a persistent volume below the kubelet's root directory. */
async function mountsOf(it: TestCluster, volume: string): Promise<string[]> {
  const table = await readFile('/proc/self/mounts', 'utf8');
  const points = table.split('\n').map((line) => line.split(' ')[1] ?? '');
  return points.filter((point) => point.startsWith(it.node.rootDir) && point.endsWith(`/${volume}`));
}

const gone = (it: TestCluster, volume: string): Promise<true> =>
  it.until('no volume to be mounted', async () => (await mountsOf(it, volume)).length === 0 || undefined);

async function restart(it: TestCluster): Promise<void> {
  await it.node.kill('SIGKILL');
  await it.node.start();
  await it.until('the kubelet to be healthy', async () => ((await it.node.health())?.ok ? true : undefined));
}

const configuration = { volumeStatsAggPeriod: '2s' };
await withCluster('claims of pods', { subnet: '10.199.86.0/24', configuration }, (cluster) => {
  let device: string | undefined;
  afterAll(async () => {
    if (device !== undefined) await exec('losetup', ['--detach', device]).catch(() => undefined);
  });

  test('K1: mounts hostPath and local volumes, keeps them over a kubelet restart, and keeps their content when the pods are deleted', async () => {
    const it = cluster();
    const [host, local] = [join(it.directory, 'host'), join(it.directory, 'local')];
    for (const directory of [host, local]) await mkdir(directory);
    await writeFile(join(local, 'old'), '', { mode: 0o600 });
    await createVolume(it, 'host', { hostPath: { path: host, type: 'Directory' } });
    await createVolume(it, 'local', {
      local: { path: local },
      nodeAffinity: onNode('e2e'),
      mountOptions: ['noexec'],
    });
    for (const name of ['host', 'local']) await createClaim(it, name, name);

    const volumes = [claimed('host', 'host'), claimed('local', 'local')];
    const securityContext = { fsGroup: GROUP };
    await it.createPod('first', podSpec('echo first > /host/f; echo first > /local/f', volumes, { securityContext }));
    const first = await it.readyPod('first');
    await it.until(
      'the file that the pod wrote',
      async () => (await readFile(join(local, 'f'), 'utf8').catch(() => '')) || undefined,
    );
    expect([await readFile(join(host, 'f'), 'utf8'), await readFile(join(local, 'f'), 'utf8')]).toEqual([
      'first\n',
      'first\n',
    ]);
    // The kubelet changed the group of the local volume's directory to the pod's fsGroup before the mount, and new
    // files inherit the group. A hostPath volume keeps its owner.
    const groups = await Promise.all(['old', 'f'].map(async (name) => (await stat(join(local, name))).gid));
    expect([...groups, (await stat(join(host, 'f'))).gid, (await stat(join(local, 'old'))).mode & 0o777]).toEqual([
      GROUP,
      GROUP,
      0,
      0o660,
    ]);
    const own = join(it.node.rootDir, 'pods', first.metadata.uid, 'volumes/kubernetes.io~local-volume/local');
    expect(await mountsOf(it, 'local')).toEqual([own]);
    const { stdout } = await exec('findmnt', ['-n', '-o', 'OPTIONS', own]);
    expect(stdout).toContain('noexec');

    // A second pod mounts the same claim read-only.
    const readers = podSpec('cat /local/f; touch /local/g && exit 1', [claimed('local', 'local', true)]);
    await it.createPod('second', readers);
    const second = await it.readyPod('second');
    expect(await mountsOf(it, 'local')).toHaveLength(2);
    await restart(it);
    await pause(3_000);
    expect([containerId(await it.readyPod('first')), containerId(await it.readyPod('second'))]).toEqual([
      containerId(first),
      containerId(second),
    ]);
    expect(await mountsOf(it, 'local')).toHaveLength(2);

    const summary = await it.until('stats of the claim', async () => {
      type Summary = { pods: { podRef: { name: string }; volume?: { pvcRef?: object; capacityBytes: number }[] }[] };
      const page = JSON.parse(await it.node.page('/stats/summary')) as Summary;
      return page.pods
        .find(({ podRef }) => podRef.name === 'first')
        ?.volume?.find(({ pvcRef }) => pvcRef !== undefined);
    });
    expect(summary).toMatchObject({ name: 'local', pvcRef: { name: 'local', namespace: 'default' } });
    expect(summary.capacityBytes).toBeGreaterThan(0);

    await it.deletePod('first');
    await restart(it);
    expect((await it.readyPod('second')).metadata.uid).toBe(second.metadata.uid);
    await it.deletePod('second');
    await gone(it, 'local');
    expect(await readFile(join(local, 'f'), 'utf8')).toBe('first\n');
  });

  test("a pod with an unbound claim waits, reports the claim's name, and starts once the claim is bound", async () => {
    const it = cluster();
    const path = join(it.directory, 'late');
    await mkdir(path);
    await createClaim(it, 'late', 'late');
    // nodeName bypasses the scheduler, which would wait for the claim.
    await it.createPod('waits', podSpec('echo here > /data/f', [claimed('data', 'late')], { nodeName: 'e2e' }));
    const why =
      /^Unable to attach or mount volumes: unmounted volumes=\[data\], unattached volumes=\[\], failed to process volumes=\[data\]: error processing PVC default\/late: PVC is not bound$/;
    await it.eventUntil('waits', 'FailedMount', why);
    await createVolume(it, 'late', { hostPath: { path } });
    await it.readyPod('waits');
    await it.deletePod('waits');
  });

  test('the claim of a generic ephemeral volume is created and deleted together with its pod', async () => {
    const it = cluster();
    const path = join(it.directory, 'own');
    await mkdir(path);
    await createVolume(it, 'own', { hostPath: { path }, capacity: { storage: '2Mi' } });
    const volume = { name: 'data', ephemeral: { volumeClaimTemplate: { spec: claimSpec('own') } } };
    await it.createPod('owner', podSpec('echo mine > /data/f', [volume]));
    await it.readyPod('owner');
    expect(await it.get(`${CLAIMS}/owner-data`)).toMatchObject({ status: { phase: 'Bound' } });
    await it.until(
      'the file that the pod wrote',
      async () => (await readFile(join(path, 'f'), 'utf8').catch(() => '')) || undefined,
    );
    await it.deletePod('owner');
    await it.until(
      'the claim to be gone',
      async () => (await it.get(`${CLAIMS}/owner-data`)) === undefined || undefined,
    );
  });

  test('rejects a volume of an unsupported type and a volume of another node, naming the cause', async () => {
    const it = cluster();
    await createVolume(it, 'ceph', { cephfs: { monitors: ['192.0.2.1'] } });
    await createVolume(it, 'elsewhere', { local: { path: it.directory }, nodeAffinity: onNode('other') });
    for (const name of ['ceph', 'elsewhere']) await createClaim(it, name, name);
    const reasons = {
      ceph: /failed to get Plugin from volumeSpec for volume "ceph" err=type cephfs is not supported by this kubelet$/,
      elsewhere: /^MountVolume.NodeAffinity check failed for volume "elsewhere" : no matching NodeSelectorTerms$/,
    };
    for (const [name, reason] of Object.entries(reasons)) {
      await it.until('the claim to be bound', async () => {
        const claim = await it.get<{ status?: { phase?: string } }>(`${CLAIMS}/${name}`);
        return claim?.status?.phase === 'Bound' || undefined;
      });
      await it.createPod(name, podSpec('true', [claimed('data', name)], { nodeName: 'e2e' }));
      await it.eventUntil(name, 'FailedMount', reason);
      await it.deletePod(name);
    }
  });

  test('K1: mounts a disk once for two pods, keeps it over kubelet restarts, and unmounts it after the last pod is deleted', async (context) => {
    const it = cluster();
    const image = join(it.directory, 'disk.img');
    await writeFile(image, '');
    await truncate(image, 16 << 20);
    try {
      device = (await exec('losetup', ['--find', '--show', image])).stdout.trim();
    } catch (error) {
      context.skip(`no loop device: ${String(error)}`);
      return;
    }
    await createVolume(it, 'disk', { local: { path: device }, nodeAffinity: onNode('e2e') });
    await createClaim(it, 'disk', 'disk');
    const staged = join(it.node.rootDir, 'plugins/kubernetes.io/local-volume/mounts/disk');
    const volumes = [claimed('data', 'disk')];
    await it.createPod('one', podSpec('echo one > /data/one', volumes));
    await it.readyPod('one');
    await it.createPod('two', podSpec('until [ -e /data/one ]; do sleep 0.1; done; echo two > /data/two', volumes));
    await it.readyPod('two');
    await it.until(
      'the file that the second pod wrote',
      async () => (await readFile(join(staged, 'two'), 'utf8').catch(() => '')) || undefined,
    );
    expect(await mountsOf(it, 'disk')).toHaveLength(3);
    await restart(it);
    await it.deletePod('one');
    await pause(1_000);
    expect(await mountsOf(it, 'disk')).toHaveLength(2);
    expect((await it.readyPod('two')).status?.containerStatuses?.[0]?.restartCount).toBe(0);

    // The last pod is deleted while the kubelet is down.
    await it.node.kill('SIGKILL');
    await it.plane.request('DELETE', '/api/v1/namespaces/default/pods/two');
    await it.node.start();
    await gone(it, 'disk');
    await it.until('its place to be gone', async () =>
      stat(staged).then(
        () => undefined,
        () => true,
      ),
    );

    // The disk still has its content.
    await it.createPod('three', podSpec('cat /data/one /data/two', volumes));
    await it.readyPod('three');
    expect(await readFile(join(staged, 'two'), 'utf8')).toBe('two\n');
    await it.deletePod('three');
    await gone(it, 'disk');
  });
});
