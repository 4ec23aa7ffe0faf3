// Graceful node shutdown with a real logind: its inhibitor lock, its delay, the signals that upstream's tests emit, and
// a shutdown by logind itself.
import assert from 'node:assert/strict';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '@node-agent/pod-spec';
import { GroupSide, type ManifestPod } from '@node-agent/tools-compare/groups';
import { binaries, KUBELET } from './guest-binaries.ts';
import { propertyOf, run, systemd } from './machine.ts';

const { signal } = new AbortController();
/** Time limit of a test. An emulated machine on busy CPUs needs minutes instead of seconds. */
const TIMEOUT = { timeout: 2_700_000 };
const LOGIND = ['org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager'] as const;
const WHY = 'Kubelet needs time to handle node shutdown';
const MESSAGE = 'Pod was terminated in response to imminent node shutdown.';
/** Grace periods that are long enough for the pods of a priority to end on a slow machine. */
const GRACE_SECONDS = { plain: 90, critical: 30 };
const DEAF = 'trap "" TERM; while :; do sleep 1; done';
const POLITE = 'trap "exit 0" TERM; while :; do sleep 1 & wait $!; done';

function pod(name: string, script: string, terminationGracePeriodSeconds: number, priority?: number): ManifestPod {
  const command = ['sh', '-c', script];
  const container = { name: 'main', image: 'node-agent.local/busybox:1', imagePullPolicy: 'Never', command };
  const priorityOf = priority === undefined ? {} : { priority };
  return {
    name,
    spec: {
      ...{ hostNetwork: true, dnsPolicy: 'Default', terminationGracePeriodSeconds, ...priorityOf },
      containers: [container],
    },
  } as ManifestPod;
}

