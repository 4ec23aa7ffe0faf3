import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { explainNode } from '../src/explain/explain-node.ts';

test('explainNode passes an empty namespace for a pod without a namespace', () => {
  const asked: string[] = [];
  explainNode({
    getPods: () => [{ metadata: { name: 'a', uid: 'u' }, spec: { containers: [] } } as unknown as Pod],
    health: () => ({ syncloop: undefined, pleg: undefined, runtime: undefined }),
    explainEviction: () => undefined,
    explain: (namespace, name) => void asked.push(`${namespace}/${name}`),
  });
  expect(asked).toEqual(['/a']);
});

test('explainNode returns the pods that wait and the problems of the node', () => {
  const pods = ['waits', 'runs'].map((name) => ({
    ...{ apiVersion: 'v1', kind: 'Pod', spec: { containers: [] } },
    metadata: { name, namespace: 'default', uid: name },
  }));
  const explained = explainNode({
    getPods: () => pods,
    health: () => ({ syncloop: undefined, pleg: 'late', runtime: undefined }),
    explainEviction: () => ({ conditions: ['MemoryPressure'] }),
    explain: (namespace, name) => ({
      pod: { namespace, name, uid: name },
      ...{ phase: 'Pending', worker: {}, probes: [], runtime: undefined },
      waitingFor: name === 'waits' ? [{ what: 'container main: ImagePullBackOff', sinceMs: 7 }] : [],
      ...{ atMs: 0, next: [], steps: [] },
    }),
  });
  expect(explained).toEqual({
    problems: ['pleg: late'],
    pods: 2,
    eviction: { conditions: ['MemoryPressure'] },
    waiting: [
      {
        pod: { namespace: 'default', name: 'waits', uid: 'waits' },
        phase: 'Pending',
        waitingFor: [{ what: 'container main: ImagePullBackOff', sinceMs: 7 }],
      },
    ],
  });
});
