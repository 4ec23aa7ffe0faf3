// The Debian package on a machine with systemd and without Node.js: install, upgrade in place, remove, purge.
import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildImage } from '@node-agent/tools-containerd';
import { propertyOf, run } from './machine.ts';

const HOST = '/mnt/host';
/** Time limit of a test. An emulated machine on busy CPUs needs minutes instead of seconds. */
const TIMEOUT = { timeout: 7_000_000 };
const IMAGE = 'node-agent.local/busybox:1';
const CONFIGURATION = '/etc/kubernetes/kubelet.yaml';
const UNIT = 'kubelet.service';

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web' },
  spec: {
    ...{ hostNetwork: true, dnsPolicy: 'Default', terminationGracePeriodSeconds: 1 },
    containers: [{ name: 'main', image: IMAGE, imagePullPolicy: 'Never', command: ['sleep', '86413'] }],
    volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }],
  },
};

describe('Debian package', TIMEOUT, () => {
  const began = performance.now();
  const say = (text: string): void => console.log(`${((performance.now() - began) / 1000).toFixed(0)} s: ${text}`);
  let filesBefore: ReadonlySet<string>;
  let podProcess = '';
  const podRuns = async (): Promise<void> =>
    await until('the pod runs', async () => (await run('nodectl', 'pods', 'web', '--check').catch(() => '')) !== '');
  const processOfPod = async (): Promise<string> => await run('pgrep', '-f', '^sleep 86413');
  /** Asserts that a new kubelet shows the pod, whose process is still the first one. */
  const podWasKept = async (): Promise<void> => {
    await podRuns();
    assert.equal(await processOfPod(), podProcess);
    assert.equal(restarts(JSON.parse(await run('nodectl', 'pods', 'web', '-o', 'json'))), 0);
  };

  before(async () => {
    const directory = await mkdtemp('/tmp/p-');
    await buildImage({ tag: IMAGE, file: `${directory}/image.tar` });
    await appendFile(
      '/etc/containerd/config.toml',
      `[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "${IMAGE}"\n`,
    );
    await run('systemctl', 'restart', 'containerd');
    await run('ctr', '-n', 'k8s.io', 'images', 'import', `${directory}/image.tar`);
    await writeFile('/root/web.json', JSON.stringify(pod));
    // An emulated machine needs more time for a start and for a message to the watchdog.
    await mkdir('/etc/systemd/system/kubelet.service.d');
    await writeFile(
      '/etc/systemd/system/kubelet.service.d/slow.conf',
      '[Service]\nWatchdogSec=3min\nTimeoutStartSec=15min\n',
    );
    filesBefore = await filesOfMachine();
    say('prepared the runtime');
  });
  after(async () => {
    say(await run('journalctl', '-u', UNIT, '--no-pager', '-n', '30', '-o', 'cat').catch(String));
  });

  test('the Debian package installs on a machine without Node.js, starts the service and runs a pod', async () => {
    await assert.rejects(run('sh', '-c', 'command -v node'), 'Node.js must not be installed');
    await run('dpkg', '-i', `${HOST}/old.deb`);
    say('installed');
    assert.equal(await propertyOf(UNIT, 'ActiveState'), 'active');
    assert.equal(await propertyOf(UNIT, 'UnitFileState'), 'enabled');
    assert.equal(await propertyOf(UNIT, 'Type'), 'notify');
    assert.equal(await propertyOf(UNIT, 'KillMode'), 'process');
    assert.match(await readFile('/usr/lib/systemd/system/kubelet.service', 'utf8'), /^WatchdogSec=30s$/m);
    assert.doesNotMatch(await run('sh', '-c', 'systemd-analyze verify kubelet.service 2>&1'), /kubelet/);
    assert.match(await run('kubelet', '--version'), /^Kubernetes v1\.\d+\.\d+\+node-agent\.[\d.]+\.g[0-9a-f]{12}$/);
    await run('nodectl', 'apply', '-f', '/root/web.json');
    await podRuns();
    podProcess = await processOfPod();
    assert.match(await run('iptables', '-t', 'mangle', '-S'), /^-N KUBE-IPTABLES-HINT$/m);
    assert.match(await run('nodectl', 'exec', 'web', '--', 'cat', '/proc/1/cmdline'), /sleep/);
    say(`the pod runs\n${await run('systemctl', 'status', UNIT, '--no-pager', '--lines=0')}`);
  });

  test('systemd restarts a kubelet that does not notify the watchdog, and the pod keeps running', async () => {
    const hung = await propertyOf(UNIT, 'MainPID');
    await run('kill', '-STOP', hung);
    await until('systemd has restarted the kubelet', async () => {
      const [restarted, state] = [await propertyOf(UNIT, 'NRestarts'), await propertyOf(UNIT, 'ActiveState')];
      return restarted !== '0' && state === 'active';
    });
    say('restarted');
    assert.equal(await propertyOf(UNIT, 'NRestarts'), '1');
    assert.notEqual(await propertyOf(UNIT, 'MainPID'), hung);
    assert.match(await run('journalctl', '-u', UNIT, '--no-pager', '-o', 'cat'), /Watchdog timeout/);
    await podWasKept();
  });

  test("an upgrade in place keeps the pod's process running and the operator's configuration unchanged", async () => {
    await appendFile(CONFIGURATION, '# by the operator\n');
    const kubelet = await propertyOf(UNIT, 'MainPID');
    await run('dpkg', '-i', `${HOST}/new.deb`);
    say('upgraded');
    assert.equal(await propertyOf(UNIT, 'ActiveState'), 'active');
    assert.notEqual(await propertyOf(UNIT, 'MainPID'), kubelet);
    assert.match(await readFile(CONFIGURATION, 'utf8'), /# by the operator/);
    await podWasKept();
  });

  test('removal stops the kubelet and keeps the pod; purge kills the pod and removes all files of the kubelet', async () => {
    await run('dpkg', '-r', 'node-agent');
    say('removed');
    assert.equal(await propertyOf(UNIT, 'ActiveState'), 'inactive');
    await assert.rejects(run('sh', '-c', 'command -v kubelet'));
    assert.equal(await processOfPod(), podProcess);
    await run('rm', '-r', '/etc/kubernetes/manifests');
    await run('dpkg', '-P', 'node-agent');
    say('purged');
    await assert.rejects(processOfPod());
    await leavesNothing(filesBefore);
  });

  test('KEEP_PODS_ON_REMOVE="no": a purge stops the pods in the runtime and removes all files of the kubelet', async () => {
    await run('dpkg', '-i', `${HOST}/new.deb`);
    say('installed again');
    await run('nodectl', 'apply', '-f', '/root/web.json');
    await podRuns();
    await run('sed', '-i', 's/^KEEP_PODS_ON_REMOVE=.*/KEEP_PODS_ON_REMOVE="no"/', '/etc/default/kubelet');
    await run('rm', '-r', '/etc/kubernetes/manifests');
    await run('dpkg', '-P', 'node-agent');
    say('purged');
    await assert.rejects(processOfPod());
    assert.equal(await run('ctr', '-n', 'k8s.io', 'containers', 'ls', '-q'), '');
    await leavesNothing(filesBefore);
  });
});

/** Asserts that a purge has left no file, mount, cgroup or iptables chain on the machine. */
async function leavesNothing(filesBefore: ReadonlySet<string>): Promise<void> {
  assert.deepEqual(
    [...(await filesOfMachine())].filter((path) => !filesBefore.has(path)),
    [],
  );
  assert.doesNotMatch(await readFile('/proc/mounts', 'utf8'), /kubelet/);
  assert.equal(await run('sh', '-c', 'find /sys/fs/cgroup -type d -name "*kubepods*"'), '');
  assert.doesNotMatch(await run('sh', '-c', 'iptables-save; ip6tables-save'), /KUBE/);
}

/** Returns the number of restarts in the output of `nodectl pods -o json`: one pod, or a list. */
function restarts(shown: { items?: readonly Status[] } & Status): number | undefined {
  return (shown.items?.[0] ?? shown).status?.containerStatuses?.[0]?.restartCount;
}

interface Status {
  readonly status?: { readonly containerStatuses?: readonly { readonly restartCount: number }[] };
}

/** Returns all paths on which an installed package or a kubelet could leave something. */
async function filesOfMachine(): Promise<ReadonlySet<string>> {
  const own =
    '/var/lib/containerd /run/containerd /run/systemd /run/log /var/lib/dpkg /var/log/dpkg.log /run/udev /run/vm';
  const skipped = own.split(' ').map((path) => `-path ${path} -prune -o`);
  const script = `find /etc /usr /var /run /opt /root ${skipped.join(' ')} -print`;
  return new Set((await run('sh', '-c', script)).split('\n'));
}

/**
 * Waits until `ask` returns true, for at least half an hour. The pauses are long, because each check starts a program,
 * which takes CPU time from the kubelet.
 */
async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 360; tries++) {
    if (await ask()) return;
    await sleep(5000);
  }
  assert.fail(`timed out waiting until ${what}`);
}