describe('kubelet on a machine that shuts down', TIMEOUT, () => {
  let side: GroupSide;
  const began = performance.now();
  const say = (text: string): void => console.log(`${((performance.now() - began) / 1000).toFixed(0)} s: ${text}`);
  const until = async <T>(what: string, ask: () => Promise<T | undefined>, seconds = 400): Promise<T> => {
    for (let tries = 0; tries < seconds; tries++) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      await sleep(1000);
    }
    assert.fail(`timed out waiting for: ${what}\n${await side.kubelet.logTail()}`);
  };
  const untilLocked = (isLocked: boolean) =>
    until(isLocked ? 'the inhibitor lock' : 'the release of the inhibitor lock', async () =>
      (await locks()).length === (isLocked ? 1 : 0) ? true : undefined,
    );
  const untilFailed = (name: string): Promise<Pod> =>
    until(`pod ${name} has failed`, async () => {
      const found = await side.pod(name);
      return found?.status?.phase === 'Failed' ? found : undefined;
    });
  /**
   * Without an API server, the kubelet reports a pod as failed as soon as it decides to terminate the pod, as upstream
   * does. Therefore the container's state is checked, too.
   */
  const untilEnded = (name: string): Promise<Pod> =>
    until(`the container of ${name} has terminated`, async () => {
      const found = await untilFailed(name);
      return found.status?.containerStatuses?.[0]?.state?.terminated ? found : undefined;
    });

  before(async () => {
    // The machine's own containerd is stopped, because the tests use another version.
    await run('systemctl', 'stop', 'containerd');
    await run('systemctl', 'start', 'systemd-logind');
    side = await GroupSide.start({
      ...{ name: 'here', program: KUBELET, binaries, driver: 'systemd', systemd },
      ...{ subnet: '10.199.0.0/24', directory: await mkdtemp('/tmp/k-'), timeoutMs: 900_000, everyMs: 3000 },
      configuration: {
        evictionHard: { 'memory.available': '20Mi' },
        shutdownGracePeriodByPodPriority: [
          { priority: 2_000_000_000, shutdownGracePeriodSeconds: GRACE_SECONDS.critical },
          { priority: 0, shutdownGracePeriodSeconds: GRACE_SECONDS.plain },
        ],
      },
    });
    say('started the runtime and the kubelet');
  });
  after(async () => {
    await side?.stop();
    systemd.close();
  });

  test("the kubelet takes a delay lock and raises logind's delay to the time that all pods need", async () => {
    assert.equal(await property('InhibitDelayMaxUSec'), 't 5000000');
    await untilLocked(true);
    assert.equal(await property('InhibitDelayMaxUSec'), 't 120000000');
    assert.equal(
      await readFile('/etc/systemd/logind.conf.d/99-kubelet.conf', 'utf8'),
      '# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=120\n',
    );
    assert.deepEqual(await locks(), [['shutdown', 'kubelet', WHY, 'delay']]);
    say('the kubelet holds its shutdown inhibitor lock');
  });

  test('the kubelet terminates pods by priority; each pod gets its own grace period, at most the period of its priority', async () => {
    await side.write(pod('deaf', DEAF, 10));
    await side.write(pod('polite', POLITE, 600, 1000));
    await side.write(pod('critical', DEAF, 600, 2_000_001_000));
    await side.running(['deaf', 'polite', 'critical'], signal);
    say('the pods are running');
    const startMs = Date.now();
    await emit(true);
    await side.write(pod('late', POLITE, 1));
    const [deaf, polite] = [await untilEnded('deaf'), await untilEnded('polite')];
    assert.equal((await side.pod('critical'))?.status?.containerStatuses?.[0]?.state?.terminated, undefined);
    assert.equal((await locks()).length, 1);
    const late = await untilFailed('late');
    assert.equal(late.status?.reason, 'NodeShutdown');
    assert.equal(late.status?.message, 'Pod was rejected: Pod was rejected as the node is shutting down.');
    const critical = await untilEnded('critical');
    for (const { metadata, status } of [deaf, polite, critical]) {
      assert.equal(status?.reason, 'Terminated', metadata.name);
      assert.equal(status?.message, MESSAGE, metadata.name);
      const condition = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
      const { status: value, reason, message } = condition ?? {};
      assert.deepEqual({ value, reason, message }, { value: 'True', reason: 'TerminationByKubelet', message: MESSAGE });
    }
    const ends = [deaf, polite, critical].map(endOf);
    const [ofDeaf, ofPolite, ofCritical] = ends as [End, End, End];
    console.log(
      ends.map(({ name, exitCode, atMs }) => `${name}: ${exitCode} after ${(atMs - startMs) / 1000} s`).join(', '),
    );
    assert.deepEqual([ofDeaf.exitCode, ofPolite.exitCode, ofCritical.exitCode], [137, 0, 137]);
    // Container times have a resolution of one second, so the difference may be up to one second too small.
    assert.ok(ofDeaf.atMs - startMs >= 9_000);
    assert.ok(ofPolite.atMs < ofCritical.atMs && ofDeaf.atMs < ofCritical.atMs);
    const before = Math.max(ofDeaf.atMs, ofPolite.atMs);
    assert.ok(ofCritical.atMs - before >= (GRACE_SECONDS.critical - 1) * 1000);
    await untilLocked(false);
    say('all pods have terminated, and the lock is released');
    const state = JSON.parse(await readFile(join(side.kubelet.rootDirectory, 'graceful_node_shutdown_state'), 'utf8'));
    const times = [state.startTime, state.endTime].map((time) => Math.floor(Date.parse(time) / 1000));
    const page = await side.page('/metrics');
    const shown = ['start', 'end'].map((what) =>
      Number(new RegExp(`^kubelet_graceful_shutdown_${what}_time_seconds (\\S+)$`, 'm').exec(page)?.[1]),
    );
    assert.deepEqual(shown, times);
    assert.ok((times[0] ?? 0) >= Math.floor(startMs / 1000) - 1 && (times[1] ?? 0) > (times[0] ?? 0));
  });

  test('the kubelet takes the lock again after a cancelled shutdown, and starts pods', async () => {
    await emit(false);
    await untilLocked(true);
    for (const name of ['deaf', 'polite', 'critical', 'late']) await side.remove(name);
    await side.write(pod('next', DEAF, 45));
    await side.running(['next'], signal);
    say('a pod runs again');
  });

  test('the kubelet releases the lock when the kubelet is killed, and takes it again when the kubelet restarts', async () => {
    await side.kubelet.stop('SIGKILL');
    await untilLocked(false);
    await side.kubelet.start();
    await untilLocked(true);
    await side.running(['next'], signal);
    say('the kubelet runs again');
  });

  test("logind's own shutdown waits for the pods; if it then fails, pods can start again", async () => {
    const startMs = Date.now();
    await run('busctl', 'call', ...LOGIND, 'PowerOff', 'b', 'false');
    // While logind is waiting, its poweroff target is masked, so that this machine survives the test.
    await run('systemctl', 'mask', '--runtime', 'poweroff.target');
    if ((await propertyOf('poweroff.target', 'LoadState')) !== 'masked') {
      await run('systemctl', 'stop', 'systemd-logind');
      assert.fail('mask poweroff.target: not masked');
    }
    assert.equal(await property('PreparingForShutdown'), 'b true');
    const { exitCode, atMs } = endOf(await untilEnded('next'));
    assert.equal(exitCode, 137);
    assert.ok(atMs - startMs >= 44_000, `terminated after ${atMs - startMs} ms`);
    say('logind waited for the pods');
    await until('the end of the shutdown', async () =>
      (await property('PreparingForShutdown')) === 'b false' ? true : undefined,
    );
    await untilLocked(true);
    await side.write(pod('last', POLITE, 1));
    await side.running(['last'], signal);
    await side.remove('last');
    await side.empty(signal);
  });
});

interface End {
  readonly name: string;
  readonly exitCode: number | undefined;
  readonly atMs: number;
}

function endOf({ metadata, status }: Pod): End {
  const terminated = status?.containerStatuses?.[0]?.state?.terminated;
  return { name: metadata.name, exitCode: terminated?.exitCode, atMs: Date.parse(terminated?.finishedAt ?? '') };
}

/** Returns the kubelet's inhibitor locks as logind lists them: what, who, why, mode. */
async function locks(): Promise<readonly (readonly string[])[]> {
  const text = await run('busctl', '--json=short', 'call', ...LOGIND, 'ListInhibitors');
  const [list] = (JSON.parse(text) as { readonly data: readonly (readonly string[])[][] }).data;
  return (list ?? [])
    .map(([what = '', who = '', why = '', mode = '']) => [what, who, why, mode])
    .filter(([, who]) => who === 'kubelet');
}

async function property(name: string): Promise<string> {
  return await run('busctl', 'get-property', ...LOGIND, name);
}

/**
 * Emits the signal that upstream's end-to-end tests emit instead of logind
 * (`test/e2e_node/node_shutdown_linux_test.go`).
 */
async function emit(isShuttingDown: boolean): Promise<void> {
  const [, path, face] = LOGIND;
  await run('busctl', 'emit', path, face, 'PrepareForShutdown', 'b', String(isShuttingDown));
}
