import type { ContainerStatus } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logContainer } from '../src/endpoints/log-container.ts';
import { parseLogQuery } from '../src/endpoints/log-query.ts';
import { podWith, quiet } from './log-pods.ts';

const undecodable = { status: 400, message: '{"message": "Unable to decode query."}' };
const invalid = { status: 422, message: '{"message": "Invalid request."}' };

describe('parseLogQuery', () => {
  it.each<[string, object]>([
    ['', { options: quiet }],
    ['follow=true&previous=1&timestamps', { options: { follow: true, previous: true, timestamps: true } }],
    ['follow=false&previous=0&timestamps=FALSE', { options: quiet }],
    ['tailLines=10&limitBytes=5', { options: { ...quiet, tailLines: 10, limitBytes: 5 } }],
    ['tailLines=0', { options: { ...quiet, tailLines: 0 } }],
    ['tailLines=1&tailLines=2', { options: { ...quiet, tailLines: 1 } }],
    ['tail=7&tailLines=1', { options: { ...quiet, tailLines: 7 } }],
    ['tail=all&tailLines=1', { options: quiet }],
    ['limitBytes=1&sinceSeconds=1', { options: { ...quiet, limitBytes: 1, sinceSeconds: 1 } }],
    ['tailLines=%2B5', { options: { ...quiet, tailLines: 5 } }],
    ['sinceTime=2026-01-02T03:04:05,5Z', { options: { ...quiet, sinceTime: '2026-01-02T03:04:05.5Z' } }],
    ['tailLines=-9223372036854775808', invalid],
    ['tailLines=-9223372036854775809', undecodable],
    ['sinceSeconds=60', { options: { ...quiet, sinceSeconds: 60 } }],
    ['tailLines=9223372036854775807', { options: { ...quiet, tailLines: Number.MAX_SAFE_INTEGER } }],
    ['sinceTime=2026-01-02T03:04:05Z', { options: { ...quiet, sinceTime: '2026-01-02T03:04:05Z' } }],
    ['sinceTime=2026-01-02T03:04:05.5%2B01:00', { options: { ...quiet, sinceTime: '2026-01-02T03:04:05.5+01:00' } }],
    ['sinceTime=', { options: quiet }],
    ['sinceTime=null', { options: quiet }],
    ['container=x&pretty=true', { options: quiet }],
    ['stream=All&tailLines=1', { options: { ...quiet, tailLines: 1 } }],
    ['stream=Stdout', { options: { ...quiet, stream: 'stdout' } }],
    ['stream=Stderr', { options: { ...quiet, stream: 'stderr' } }],
    ['tailLines=ten', undecodable],
    ['tailLines=', undecodable],
    ['tailLines=9223372036854775808', undecodable],
    ['limitBytes=1.5', undecodable],
    ['sinceTime=yesterday', undecodable],
    ['sinceTime=2026-13-02T03:04:05Z', undecodable],
    ['tailLines=-1', invalid],
    ['limitBytes=0', invalid],
    ['sinceSeconds=0', invalid],
    ['sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z', invalid],
    ['stream=stdout', invalid],
    ['stream=Stdout&tailLines=1', invalid],
  ])('parseLogQuery parses the query "%s" as %j', (query, expected) => {
    expect(parseLogQuery(new URLSearchParams(query), true)).toEqual(expected);
  });

  it.each(['', 'stream=All&tailLines=1'])(
    'accepts a query for both log streams without the feature gate: "%s"',
    (query) => {
      expect(parseLogQuery(new URLSearchParams(query), false)).toHaveProperty('options');
    },
  );

  it('rejects a query for a single log stream without the feature gate', () => {
    expect(parseLogQuery(new URLSearchParams('stream=Stderr'), false)).toEqual({
      status: 400,
      message:
        'unable to return the given log stream: "Stderr". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
    });
  });

  it('W3: any log query is answered or refused, with only valid reader options', () => {
    const value = fc.oneof(fc.string(), fc.bigInt().map(String), fc.integer().map(String));
    const names = fc.constantFrom('tailLines', 'tail', 'limitBytes', 'sinceSeconds', 'sinceTime', 'stream', 'follow');
    fc.assert(
      fc.property(fc.array(fc.tuple(names, value)), (pairs) => {
        const { options } = parseLogQuery(new URLSearchParams(pairs), true);
        const { tailLines = 0, limitBytes = 0, sinceSeconds = 0 } = options ?? {};
        for (const number of [tailLines, limitBytes, sinceSeconds]) {
          expect(Number.isSafeInteger(number) && number >= 0).toBe(true);
        }
      }),
    );
  });
});

const terminated = (containerID?: string) => ({ exitCode: 1, ...(containerID !== undefined && { containerID }) });

it('a pod without a status has no log', () => {
  const { status: _status, ...pod } = podWith(undefined);
  expect(logContainer(pod, 'main', false)).toEqual({ problem: 'container "main" in pod "web" is not available' });
});

describe('logContainer', () => {
  const what = 'container "main" in pod "web"';
  it.each<[string, Partial<ContainerStatus> | undefined, boolean, object]>([
    ['no status', undefined, false, { problem: `${what} is not available` }],
    ['waiting without a reason', { state: { waiting: {} } }, false, { problem: `${what} is waiting to start: ` }],
    ['running, current log', { containerID: 'c://1', state: { running: {} } }, false, { id: 'c://1' }],
    ['terminated, current log', { state: { terminated: terminated('c://1') } }, false, { id: 'c://1' }],
    [
      'terminated without an id',
      { state: { terminated: terminated() }, lastState: { terminated: terminated('c://0') } },
      false,
      { id: 'c://0' },
    ],
    ['never run', { state: { terminated: terminated() } }, false, { problem: `${what} is terminated` }],
    [
      'waiting after a run',
      { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: terminated('c://0') } },
      false,
      { id: 'c://0' },
    ],
    [
      'waiting after a run without an id',
      { state: { waiting: {} }, lastState: { terminated: terminated('') } },
      false,
      { problem: `${what} is terminated` },
    ],
    [
      'an image that cannot be pulled',
      { state: { waiting: { reason: 'ErrImagePull' } } },
      false,
      { problem: `${what} is waiting to start: image can't be pulled` },
    ],
    [
      'an image pull in back-off',
      { state: { waiting: { reason: 'ImagePullBackOff' } } },
      false,
      { problem: `${what} is waiting to start: trying and failing to pull image` },
    ],
    [
      'waiting for ContainerCreating',
      { state: { waiting: { reason: 'ContainerCreating' } } },
      false,
      { problem: `${what} is waiting to start: ContainerCreating` },
    ],
    ['nothing known', { state: {} }, false, { problem: `${what} is waiting to start - no logs yet` }],
    ['terminated before, previous log', { lastState: { terminated: terminated('c://0') } }, true, { id: 'c://0' }],
    [
      'running for the first time, previous log',
      { containerID: 'c://1', state: { running: {} } },
      true,
      { problem: 'previous terminated container "main" in pod "web" not found' },
    ],
  ])('for a container with the status "%s", logContainer returns $3', (_name, status, previous, expected) => {
    expect(logContainer(podWith(status), 'main', previous)).toEqual(expected);
  });
});
