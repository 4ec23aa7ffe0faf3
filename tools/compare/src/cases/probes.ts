import type { Probe } from '@node-agent/pod-spec';
import { type Case, one, runs, SERVE, shell } from './case.ts';

const serves = (fields: object) => shell(SERVE, fields);
const fast: Probe = { periodSeconds: 1, failureThreshold: 2 };
const http = (path: string, fields: object = {}): Probe => ({ httpGet: { path, port: 8080, ...fields }, ...fast });
const exec = (script: string): Probe => ({ exec: { command: ['sh', '-c', script] }, ...fast });
const refused: Probe = { tcpSocket: { port: 8081 }, ...fast };

interface Failing {
  readonly probe: Probe;
  /** Whether the container must run an HTTP server, which must be ready at the first probe. */
  readonly ofServer?: boolean;
}

/** Ways in which a probe fails, each with its own failure message. */
const failing: Readonly<Record<string, Failing>> = {
  'http-not-found': { probe: http('/none'), ofServer: true },
  'http-unavailable': { probe: http('/cgi-bin/unavailable'), ofServer: true },
  'http-slow': { probe: http('/cgi-bin/slow'), ofServer: true },
  'https-of-http': { probe: http('/', { scheme: 'HTTPS' }), ofServer: true },
  'http-refused': { probe: http('/') },
  'tcp-refused': { probe: refused },
  'exec-slow': { probe: exec('sleep 5') },
  'grpc-refused': { probe: { grpc: { port: 5000, service: 'x' }, ...fast } },
};

/** Containers that are killed because of a failed probe and are not restarted. */
const killed: readonly Case[] = (['livenessProbe', 'startupProbe'] as const).flatMap((kind) =>
  Object.entries(failing).map(([name, { probe, ofServer = false }]) => {
    const container = { [kind]: ofServer ? { ...probe, initialDelaySeconds: 2 } : probe };
    const containers = [ofServer ? serves(container) : runs(container)];
    return {
      name: `${kind === 'livenessProbe' ? 'live' : 'startup'}-${name}`,
      spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, containers },
    };
  }),
);

/** Pod with a server and a readiness probe. */
const readinessCase = (name: string, readinessProbe: Probe): Case => ({
  name: `ready-${name}`,
  spec: { containers: [serves({ readinessProbe })] },
});
const agent = [{ name: 'User-Agent', value: 'compared' }];

/** Probes with each handler, and the effects of each result. */
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
  ...killed,
  readinessCase('http-slow', { ...http('/cgi-bin/slow'), initialDelaySeconds: 2 }),
  readinessCase('http-unavailable', { ...http('/cgi-bin/unavailable'), initialDelaySeconds: 2 }),
  readinessCase('http-away', { ...http('/cgi-bin/away'), initialDelaySeconds: 2 }),
  readinessCase('http-large', { ...http('/large'), initialDelaySeconds: 2 }),
  readinessCase('http-agent', { ...http('/cgi-bin/agent', { httpHeaders: agent }), initialDelaySeconds: 2 }),
  readinessCase('http-other-agent', { ...http('/cgi-bin/agent'), initialDelaySeconds: 2 }),
  readinessCase('grpc-of-http', { grpc: { port: 8080 }, ...fast, initialDelaySeconds: 2 }),
  readinessCase('late', { ...http('/none'), initialDelaySeconds: 600 }),
  readinessCase('often-enough', { ...http('/'), successThreshold: 3 }),
  {
    name: 'startup-then-live-fails',
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      containers: [runs({ startupProbe: exec('true'), livenessProbe: exec('echo ill; exit 1') })],
    },
  },
  // The kubelet terminates the whole pod with the pod's grace period. The grace period is longer than the default 60 s
  // before the comparison, so that the container still runs during the comparison. The grace period is shorter than the
  // time limit for deleting the pods.
  {
    name: 'startup-fails-own-grace',
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 100,
      containers: [
        shell('trap "" TERM; while true; do sleep 1; done', {
          startupProbe: { ...exec('exit 1'), terminationGracePeriodSeconds: 2 },
        }),
      ],
    },
  },
  {
    name: 'sidecar-live-fails',
    spec: {
      terminationGracePeriodSeconds: 1,
      initContainers: [runs({ name: 's1', restartPolicy: 'Always', livenessProbe: exec('exit 1') })],
      containers: [runs()],
    },
    loops: ['s1'],
  },
  {
    name: 'sidecar-startup-fails',
    spec: {
      terminationGracePeriodSeconds: 1,
      initContainers: [runs({ name: 's1', restartPolicy: 'Always', startupProbe: exec('exit 1') })],
      containers: [runs()],
    },
    loops: ['s1'],
  },
  { ...one('manifest-ready', { readinessProbe: exec('true') }), isStatic: true },
];
