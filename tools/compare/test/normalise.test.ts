import { describe, expect, test } from 'vitest';
import { normalise, normaliseText } from '../src/normalise.ts';

const ID = '0123456789abcdef'.repeat(4);
const UID = '3bdd2f0a-98e4-4f2e-8a3d-1c2b3a4d5e6f';
const names = { 'go-side': '<side>', '/tmp/x/go-side': '<directory>' };

describe('normalise', () => {
  test.each([
    ['at 2026-11-21T08:57:21.759Z', 'at <time>'],
    [`containerd://${ID}`, 'containerd://<id>'],
    [`pod web_go-side(${UID})`, 'pod web_<side>(<uid>)'],
    ['web-go-side_13d4b9e54721671169794fefcb86a013', 'web-<side>_<uid>'],
    ['/kubepods/besteffort/podb1f98fa230a1011a6eaa261fd64c3884/x', '/kubepods/besteffort/pod<uid>/x'],
    ['/tmp/x/go-side/k/pods', '<directory>/k/pods'],
    ['eth0 has 10.231.7.12', 'eth0 has <ip>'],
    ['10.0.0.1 is a service', '10.0.0.1 is a service'],
    ['kube-api-access-zt9xf', 'kube-api-access'],
    ['unmounted volumes=[kube-api-access-zt9xf v], unattached', 'unmounted volumes=[v], unattached'],
    ['unmounted volumes=[kube-api-access-zt9xf], unattached', 'unmounted volumes=[kube-api-access], unattached'],
    ['64 is the max, 78 characters requested', '64 is the max, <count> characters requested'],
    ['back-off 1m20s restarting failed container', 'back-off <delay> restarting failed container'],
    ['/dev/loop12', '/dev/loop<n>'],
    ['devtmpfs /loop3 devtmpfs', 'devtmpfs /loop<n> devtmpfs'],
    ['loop3 is a name', 'loop3 is a name'],
    ['/r/pods/p/containers/main/44f63d3f', '/r/pods/p/containers/main/<hash>'],
  ])('normaliseText turns %s into %s', (text, expected) => expect(normaliseText(text, names)).toBe(expected));

  test('normalise replaces the minor numbers of loop devices, but not of other devices', () => {
    const devices = [
      { major: 7, minor: 3 },
      { major: 8, minor: 3 },
    ];
    expect(normalise(devices, names)).toEqual([
      { major: 7, minor: '<minor>' },
      { major: 8, minor: 3 },
    ]);
  });

  test('normalise replaces times and UIDs in fields and keys, and sorts unordered lists', () => {
    const document = { startedAt: '2026', uid: '', [`k_${UID}`]: 1, env: ['B=go-side', 'A=1'], args: ['b', 'a'] };
    expect(normalise(document, names)).toEqual({
      startedAt: '<startedAt>',
      uid: '',
      'k_<uid>': 1,
      env: ['A=1', 'B=<side>'],
      args: ['b', 'a'],
    });
  });
});
