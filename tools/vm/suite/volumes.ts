// Volumes of a real NFS server (4.2 and 3) and a real iSCSI target, which run in the same machine: mounts, restarts of
// the kubelet, removal, and a server that does not answer.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Pod, Volume } from '@node-agent/pod-spec';
import { GroupSide, type ManifestPod } from '@node-agent/tools-compare/groups';
import { binaries, KUBELET, NODECTL } from './guest-binaries.ts';
import { groupsBelow, run, systemd, textOf } from './machine.ts';
import {
  continueNfs,
  EXPORT,
  type InitiatorState,
  IQN,
  initiatorState,
  NEWEST,
  PORTAL,
  startIscsiTarget,
  startNfsServer,
  stopNfs,
  VERSION_3,
} from './storage-servers.ts';

const { signal } = new AbortController();
/** Time limit of a test. An emulated machine on busy CPUs needs minutes instead of seconds. */
const TIMEOUT = { timeout: 2_700_000 };
const EXPLAIN_EVERY_MS = 60_000;
const FOREVER = 'trap "exit 0" TERM; while :; do sleep 1 & wait $!; done';
/** Writes one of the two kinds of files: a line at once, or a number that grows. */
const write = (file: string): string => `echo written by ${file} > /data/${file}`;
const count = (file: string): string =>
  `trap "exit 0" TERM; i=0; while :; do i=$((i+1)); echo $i > /data/${file}; sleep 1 & wait $!; done`;

