import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeClock } from '@node-agent/async/testing';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { PodJournal, type PodStepName } from '../src/explain/pod-journal.ts';

let clock: FakeClock;
let journal: PodJournal;

beforeEach(() => {
  clock = new FakeClock();
  journal = new PodJournal({ clock });
});

describe('PodJournal', () => {
  it('the journal returns the steps of a pod in order, including those in progress', async () => {
    journal.known('u');
    const startedAtMs = clock.now();
    await clock.advance(5);
    const end = journal.begin('u', 'Sandbox');
    await clock.advance(10);
    journal.mark('u', 'Probe', { target: 'readiness of main', message: 'success' });
    expect(journal.steps('u')).toEqual([
      { step: 'Seen', startedAtMs, endedAtMs: startedAtMs, outcome: 'done' },
      { step: 'Sandbox', startedAtMs: startedAtMs + 5 },
      {
        ...{ step: 'Probe', target: 'readiness of main', message: 'success', outcome: 'done' },
        ...{ startedAtMs: startedAtMs + 15, endedAtMs: startedAtMs + 15 },
      },
    ]);
    end();
    expect(journal.steps('u')[1]).toMatchObject({ step: 'Sandbox', endedAtMs: startedAtMs + 15, outcome: 'done' });
  });

  it('the journal counts how often a step was started, with its last outcome', async () => {
    journal.known('u');
    const stopped = new AbortController();
    const fails = (text: string, signal?: AbortSignal) =>
      journal.during('u', 'Image', { target: 'main', message: 'web:1' }, () => Promise.reject(new Error(text)), signal);
    await expect(fails('no such host')).rejects.toThrow('no such host');
    expect(journal.steps('u').at(-1)).toMatchObject({ outcome: 'failed', message: 'no such host' });
    stopped.abort();
    await expect(fails('aborted', stopped.signal)).rejects.toThrow('aborted');
    expect(journal.steps('u').at(-1)).toMatchObject({ outcome: 'cancelled', message: 'web:1', times: 2 });
    await journal.during('u', 'Image', { target: 'main' }, async () => 'found');
    expect(journal.steps('u').at(-1)).toMatchObject({ outcome: 'done', times: 3 });
  });

  it('the journal keeps the explanation of an error instead of its message', async () => {
    journal.known('u');
    const message = 'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: no such secret';
    const error = Object.assign(new Error(message), { explanation: 'data: no such secret' });
    await expect(journal.during('u', 'Volumes', {}, () => Promise.reject(error))).rejects.toBe(error);
    expect(journal.steps('u').at(-1)).toMatchObject({ outcome: 'failed', message: 'data: no such secret' });
  });

  it('the journal returns since when a step has failed continuously', async () => {
    journal.known('u');
    const fails = () =>
      journal.during('u', 'Volumes', {}, () => Promise.reject(new Error('no'))).catch(() => undefined);
    await fails();
    const failingSinceMs = clock.now();
    await clock.advance(1_000);
    await fails();
    expect(journal.steps('u').at(-1)).toMatchObject({ failingSinceMs, startedAtMs: failingSinceMs + 1_000 });
    const end = journal.begin('u', 'Volumes');
    expect(journal.steps('u').at(-1)).toMatchObject({ failingSinceMs });
    end({ error: new Error('stop'), cancelled: true });
    expect(journal.steps('u').at(-1)).toMatchObject({ failingSinceMs });
    journal.begin('u', 'Volumes')();
    expect(journal.steps('u').at(-1)?.failingSinceMs).toBeUndefined();
  });

  it('the journal keeps the record of a completed step that is repeated successfully, and records a later failure', async () => {
    journal.known('u');
    await journal.during('u', 'Volumes', {}, () => clock.advance(7));
    const done = journal.steps('u').at(-1);
    await clock.advance(60_000);
    const end = journal.begin('u', 'Volumes');
    expect(journal.steps('u').at(-1)).toMatchObject({ step: 'Volumes', startedAtMs: clock.now() });
    end();
    expect(journal.steps('u').at(-1)).toEqual(done);
    journal.begin('u', 'Volumes')({ error: new Error('more urgent'), cancelled: true });
    expect(journal.steps('u').at(-1)).toEqual(done);
    journal.begin('u', 'Volumes')({ error: new Error('gone') });
    expect(journal.steps('u').at(-1)).toMatchObject({ outcome: 'failed', message: 'gone' });
  });

  it('the journal ignores the end of a step that was started again', () => {
    journal.known('u');
    const first = journal.begin('u', 'StatusSent');
    journal.begin('u', 'StatusSent');
    first({ error: new Error('late') });
    expect(journal.steps('u').at(-1)?.endedAtMs).toBeUndefined();
  });

  it('K4: the journal keeps no step of a pod that is unknown or was forgotten', () => {
    journal.mark('u', 'Stop');
    journal.known('u');
    const end = journal.begin('u', 'Stop');
    journal.forget('u');
    end();
    journal.begin('u', 'CleanUp')();
    expect(journal.steps('u')).toEqual([]);
  });

  it('K4: the journal shortens a long message when it stores it', () => {
    journal.known('u');
    const collect = collector();
    const before = collect();
    for (let index = 0; index < 60; index++) {
      const long = Buffer.alloc(1e6, 'x').toString() + index;
      journal.begin('u', 'Image', { target: `failed${index}` })({ error: new Error(long) });
      journal.mark('u', 'Probe', { target: `marked${index}`, message: long });
      journal.begin('u', 'Stop', { target: `begun${index}`, message: long });
    }
    expect(collect() - before).toBeLessThan(10e6);
    expect(journal.steps('u').every(({ message = '' }) => message.length <= 500)).toBe(true);
  });

  it('K4: the journal keeps a bounded number of steps per pod', () => {
    const names: PodStepName[] = ['Image', 'CreateContainer', 'StartContainer', 'PostStart', 'Stop'];
    const step = fc.record({ name: fc.constantFrom(...names), target: fc.nat(400), ends: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 1_000 }), (steps) => {
        const bounded = new PodJournal({ clock });
        bounded.known('u');
        for (const { name, target, ends } of steps) {
          const end = bounded.begin('u', name, { target: `c${target}` });
          if (ends) end({ error: new Error('x'.repeat(10_000)) });
        }
        const kept = bounded.steps('u');
        expect(kept.length).toBeLessThanOrEqual(160);
        expect(kept.every(({ message = '' }) => message.length <= 500)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });
});

/** Frees unreferenced memory and returns the number of bytes in use. */
function collector(): () => number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
}
