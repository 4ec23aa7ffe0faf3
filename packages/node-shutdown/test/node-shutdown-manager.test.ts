import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { gracePeriodSeconds, groupByPriority, type PriorityGracePeriod } from '../src/index.ts';
import { podOf } from './pods.ts';
import { NODE, World } from './world.ts';

const PERIODS: readonly PriorityGracePeriod[] = [
  { priority: 0, shutdownGracePeriodSeconds: 10 },
  { priority: 1000, shutdownGracePeriodSeconds: 7 },
  { priority: 2_000_000_000, shutdownGracePeriodSeconds: 4 },
];
const STATE = '/var/lib/kubelet/graceful_node_shutdown_state';
const OVERRIDE = '/etc/systemd/logind.conf.d/99-kubelet.conf';

let world: World;

beforeEach(() => {
  world = new World();
  world.delayMs = 30_000;
});

describe('before a shutdown', () => {
  test('before a shutdown the inhibitor lock is held, pods are admitted, and the node is ready', async () => {
    const manager = await world.start(PERIODS);
    expect(world.locks.size).toBe(1);
    expect(manager.admit()).toEqual({ admit: true });
    expect(manager.shutdownErrors()).toEqual([]);
    expect(await world.fs.exists(OVERRIDE)).toBe(false);
    await world.stop();
    expect(world.locks.size).toBe(0);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test('without grace periods no shutdown is watched', async () => {
    const manager = await world.start([]);
    expect(world.sessions).toEqual([]);
    expect(world.locks.size).toBe(0);
    expect(manager.admit()).toEqual({ admit: true });
    expect(world.metrics.text()).toContain('kubelet_graceful_shutdown_start_time_seconds 0');
    await world.stop();
  });

  test("raises logind's maximum delay to the required delay, and polls until logind has applied it", async () => {
    world.delayMs = 5_000;
    await world.start(PERIODS);
    expect(await world.text(OVERRIDE)).toBe('# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=21\n');
    // The allowed delay is read after 0, 100, 300, 700 and 1500 ms.
    await world.clock.advance(1_499);
    expect(world.locks.size).toBe(0);
    await world.clock.advance(1);
    expect(world.locks.size).toBe(1);
    expect(world.errors()).toEqual([]);
    await world.stop();
  });

  test("if logind does not apply the delay, then the node logs upstream's message and runs without graceful shutdown", async () => {
    world.delayMs = 5_000;
    world.follows = false;
    const manager = await world.start(PERIODS);
    await world.clock.advance(60_000);
    expect(world.errors()).toEqual([
      'Failed to start node shutdown manager: node shutdown manager was timed out after 5 attempts waiting for logind InhibitDelayMaxSec to update to 21s (ShutdownGracePeriod), current value is 5s',
    ]);
    expect(manager.admit()).toEqual({ admit: true });
    expect(world.locks.size).toBe(0);
    await world.stop();
  });

  test.each([
    [{ logindProblem: 'the system bus cannot be used' }, 'the system bus cannot be used'],
    [
      { lockProblem: 'failed creating systemd inhibitor: Access denied' },
      'failed creating systemd inhibitor: Access denied',
    ],
  ])(
    'if the watch cannot start because of %j, the node runs without graceful shutdown and retries each minute',
    async (problem, message) => {
      Object.assign(world, problem);
      await world.start(PERIODS);
      await world.clock.advance(180_000);
      expect(world.errors()).toEqual([`Failed to start node shutdown manager: ${message}`]);
      expect(world.sessions.every(({ closed }) => closed)).toBe(true);
      world.logindProblem = undefined;
      world.lockProblem = undefined;
      await world.clock.advance(59_000);
      expect(world.locks.size).toBe(0);
      await world.clock.advance(1_000);
      expect(world.locks.size).toBe(1);
      await world.stop();
    },
  );

  test("reports that logind's configuration cannot be written", async () => {
    world.delayMs = 5_000;
    await world.fs.mkdir('/etc/systemd');
    await world.fs.writeFile('/etc/systemd/logind.conf.d', 'a file');
    await world.start(PERIODS);
    expect(world.errors()[0]).toMatch(
      /^Failed to start node shutdown manager: unable to override inhibit delay by shutdown manager: failed (creating|writing) .*logind\.conf\.d/,
    );
    await world.stop();
  });
});

describe('a shutdown', () => {
  test('N9: terminates pods by priority, each group after the previous group has terminated', async () => {
    world.active = [podOf('critical', 2_000_000_000, 30), podOf('late', 1000, 5), podOf('a', 0, 3), podOf('b', 10, 60)];
    world.ends.set('b', 6);
    const manager = await world.start(PERIODS);
    await world.say(true);
    expect(manager.admit()).toEqual({
      ...{ admit: false, reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' },
    });
    expect(manager.shutdownErrors()).toEqual(['node is shutting down']);
    expect(world.changes).toBe(1);
    await world.clock.advance(60_000);
    expect(world.story).toEqual([
      '0 s: a has 3 s (Terminated)',
      '0 s: b has 10 s (Terminated)',
      '3 s: a ended',
      '6 s: b ended',
      '6 s: late has 5 s (Terminated)',
      '11 s: late ended',
      '11 s: critical has 4 s (Terminated)',
      '15 s: critical ended',
      '15 s: the lock is given back',
    ]);
    expect(world.recorder.eventsOf(NODE)).toMatchObject([
      { type: 'Normal', reason: 'Shutdown', message: 'Shutdown manager detected shutdown event' },
    ]);
    await world.stop();
  });

  test('N9: terminates pods by priority even if the periods are configured in another order', async () => {
    world.active = [podOf('late', 1000, 5), podOf('a', 0, 3)];
    await world.start(PERIODS.toReversed());
    await world.say(true);
    await world.clock.advance(60_000);
    expect(world.story.slice(0, 3)).toEqual([
      '0 s: a has 3 s (Terminated)',
      '3 s: a ended',
      '3 s: late has 5 s (Terminated)',
    ]);
    await world.stop();
  });

  test('N9: starts no group before the group below it has terminated or used up its period', async () => {
    const anyPod = fc.record({
      priority: fc.constantFrom(-3, 0, 7, 1000, 5000, 2_000_000_000),
      own: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
      endsAfter: fc.integer({ min: 0, max: 25 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyPod, { maxLength: 8 }), async (facts) => {
        const one = new World();
        one.delayMs = 30_000;
        const pods = facts.map(({ priority, own }, index) => podOf(`pod${index}`, priority, own));
        one.active = [...pods];
        for (const [index, { endsAfter }] of facts.entries()) one.ends.set(`pod${index}`, endsAfter);
        await one.start(PERIODS);
        await one.say(true);
        await one.clock.advance(60_000);
        const expected: string[] = [];
        let atS = 0;
        for (const group of groupByPriority(PERIODS, pods)) {
          if (group.pods.length === 0) continue;
          for (const pod of group.pods)
            expected.push(`${atS} s: ${pod.metadata.name} has ${gracePeriodSeconds(pod, group)} s`);
          const slowest = Math.max(...group.pods.map(({ metadata }) => one.ends.get(metadata.name) ?? 0));
          atS += Math.min(slowest, group.shutdownGracePeriodSeconds);
        }
        expected.push(`${atS} s: the lock is given back`);
        const told = one.story
          .filter((line) => !line.endsWith('ended'))
          .map((line) => line.replace(' (Terminated)', ''));
        expect(told).toEqual(expected);
        expect(atS).toBeLessThanOrEqual(21);
        await one.stop();
      }),
      { numRuns: 40 },
    );
  });

  test('does not wait for a group without pods', async () => {
    world.active = [podOf('critical', 2_000_000_000, 1)];
    await world.start(PERIODS);
    await world.say(true);
    await world.clock.advance(60_000);
    expect(world.story.at(-1)).toBe('1 s: the lock is given back');
    await world.stop();
  });

  test("waits for pods that do not terminate until their group's period ends", async () => {
    world.active = [podOf('stuck', 0, 2), podOf('critical', 2_000_000_000, 1)];
    world.ends.set('stuck', 100);
    await world.start(PERIODS);
    await world.say(true);
    await world.clock.advance(60_000);
    expect(world.story).toEqual([
      '0 s: stuck has 2 s (Terminated)',
      '10 s: critical has 1 s (Terminated)',
      '11 s: critical ended',
      '11 s: the lock is given back',
    ]);
    await world.clock.advance(60_000);
    expect(world.story.at(-1)).toBe('100 s: stuck ended');
    await world.stop();
  });

  test("unmounts volumes before the next group starts, for at most the group's period", async () => {
    world.active = [podOf('a', 0, 1), podOf('b', 1000, 1)];
    world.mounted.add('a').add('b');
    await world.start(PERIODS);
    await world.say(true);
    await world.clock.advance(5_000);
    expect(world.story).toEqual(['0 s: a has 1 s (Terminated)', '1 s: a ended']);
    world.mounted.delete('a');
    await world.clock.advance(300);
    expect(world.story.at(-1)).toMatch(/^5\.\d+ s: b has 1 s/);
    await world.clock.advance(60_000);
    expect(world.story.at(-1)).toMatch(/^12\.\d+ s: the lock is given back/);
    expect(world.errors()).toEqual([
      expect.stringContaining('Failed while waiting for all the volumes belonging to Pods in this group to unmount'),
    ]);
    await world.stop();
  });

  test('starts a group with a period of 0 immediately and does not wait for it', async () => {
    world.active = [podOf('critical', 2_000_000_000, 30)];
    world.ends.set('critical', 2);
    await world.start([
      { priority: 0, shutdownGracePeriodSeconds: 10 },
      { priority: 2_000_000_000, shutdownGracePeriodSeconds: 0 },
    ]);
    await world.say(true);
    await world.clock.advance(1);
    expect(world.story).toEqual(['0 s: critical has 0 s (Terminated)', '0 s: the lock is given back']);
    await world.stop();
  });

  test('stores and reports the shutdown times, and reports them again after a restart', async () => {
    world.active = [podOf('a', 0, 3)];
    await world.start(PERIODS);
    await world.say(true);
    const startS = Date.UTC(2026, 0, 1) / 1000;
    expect(JSON.parse(await world.text(STATE))).toEqual({
      startTime: '2026-01-01T00:00:00.000Z',
      endTime: '0001-01-01T00:00:00Z',
    });
    expect(world.metrics.text()).toContain(`kubelet_graceful_shutdown_start_time_seconds ${startS}`);
    expect(world.metrics.text()).toContain('kubelet_graceful_shutdown_end_time_seconds 0');
    await world.clock.advance(3_000);
    expect(JSON.parse(await world.text(STATE))).toEqual({
      startTime: '2026-01-01T00:00:00.000Z',
      endTime: '2026-01-01T00:00:03.000Z',
    });
    expect(world.metrics.text()).toContain(`kubelet_graceful_shutdown_end_time_seconds ${startS + 3}`);
    await world.stop();

    const next = new World();
    next.delayMs = 30_000;
    await next.fs.mkdir('/var/lib/kubelet');
    await next.fs.writeFile(STATE, await world.text(STATE));
    await next.start(PERIODS);
    expect(next.metrics.text()).toContain(`kubelet_graceful_shutdown_start_time_seconds ${startS}`);
    expect(next.metrics.text()).toContain(`kubelet_graceful_shutdown_end_time_seconds ${startS + 3}`);
    await next.stop();
  });

  test.each(['{', '[]', '{"startTime": "yesterday"}'])(
    'reports an invalid state file %j and continues',
    async (text) => {
      await world.fs.mkdir('/var/lib/kubelet');
      await world.fs.writeFile(STATE, text);
      await world.start(PERIODS);
      expect(world.errors()).toEqual([expect.stringContaining(`Failed to load graceful shutdown state: ${STATE}`)]);
      expect(world.locks.size).toBe(1);
      await world.stop();
    },
  );

  test.each(['null', '{}', '{"startTime": null, "endTime": "0001-01-01T00:00:00Z"}'])(
    'reads no times from the state file %j, as Go does',
    async (text) => {
      await world.fs.mkdir('/var/lib/kubelet');
      await world.fs.writeFile(STATE, text);
      await world.start(PERIODS);
      expect(world.errors()).toEqual([]);
      expect(world.metrics.text()).toContain('kubelet_graceful_shutdown_start_time_seconds 0');
      await world.stop();
    },
  );

  test("a hanging disk does not delay the termination of pods, and delays the machine's shutdown only briefly", async () => {
    world.active = [podOf('a', 0, 3)];
    await world.start(PERIODS);
    world.fs.injectFault({ code: 'ETIMEDOUT', path: '/var/lib/kubelet', hangs: true, times: Number.POSITIVE_INFINITY });
    await world.say(true);
    await world.clock.advance(60_000);
    expect(world.story).toEqual([
      '0 s: a has 3 s (Terminated)',
      '3 s: a ended',
      expect.stringMatching(/^\d+ s: the lock/),
    ]);
    expect(Number.parseInt(world.story.at(-1) ?? '', 10)).toBeLessThanOrEqual(10);
    await world.stop();
  });

  test('a hanging disk at the start delays the shutdown watch by a few seconds', async () => {
    world.fs.injectFault({ code: 'ETIMEDOUT', path: STATE, hangs: true, times: Number.POSITIVE_INFINITY });
    await world.start(PERIODS);
    expect(world.locks.size).toBe(0);
    await world.clock.advance(5_000);
    expect(world.locks.size).toBe(1);
    expect(world.errors()).toEqual([expect.stringContaining('Failed to load graceful shutdown state')]);
    await world.stop();
  });

  test('a repeated shutdown signal terminates pods once', async () => {
    world.active = [podOf('a', 0, 3)];
    await world.start(PERIODS);
    await world.say(true);
    await world.say(true);
    await world.clock.advance(60_000);
    expect(world.story).toHaveLength(3);
    await world.stop();
  });

  test('N9: releases the lock when the kubelet stops, so that the machine does not wait', async () => {
    world.active = [podOf('a', 0, 3), podOf('b', 1000, 3)];
    await world.start(PERIODS);
    await world.say(true);
    await world.stop();
    expect(world.story).toEqual(['0 s: a has 3 s (Terminated)', '0 s: the lock is given back']);
    expect(world.clock.pendingTimers).toBe(0);
  });
});

describe('a cancelled shutdown', () => {
  test('a cancelled shutdown keeps the pods of later groups and the lock', async () => {
    world.active = [podOf('a', 0, 3), podOf('b', 1000, 3)];
    const manager = await world.start(PERIODS);
    await world.say(true);
    await world.clock.advance(1_000);
    await world.say(false);
    expect(manager.admit()).toEqual({ admit: true });
    expect(manager.shutdownErrors()).toEqual([]);
    expect(world.changes).toBe(2);
    await world.clock.advance(60_000);
    expect(world.story).toEqual(['0 s: a has 3 s (Terminated)', '3 s: a ended']);
    expect(world.locks.size).toBe(1);
    expect(world.errors()).toEqual([]);
    expect(world.log.lines.map(({ message }) => message)).not.toContainEqual(
      expect.stringContaining('shutdown shortly'),
    );
    expect(world.recorder.eventsOf(NODE)).toMatchObject([
      { message: 'Shutdown manager detected shutdown event' },
      { reason: 'Shutdown', message: 'Shutdown manager detected shutdown cancellation' },
    ]);
    await world.say(true);
    await world.clock.advance(60_000);
    expect(world.story.at(-1)).toMatch('the lock is given back');
    expect(world.active).toEqual([]);
    await world.stop();
  });

  test('N9: a cancelled shutdown that begins again before logind gives a new lock keeps the old lock', async () => {
    world.active = [podOf('a', 0, 3), podOf('b', 1000, 3)];
    const manager = await world.start(PERIODS);
    world.lockProblem = 'The operation inhibition has been requested for is already running';
    world.preparing = true;
    await world.say(true);
    await world.clock.advance(1_000);
    world.sessions.at(-1)?.push(false);
    await world.say(true);
    expect(manager.shutdownErrors()).toEqual(['node is shutting down']);
    expect(world.locks.size).toBe(1);
    await world.clock.advance(60_000);
    expect(world.active).toEqual([]);
    expect(world.story.at(-1)).toMatch('the lock is given back');
    expect(world.errors()).toEqual([]);
    await world.stop();
  });

  test('N9: a cancelled shutdown that begins again while a lock is requested terminates pods immediately', async () => {
    await world.start(PERIODS);
    await world.say(true);
    world.lockHangs = true;
    world.active = [podOf('a', 0, 3)];
    await world.say(false);
    expect(world.locks.size).toBe(0);
    await world.clock.advance(1_000);
    await world.say(true);
    expect(world.story.at(-1)).toBe('1 s: a has 3 s (Terminated)');
    world.lockHangs = false;
    await world.clock.advance(10_000);
    expect(world.locks.size).toBe(0);
    await world.say(false);
    expect(world.locks.size).toBe(1);
    expect(world.errors()).toEqual([]);
    await world.stop();
  });

  test('a shutdown that is cancelled after all pods terminated makes the node ready again', async () => {
    const manager = await world.start(PERIODS);
    await world.say(true);
    expect(world.locks.size).toBe(0);
    await world.say(false);
    expect(world.locks.size).toBe(1);
    expect(manager.shutdownErrors()).toEqual([]);
    await world.stop();
  });

  test('a shutdown that is cancelled while the bus is down is detected after reconnection', async () => {
    const manager = await world.start(PERIODS);
    await world.say(true);
    world.sessions.at(-1)?.close();
    await world.clock.advance(1_000);
    expect(manager.shutdownErrors()).toEqual([]);
    expect(world.locks.size).toBe(1);
    await world.stop();
  });
});

describe('loss of the D-Bus connection', () => {
  test('reconnects to the bus after a second, and holds exactly one lock', async () => {
    world.active = [podOf('a', 0, 3)];
    await world.start(PERIODS);
    world.sessions.at(-1)?.close();
    world.logindProblem = 'connect ECONNREFUSED';
    await world.clock.advance(5_000);
    expect(world.errors()).toEqual([
      'Ended to watching the node for shutdown events',
      'Unable to watch the node for shutdown events: connect ECONNREFUSED',
    ]);
    expect(world.locks.size).toBe(1);
    world.logindProblem = undefined;
    await world.clock.advance(1_000);
    expect(world.sessions).toHaveLength(2);
    expect(world.locks.size).toBe(1);
    await world.say(true);
    expect(world.story.at(-1)).toMatch('a has 3 s');
    await world.stop();
  });

  test('N9: a shutdown terminates pods immediately even if logind grants no new lock; the old lock still delays the machine', async () => {
    world.active = [podOf('a', 0, 3)];
    await world.start(PERIODS);
    world.lockHangs = true;
    world.sessions.at(-1)?.close();
    await world.clock.advance(2_000);
    expect(world.locks.size).toBe(1);
    await world.say(true);
    expect(world.story).toEqual(['2 s: a has 3 s (Terminated)']);
    await world.clock.advance(3_000);
    expect(world.story.slice(1)).toEqual(['5 s: a ended', '5 s: the lock is given back']);
    await world.stop();
    expect(world.clock.pendingTimers).toBe(0);
  });

  test('losing the bus during a shutdown does not interrupt it, and no second lock is requested', async () => {
    world.active = [podOf('a', 0, 3), podOf('b', 1000, 3)];
    const manager = await world.start(PERIODS);
    world.preparing = true;
    await world.say(true);
    world.sessions.at(-1)?.close();
    world.lockProblem = 'The operation inhibition has been requested for is already running';
    await world.clock.advance(60_000);
    expect(world.story.map((line) => line.slice(line.indexOf(':') + 2))).toEqual([
      ...['a has 3 s (Terminated)', 'a ended', 'b has 3 s (Terminated)', 'b ended', 'the lock is given back'],
    ]);
    expect(manager.shutdownErrors()).toEqual(['node is shutting down']);
    expect(world.sessions).toHaveLength(2);
    await world.stop();
  });

  test('after all pods terminated, requests no lock until the shutdown is cancelled', async () => {
    await world.start(PERIODS);
    world.preparing = true;
    await world.say(true);
    world.sessions.at(-1)?.close();
    await world.clock.advance(10_000);
    expect(world.sessions).toHaveLength(2);
    expect(world.locks.size).toBe(0);
    await world.say(false);
    expect(world.locks.size).toBe(1);
    await world.stop();
  });

  test('the kubelet takes the inhibitor lock again after it was lost', async () => {
    await world.start(PERIODS);
    for (const end of world.locks) end();
    await world.clock.advance(0);
    expect(world.locks.size).toBe(0);
    await world.clock.advance(1_000);
    expect(world.locks.size).toBe(1);
    await world.stop();
  });

  test('takes a lock again that was lost right after it was taken', async () => {
    world.lostLocks = 1;
    await world.start(PERIODS);
    expect(world.locks.size).toBe(0);
    await world.clock.advance(1_000);
    expect(world.locks.size).toBe(1);
    await world.stop();
  });

  test('N9: detects a shutdown that started while the bus was down', async () => {
    world.active = [podOf('a', 0, 3)];
    const manager = await world.start(PERIODS);
    world.sessions.at(-1)?.close();
    world.preparing = true;
    world.lockProblem = 'The operation inhibition has been requested for is already running';
    await world.clock.advance(10_000);
    expect(world.story).toEqual(['1 s: a has 3 s (Terminated)', '4 s: a ended', '4 s: the lock is given back']);
    expect(manager.admit()).toMatchObject({ admit: false });
    await world.stop();
  });

  test.each([true, false])(
    'N9: a shutdown that starts while the first lock is requested terminates pods immediately (the request hangs: %s)',
    async (hangs) => {
      world.active = [podOf('a', 0, 3)];
      if (hangs) world.lockHangs = true;
      else world.delayMs = 5_000;
      await world.start(PERIODS);
      await world.clock.advance(1_000);
      expect(world.locks.size).toBe(0);
      world.preparing = true;
      await world.say(true);
      expect(world.story).toEqual(['1 s: a has 3 s (Terminated)']);
      world.lockHangs = false;
      await world.clock.advance(60_000);
      expect(world.locks.size).toBe(0);
      world.preparing = false;
      await world.say(false);
      await world.clock.advance(2_000);
      expect(world.locks.size).toBe(1);
      expect(world.errors()).toEqual([]);
      await world.stop();
      expect(world.clock.pendingTimers).toBe(0);
    },
  );

  test('N9: if the first lock is refused because a shutdown has just started, pods are terminated and the watch continues', async () => {
    world.active = [podOf('a', 0, 3)];
    world.lockProblem = 'The operation inhibition has been requested for is already running';
    world.beforeLock = () => {
      world.preparing = true;
    };
    const manager = await world.start(PERIODS);
    expect(world.sessions.map(({ closed }) => closed)).toEqual([false]);
    await world.say(true);
    expect(manager.shutdownErrors()).toEqual(['node is shutting down']);
    expect(world.story).toEqual(['0 s: a has 3 s (Terminated)']);
    expect(world.errors()).toEqual([]);
    await world.stop();
  });

  test('if logind grants no new lock, the failure is logged once for all attempts', async () => {
    await world.start(PERIODS);
    world.lockProblem = 'failed creating systemd inhibitor: Access denied';
    world.sessions.at(-1)?.close();
    await world.clock.advance(10_000);
    expect(world.sessions.length).toBeGreaterThan(5);
    expect(world.errors()).toEqual([
      'Ended to watching the node for shutdown events',
      'Unable to watch the node for shutdown events: failed creating systemd inhibitor: Access denied',
    ]);
    expect(world.locks.size).toBe(1);
    await world.stop();
  });

  test('N9: detects a shutdown that started before the kubelet, and its cancellation', async () => {
    world.active = [podOf('a', 0, 3)];
    world.preparing = true;
    world.lockProblem = 'The operation inhibition has been requested for is already running';
    const manager = await world.start(PERIODS);
    expect(manager.shutdownErrors()).toEqual(['node is shutting down']);
    expect(world.story).toEqual(['0 s: a has 3 s (Terminated)']);
    world.preparing = false;
    world.lockProblem = undefined;
    await world.say(false);
    expect(manager.shutdownErrors()).toEqual([]);
    expect(world.locks.size).toBe(1);
    expect(world.errors()).toEqual([]);
    await world.stop();
  });
});
