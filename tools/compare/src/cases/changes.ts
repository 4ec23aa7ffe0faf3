import { ABSENT_IMAGE, type Case, one, runs, shell } from './case.ts';

const patch = (body: object, ...options: readonly string[]): readonly string[] => [
  'patch',
  ...options,
  `--patch=${JSON.stringify(body)}`,
  'pod',
];
const DELETE = ['delete', '--wait=false', 'pod'];
const finalizers = ['example.com/compared'];
const debuggers = [{ ...shell('exit 5', { name: 'debugger' }), targetContainerName: 'main' }];

/** Changes and deletions of running pods. */
export const changes: readonly Case[] = [
  {
    ...one('ephemeral-container'),
    later: patch({ spec: { ephemeralContainers: debuggers } }, '--subresource=ephemeralcontainers'),
  },
  ...(['running', 'failing', 'without-target'] as const).map((how) => ({
    ...one(`ephemeral-${how}`),
    later: patch(
      {
        spec: {
          ephemeralContainers: [
            {
              ...shell(how === 'failing' ? 'exit 9' : 'sleep infinity', { name: 'debugger' }),
              ...(how !== 'without-target' && { targetContainerName: 'main' }),
            },
          ],
        },
      },
      '--subresource=ephemeralcontainers',
    ),
  })),
  {
    ...one('image-change'),
    later: patch({ spec: { containers: [{ name: 'main', image: ABSENT_IMAGE }] } }),
    loops: ['main'],
  },
  { ...one('deadline-change'), later: patch({ spec: { activeDeadlineSeconds: 5 } }) },
  { ...one('label-change'), later: patch({ metadata: { labels: { more: 'x' } } }) },
  {
    ...one('gate-opens', {}, { readinessGates: [{ conditionType: 'example.com/gate' }] }),
    later: patch(
      { status: { conditions: [{ type: 'example.com/gate', status: 'True' }] } },
      '--subresource=status',
      '--type=strategic',
    ),
  },
  { ...one('deleted'), finalizers, later: DELETE },
  {
    name: 'deleted-while-init-runs',
    spec: { initContainers: [runs({ name: 'i1' })], containers: [runs()] },
    finalizers,
    later: DELETE,
  },
  {
    name: 'deleted-while-crashing',
    spec: { containers: [shell('exit 7')] },
    finalizers,
    later: DELETE,
    loops: ['main'],
  },
  {
    name: 'deleted-stubborn',
    spec: { containers: [shell('trap "" TERM; while true; do sleep 1; done')] },
    finalizers,
    later: DELETE,
  },
  {
    name: 'deleted-two',
    spec: { containers: [runs(), shell('trap "exit 3" TERM; sleep infinity & wait', { name: 'b' })] },
    finalizers,
    later: DELETE,
  },
  {
    name: 'deleted-with-sidecar',
    spec: { initContainers: [runs({ name: 's1', restartPolicy: 'Always' })], containers: [runs()] },
    finalizers,
    later: DELETE,
  },
  { ...one('deleted-never-run', { image: ABSENT_IMAGE }), finalizers, later: DELETE },
  { name: 'deleted-done', spec: { restartPolicy: 'Never', containers: [shell('exit 0')] }, finalizers, later: DELETE },
];