function pod(name: string, volume: Omit<Volume, 'name'> | undefined, script: string): ManifestPod {
  const container = {
    ...{ name: 'main', image: 'node-agent.local/busybox:1', imagePullPolicy: 'Never', command: ['sh', '-c', script] },
    ...(volume && { volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
  };
  const spec = {
    ...{ hostNetwork: true, dnsPolicy: 'Default', terminationGracePeriodSeconds: 2, containers: [container] },
    ...(volume && { volumes: [{ name: 'data', ...volume }] }),
  };
  return { name, spec } as ManifestPod;
}

const nfs = (server: string, readOnly = false) => ({ nfs: { server, path: EXPORT, readOnly } });
const iscsi = (lun: number, readOnly = false) => ({
  iscsi: { targetPortal: PORTAL, iqn: IQN, lun, fsType: 'ext4', readOnly },
});

describe('kubelet with network volumes', TIMEOUT, () => {
  let side: GroupSide;
  let directory: string;
  /** Mounts and iSCSI objects before the first pod. */
  let mountsBefore: readonly string[];
  let initiatorBefore: InitiatorState;
  const began = performance.now();
  const say = (text: string): void => console.log(`${((performance.now() - began) / 1000).toFixed(0)} s: ${text}`);
  const until = async <T>(what: string, ask: () => Promise<T | undefined>, seconds = 600): Promise<T> => {
    for (let tries = 0; tries < seconds / 2; tries++) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      await sleep(2000);
    }
    assert.fail(`timed out waiting for: ${what}\n${await side.kubelet.logTail()}`);
  };
  const containerOf = (found: Pod | undefined): string =>
    (found?.status?.containerStatuses?.[0]?.containerID ?? '').replace('containerd://', '');
  /** Returns the container of a pod, its first process, and how often it was restarted. */
  const lifeOf = async (name: string): Promise<string> => {
    const found = await side.pod(name);
    const id = containerOf(found);
    const group = (await groupsBelow('/here.slice')).find((path) => id !== '' && path.includes(id));
    assert.ok(group, `no cgroup of pod ${name}`);
    const pids = (await textOf(group, 'cgroup.procs')).split('\n').map(Number);
    return `${id} process ${Math.min(...pids)} restarts ${found?.status?.containerStatuses?.[0]?.restartCount}`;
  };
  const livesOf = async (names: readonly string[]): Promise<readonly string[]> => await Promise.all(names.map(lifeOf));
  /** Returns the lines that the container of a pod has written. */
  const outputOf = async (name: string): Promise<readonly string[]> => {
    const logs = side.kubelet.podLogsDirectory;
    const pod = (await readdir(logs)).find((each) => each.includes(`_${name}-here_`));
    const text = await readFile(`${logs}/${pod}/main/0.log`, 'utf8').catch(() => '');
    return text.split('\n').map((line) => line.split(' ').slice(3).join(' ').trim());
  };
  const untilOutput = (name: string, line: string) =>
    until(`the output of ${name}: ${line}`, async () => ((await outputOf(name)).includes(line) ? true : undefined));
  const untilGone = (name: string) =>
    until(`pod ${name} is gone`, async () => {
      // An empty list may mean that the kubelet did not answer.
      const pods = await side.page('/pods').catch(() => undefined);
      return pods === undefined || pods.includes(`"${name}-here"`) ? undefined : true;
    });
  /** Returns the lines of the mount table for mounts below the kubelet's directory, with the IDs of the mounts. */
  const kubeletMounts = async (): Promise<readonly string[]> => {
    const table = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
    return table.filter((line) => line.includes(` ${side.kubelet.rootDirectory}/`)).sort();
  };
  /** Returns the mount of the volume of a pod. */
  const mountOf = async (name: string): Promise<string> => {
    const uid = (await side.pod(name))?.metadata.uid ?? '';
    const found = (await kubeletMounts()).filter((line) => line.includes(`/pods/${uid}/volumes/`));
    assert.equal(found.length, 1, `mounts of pod ${name}: ${found.join('\n')}`);
    return found[0] ?? '';
  };
  const explain = (name: string): Promise<string> =>
    run(process.execPath, NODECTL, 'explain', `${name}-here`, '-n', 'groups', '--socket', join(directory, 'a/socket'));
  const countOf = async (file: string): Promise<number> => Number(await readFile(join(EXPORT, file), 'utf8'));
  const untilCounts = async (file: string) => {
    const first = await countOf(file);
    await until(`${file} grows`, async () => ((await countOf(file)) > first ? true : undefined));
  };
  const assertHealthy = async (): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${side.kubelet.healthzPort}/healthz`);
    assert.equal(`${answer.status} ${await answer.text()}`, '200 ok');
  };
  /** Waits until pods are running. Every minute, prints the kubelet's explanation for each pod that is not. */
  const running = async (names: readonly string[]): Promise<void> => {
    const timer = setInterval(() => void printExplanations(names), EXPLAIN_EVERY_MS);
    try {
      await side.running(names, signal);
    } finally {
      clearInterval(timer);
    }
  };
  const printExplanations = async (names: readonly string[]): Promise<void> => {
    for (const name of names) say(`${name}: ${await explain(name).catch(String)}`);
  };
  const remove = async (names: readonly string[]): Promise<void> => {
    for (const name of names) await side.remove(name);
    for (const name of names) await untilGone(name);
  };

  before(async () => {
    // The machine's own containerd is stopped, because the tests use another version.
    await run('systemctl', 'stop', 'containerd');
    await startNfsServer();
    await startIscsiTarget();
    say('started the NFS server and the iSCSI target');
    directory = await mkdtemp('/tmp/k-');
    side = await GroupSide.start({
      ...{ name: 'here', program: KUBELET, binaries, driver: 'systemd', systemd, directory },
      ...{ subnet: '10.199.0.0/24', timeoutMs: 1_200_000, everyMs: 3000 },
      configuration: { evictionHard: { 'memory.available': '20Mi' } },
      flags: [`--admin-socket=${join(directory, 'a/socket')}`],
    });
    await until('the kubelet is healthy', () =>
      assertHealthy().then(
        () => true,
        () => undefined,
      ),
    );
    mountsBefore = await allMounts();
    initiatorBefore = await initiatorState();
    say('started the runtime and the kubelet');
  });
  after(async () => {
    await side?.stop();
    systemd.close();
  });

  test('pods write and read the files of an NFS export with the versions 4.2 and 3, and cannot write to a read-only volume', async () => {
    await side.write(pod('newest', nfs(NEWEST), `${write('newest')}; ${count('count')}`));
    await running(['newest']);
    say('the pod newest is running');
    assert.equal(await readFile(join(EXPORT, 'newest'), 'utf8'), 'written by newest\n');
    await side.write(pod('older', nfs(VERSION_3), `cat /data/newest; ${write('older')}; ${FOREVER}`));
    await side.write(pod('reader', nfs(NEWEST, true), `cat /data/newest; touch /data/reader; echo $?; ${FOREVER}`));
    await running(['older', 'reader']);
    await untilOutput('older', 'written by newest');
    await untilOutput('reader', 'written by newest');
    await untilOutput('reader', '1');
    assert.ok((await outputOf('reader')).includes('touch: /data/reader: Read-only file system'));
    assert.deepEqual((await readdir(EXPORT)).sort(), ['count', 'newest', 'older']);
    for (const [name, options] of [
      ['newest', / rw,.* nfs4 127\.0\.0\.1:\/srv\/nfs rw,.*vers=4\.2,.*hard/],
      ['older', / rw,.* nfs 127\.0\.0\.2:\/srv\/nfs rw,.*vers=3,.*hard/],
      ['reader', / ro,.* nfs4 127\.0\.0\.1:\/srv\/nfs /],
    ] as const) {
      const line = await mountOf(name);
      assert.match(line, options);
      console.log(line);
    }
    await untilCounts('count');
  });

  test('pods write and read the disks of an iSCSI target, which are formatted if empty and mounted once for all pods', async () => {
    await side.write(pod('disk', iscsi(0), `${write('disk')}; sync; ${FOREVER}`));
    await running(['disk']);
    say('the pod disk is running');
    await side.write(pod('same', iscsi(0), `cat /data/disk; ${FOREVER}`));
    await side.write(pod('sealed', iscsi(1, true), `ls /data; touch /data/sealed; echo $?; ${FOREVER}`));
    await running(['same', 'sealed']);
    await untilOutput('same', 'written by disk');
    await untilOutput('sealed', '1');
    assert.ok((await outputOf('sealed')).includes('touch: /data/sealed: Read-only file system'));
    assert.match(await mountOf('disk'), / rw,.* ext4 \/dev\/sd. rw/);
    assert.match(await mountOf('sealed'), / ro,.* ext4 \/dev\/sd. ro/);
    const { sessions, disks } = await initiatorState();
    assert.deepEqual([sessions.length, disks.length], [initiatorBefore.sessions.length + 1, 2], sessions.join('\n'));
    console.log((await kubeletMounts()).join('\n'));
    console.log(sessions.join('\n'));
  });

  test('the usage of network volumes is reported', async () => {
    for (const name of ['newest', 'disk']) {
      const found = await until(`the usage of the volume of ${name}`, async () => {
        const summary = JSON.parse(await side.page('/stats/summary'));
        const ofPod = summary.pods.find(({ podRef }: { podRef: { name: string } }) => podRef.name === `${name}-here`);
        return ofPod?.volume?.find((volume: { name: string }) => volume.name === 'data');
      });
      assert.ok(found.capacityBytes > 16 * 1024 ** 2 && found.usedBytes > 0, JSON.stringify(found));
    }
  });

  test('K1: after a kill of the kubelet, pods keep their processes and mounts, and the volume of a removed pod is unmounted', async () => {
    const names = ['newest', 'older', 'reader', 'disk', 'same'];
    const lives = await livesOf(names);
    const sealed = await mountOf('sealed');
    const mounts = (await kubeletMounts()).filter((line) => !line.includes('-lun-1') && line !== sealed);
    await side.kubelet.stop('SIGKILL');
    await side.remove('sealed');
    await side.kubelet.start();
    await running(names);
    say('the kubelet runs again');
    await untilGone('sealed');
    await until('the unmount of the removed pod', async () =>
      (await kubeletMounts()).length <= mounts.length ? true : undefined,
    );
    assert.deepEqual(await kubeletMounts(), mounts);
    assert.deepEqual(await livesOf(names), lives);
    // The other disk of the same target is still in use.
    await until('the device of the removed pod is gone', async () =>
      (await initiatorState()).disks.length === 1 ? true : undefined,
    );
    assert.equal((await initiatorState()).sessions.length, initiatorBefore.sessions.length + 1);
    await untilCounts('count');
  });

  test('V4: after the removal of the pods, no mount, session, device or directory is left', async () => {
    await remove(['older', 'reader', 'disk', 'same']);
    say('the pods are gone');
    await untilInitiatorIsAsBefore();
    await remove(['newest']);
    await side.empty(signal);
    await untilNothingIsLeft();
  });

  test('W6: while the NFS server is stopped, the kubelet stays healthy, other pods start, and the waiting pods are explained', async () => {
    await side.write(pod('kept', nfs(NEWEST), count('kept')));
    await side.write(pod('removed', nfs(VERSION_3), count('removed')));
    await running(['kept', 'removed']);
    await untilCounts('kept');
    await untilCounts('removed');
    const lives = await livesOf(['kept']);
    await stopNfs();
    say('stopped the NFS server');
    await side.write(pod('late', nfs(NEWEST), `${write('late')}; ${FOREVER}`));
    await side.remove('removed');
    await side.write(pod('bystander', undefined, FOREVER));
    await running(['bystander']);
    say('a pod without a volume is running');
    await assertHealthy();
    const late = await until('an explanation of the pod that waits for the mount', async () => {
      const text = await explain('late');
      return /data/.test(text) && /NFS export/.test(text) ? text : undefined;
    });
    console.log(late);
    await side.page('/stats/summary');
    console.log(await explain('removed').catch(String));

    await side.kubelet.stop('SIGKILL');
    await side.kubelet.start();
    await side.write(pod('another', undefined, FOREVER));
    await running(['kept', 'bystander', 'another']);
    await assertHealthy();
    say('a restarted kubelet is healthy, too');
    assert.deepEqual(await livesOf(['kept']), lives);
    console.log(await explain('late'));
    console.log(await explain('removed').catch(String));

    await continueNfs();
    say('started the NFS server again');
    await running(['late']);
    say('the late pod is running');
    await untilCounts('kept');
    await untilGone('removed');
    assert.deepEqual(await livesOf(['kept']), lives);
    // The container starts before the server's grace period is over, and its write waits.
    await until('the file of the late pod', async () =>
      (await readFile(join(EXPORT, 'late'), 'utf8').catch(() => '')) === 'written by late\n' ? true : undefined,
    );
    await remove(['kept', 'late', 'bystander', 'another']);
    await side.empty(signal);
    await untilNothingIsLeft();
  });

  /** Waits until mounts and iSCSI objects are as before the first pod, and the kubelet's directories of pods are gone. */
  async function untilNothingIsLeft(): Promise<void> {
    const pods = join(side.kubelet.rootDirectory, 'pods');
    await until('the removal of the directories of the pods', async () =>
      (await readdir(pods)).length === 0 ? true : undefined,
    );
    await until('the removal of all mounts', async () =>
      (await allMounts()).length <= mountsBefore.length ? true : undefined,
    ).catch(() => undefined);
    assert.deepEqual(await allMounts(), mountsBefore);
    await untilInitiatorIsAsBefore();
    say('nothing is left');
  }

  async function untilInitiatorIsAsBefore(): Promise<void> {
    await until('the logout from the iSCSI target', async () =>
      isDeepStrictEqual(await initiatorState(), initiatorBefore) ? true : undefined,
    ).catch(() => undefined);
    assert.deepEqual(await initiatorState(), initiatorBefore);
  }
});

async function allMounts(): Promise<readonly string[]> {
  return (await run('findmnt', '--raw', '--noheadings', '--output', 'TARGET,SOURCE,FSTYPE')).split('\n').sort();
}
