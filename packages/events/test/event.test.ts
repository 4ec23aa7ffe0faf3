import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { eventName } from '../src/event.ts';
import { EventNames } from '../src/event-names.ts';
import { makeEvent } from './builders.ts';

test('an event has the fields that client-go writes, and those of events.k8s.io', () => {
  expect(makeEvent({ name: 'web.1', atMs: Date.UTC(2026, 0, 1, 0, 0, 1, 999) })).toEqual({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'web.1', namespace: 'default' },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'web', uid: 'u1' },
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting failed container',
    source: { component: 'kubelet', host: 'node-1' },
    reportingComponent: 'kubelet',
    reportingInstance: 'node-1',
    count: 1,
    firstTimestamp: '2026-01-01T00:00:01Z',
    lastTimestamp: '2026-01-01T00:00:01Z',
  });
});

test.each([
  ['none', { kind: 'Node', name: 'node-1', uid: 'node-1' }],
  ['an empty one', { kind: 'Node', name: 'node-1', uid: 'node-1', namespace: '' }],
])('an event about an object with %s for a namespace is in the namespace default', (_name, object) => {
  expect(makeEvent({ object }).metadata.namespace).toBe('default');
});

test('an event has the annotations that the caller passes, and without any it has no annotations field', () => {
  expect(makeEvent({ annotations: { audit: 'x' } }).metadata.annotations).toEqual({ audit: 'x' });
  expect(makeEvent({ annotations: {} }).metadata).not.toHaveProperty('annotations');
});

test('an event contains the apiVersion of its object, by default v1', () => {
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: 'kube-node-lease', name: 'node-1' };
  expect(makeEvent({ object: lease }).involvedObject.apiVersion).toBe('coordination.k8s.io/v1');
  expect(makeEvent().involvedObject.apiVersion).toBe('v1');
});

describe('names of events', () => {
  test.each([
    ['web', 'web.18840ba4a3a0000'],
    ['10.0.0.1', '10.0.0.1.18840ba4a3a0000'],
    ['Web_1', 'fallback'],
    ['x'.repeat(240), 'fallback'],
    ['', 'fallback'],
  ])('the name of an event about %j is valid in the API', (objectName, expected) => {
    expect(eventName(objectName, 0x18840ba4a3a0000n, () => 'fallback')).toBe(expected);
  });

  test('event names are unique if the clock stands still or goes back', async () => {
    const clock = new FakeClock();
    const names = new EventNames({ clock, random: seededRandom(1) });
    const first = Array.from({ length: 3 }, () => names.next('web'));
    clock.jumpWallClock(-60_000);
    const second = Array.from({ length: 3 }, () => names.next('web'));
    expect(new Set([...first, ...second]).size).toBe(6);
    expect(first[0]).toBe(`web.${(BigInt(Date.UTC(2026, 0, 1)) * 1_000_000n).toString(16)}`);
  });

  test("an event gets a UUID as name if the object's name is not valid in an event name", () => {
    const names = new EventNames({ clock: new FakeClock(), random: seededRandom(1) });
    const [one, other] = [names.next('A_B'), names.next('A_B')];
    expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(other).not.toBe(one);
  });
});
