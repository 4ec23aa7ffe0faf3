import { type Case, one, runs, shell } from './case.ts';

const rule = (action: string, operator = 'In') => [{ action, exitCodes: { operator, values: [42] } }];
const ruled = (script: string, operator?: string) =>
  shell(script, { restartPolicy: 'Never', restartPolicyRules: rule('Restart', operator) });

/** Start, end and restart of containers. */
export const lifecycle: readonly Case[] = [
  one('plain'),
  { name: 'two', spec: { containers: [runs(), runs({ name: 'side' })] } },
  { name: 'exit-0-never', spec: { restartPolicy: 'Never', containers: [shell('exit 0')] } },
  { name: 'exit-3-never', spec: { restartPolicy: 'Never', containers: [shell('echo bad; exit 3')] } },
  {
    name: 'mixed-never',
    spec: { restartPolicy: 'Never', containers: [shell('exit 0'), shell('exit 1', { name: 'b' })] },
  },
  { name: 'exit-0-on-failure', spec: { restartPolicy: 'OnFailure', containers: [shell('exit 0')] } },
  { name: 'crash', spec: { containers: [shell('exit 7')] }, loops: ['main'] },
  {
    name: 'crash-on-failure',
    spec: { restartPolicy: 'OnFailure', containers: [shell('sleep 1; exit 9')] },
    loops: ['main'],
  },
  { name: 'done', spec: { containers: [shell('exit 0')] }, loops: ['main'] },
  {
    name: 'init',
    spec: { initContainers: [shell('true', { name: 'i1' }), shell('sleep 1', { name: 'i2' })], containers: [runs()] },
  },
  {
    name: 'init-fails-never',
    spec: {
      restartPolicy: 'Never',
      initContainers: [shell('exit 4', { name: 'i1' }), shell('true', { name: 'i2' })],
      containers: [runs()],
    },
  },
  {
    name: 'init-fails',
    spec: { initContainers: [shell('exit 4', { name: 'i1' })], containers: [runs()] },
    loops: ['i1'],
  },
  {
    name: 'restart-rule',
    spec: {
      restartPolicy: 'Never',
      containers: [ruled('sleep 1; exit 42')],
    },
    loops: ['main'],
  },
  {
    name: 'restart-rule-of-others',
    spec: { restartPolicy: 'Never', containers: [ruled('sleep 1; exit 3', 'NotIn')] },
    loops: ['main'],
  },
  {
    name: 'restart-rule-of-none',
    spec: { restartPolicy: 'Never', containers: [ruled('sleep 1; exit 3'), runs({ name: 'b' })] },
  },
  {
    name: 'restart-rule-of-init',
    spec: {
      restartPolicy: 'Never',
      volumes: [{ name: 'v', emptyDir: {} }],
      initContainers: [
        {
          ...ruled('test -e /v/x && exit 0; touch /v/x; exit 42'),
          ...{ name: 'i1', volumeMounts: [{ name: 'v', mountPath: '/v' }] },
        },
      ],
      containers: [runs()],
    },
  },
  {
    name: 'own-restart-policy-always',
    spec: { restartPolicy: 'Never', containers: [shell('sleep 1', { restartPolicy: 'Always' }), runs({ name: 'b' })] },
    loops: ['main'],
  },
  {
    name: 'own-restart-policy-never',
    spec: { containers: [shell('exit 1', { restartPolicy: 'Never' }), runs({ name: 'b' })] },
  },
  {
    name: 'restart-all',
    spec: {
      restartPolicy: 'Never',
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        shell('sleep 2; test -e /v/x && exit 0; touch /v/x; exit 42', {
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
          restartPolicy: 'Never',
          restartPolicyRules: rule('RestartAllContainers'),
        }),
        runs({ name: 'b' }),
      ],
    },
  },
  {
    name: 'own-restart-policy',
    spec: {
      restartPolicy: 'Never',
      containers: [shell('sleep 1; exit 1', { restartPolicy: 'OnFailure' }), shell('sleep 2', { name: 'b' })],
    },
    loops: ['main'],
  },
  one('deadline', {}, { activeDeadlineSeconds: 8 }),
  {
    name: 'deadline-of-init',
    spec: { activeDeadlineSeconds: 8, initContainers: [runs({ name: 'i1' })], containers: [runs()] },
  },
  one('readiness-gate', {}, { readinessGates: [{ conditionType: 'example.com/gate' }] }),
  { ...one('no-program', { command: ['no-such-program'] }), loops: ['main'] },
  one('no-program-never', { command: ['no-such-program'] }, { restartPolicy: 'Never' }),
  {
    name: 'out-of-memory',
    spec: {
      restartPolicy: 'Never',
      containers: [shell('x=aaaaaaaa; while true; do x=$x$x; done', { resources: { limits: { memory: '16Mi' } } })],
    },
  },
  { name: 'stubborn', spec: { containers: [shell('trap "" TERM; while true; do sleep 1; done')] } },
  one('terminal', { tty: true, stdin: true, stdinOnce: true, command: ['sh'] }),
];
