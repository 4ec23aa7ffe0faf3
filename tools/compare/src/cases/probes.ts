import type { Probe } from '@node-agent/pod-spec';
import { type Case, one, runs, shell } from './case.ts';

const SERVE =
  'mkdir -p /www/dir; echo hi > /www/index.html; httpd -p 8080 -h /www; trap "exit 0" TERM; sleep infinity & wait';
const serves = (fields: object) => shell(SERVE, fields);
const fast: Probe = { periodSeconds: 1, failureThreshold: 2 };
const http = (path: string, fields: object = {}): Probe => ({ httpGet: { path, port: 8080, ...fields }, ...fast });
const exec = (script: string): Probe => ({ exec: { command: ['sh', '-c', script] }, ...fast });
const refused: Probe = { tcpSocket: { port: 8081 }, ...fast };

/** Probes by each of their handlers, and what follows from each result. */
export const probes: readonly Case[] = [
  { name: 'ready-http', spec: { containers: [serves({ readinessProbe: http('/') })] } },
  {
    name: 'ready-http-port-name',
    spec: {
      containers: [
        serves({
          ports: [{ name: 'web', containerPort: 8080 }],
          readinessProbe: { httpGet: { path: '/', port: 'web' }, ...fast },
        }),
      ],
    },
  },
  { name: 'ready-http-not-found', spec: { containers: [serves({ readinessProbe: http('/none') })] } },
  { name: 'ready-http-redirect', spec: { containers: [serves({ readinessProbe: http('/dir') })] } },
  { name: 'ready-https-of-http', spec: { containers: [serves({ readinessProbe: http('/', { scheme: 'HTTPS' }) })] } },
  one('ready-http-refused', { readinessProbe: http('/') }),
  one('ready-http-no-port', { readinessProbe: { httpGet: { path: '/', port: 'nobody' }, ...fast } }),
  { name: 'ready-tcp', spec: { containers: [serves({ readinessProbe: { tcpSocket: { port: 8080 }, ...fast } })] } },
  one('ready-tcp-refused', { readinessProbe: refused }),
  one('ready-exec', { readinessProbe: exec('echo fine') }),
  one('ready-exec-fails', { readinessProbe: exec('echo out; echo err >&2; exit 3') }),
  one('ready-exec-slow', { readinessProbe: exec('sleep 5') }),
  one('ready-exec-no-program', { readinessProbe: { exec: { command: ['no-such-program'] }, ...fast } }),
  one('ready-exec-variables', {
    env: [{ name: 'FILE', value: '/etc/hosts' }],
    readinessProbe: { exec: { command: ['test', '-e', '$(FILE)'] }, ...fast },
  }),
  one('ready-grpc-refused', { readinessProbe: { grpc: { port: 5000 }, ...fast } }),
  { name: 'live', spec: { containers: [serves({ livenessProbe: http('/') })] } },
  {
    name: 'live-fails',
    spec: {
      containers: [runs({ livenessProbe: { ...exec('exit 1'), periodSeconds: 2 } })],
      terminationGracePeriodSeconds: 1,
    },
    loops: ['main'],
  },
  {
    name: 'live-fails-never',
    spec: {
      restartPolicy: 'Never',
      containers: [runs({ livenessProbe: exec('exit 1') })],
      terminationGracePeriodSeconds: 1,
    },
  },
  {
    name: 'live-fails-own-grace',
    spec: {
      restartPolicy: 'Never',
      containers: [
        shell('trap "" TERM; while true; do sleep 1; done', {
          livenessProbe: { ...exec('exit 1'), terminationGracePeriodSeconds: 2 },
        }),
      ],
    },
  },
  {
    name: 'startup',
    spec: {
      containers: [
        shell(`sleep 3; ${SERVE}`, {
          startupProbe: { ...http('/'), failureThreshold: 60 },
          readinessProbe: http('/'),
          livenessProbe: http('/'),
        }),
      ],
    },
  },
  {
    name: 'startup-fails-never',
    spec: {
      restartPolicy: 'Never',
      containers: [runs({ startupProbe: exec('exit 1') })],
      terminationGracePeriodSeconds: 1,
    },
  },
  {
    name: 'sidecar-startup',
    spec: {
      initContainers: [
        shell(SERVE, { name: 's1', restartPolicy: 'Always', startupProbe: { ...http('/'), failureThreshold: 60 } }),
      ],
      containers: [runs()],
    },
  },
  {
    name: 'sidecar-unready',
    spec: {
      initContainers: [runs({ name: 's1', restartPolicy: 'Always', readinessProbe: refused })],
      containers: [runs()],
    },
  },
  { ...one('manifest-ready', { readinessProbe: exec('true') }), isStatic: true },
];
