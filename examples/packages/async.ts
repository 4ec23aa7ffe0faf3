// From packages/async/README.md, which explains the program.
import { Backoff, CoalescingQueue, every, systemClock, WorkQueue, withTimeout } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';

const clock = new FakeClock();
const queue = new WorkQueue<string>({ clock });
queue.enqueue('pod-b', 60_000);
queue.enqueue('pod-a', 10_000);
const consuming = (async () => {
  for await (const key of queue) console.log(`${key} is due after ${clock.monotonic() / 1_000} s`);
})();
await clock.advance(60_000);
queue.close();
await consuming;

const backoff = new Backoff({ clock }, { initialMs: 10_000, maxMs: 300_000 });
backoff.next('pod-a', clock.now());
console.log('back off for', backoff.remainingMs('pod-a', clock.now()), 'ms');

const changes = new CoalescingQueue<string, number>((waiting, next) => waiting + next);
changes.push('pod-a', 1);
changes.push('pod-a', 1);
console.log(await changes.take());

const controller = new AbortController();
await every(systemClock, 1_000, () => controller.abort(), controller.signal);
console.log(await withTimeout(systemClock, 1_000, async () => 'in time'));
