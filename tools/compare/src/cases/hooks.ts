import type { Lifecycle } from '@node-agent/pod-spec';
import { type Case, one, runs, SERVE, shell } from './case.ts';

const later = ['delete', '--wait=false', 'pod'];
const kept = { later, finalizers: ['example.com/compared'] };
const hooked = (name: string, lifecycle: Lifecycle): Case => one(name, { lifecycle });
/**
 * Pod whose postStart hook fails. Its script sets no trap, because the kubelet stops the container so early that a trap
 * might not be set yet.
 */
const failed = (name: string, postStart: NonNullable<Lifecycle['postStart']>): Case => ({
  name,
  spec: { containers: [shell('sleep infinity', { lifecycle: { postStart } })], terminationGracePeriodSeconds: 1 },
  loops: ['main'],
});
const ended = (name: string, preStop: NonNullable<Lifecycle['preStop']>, serves = false): Case => ({
  name,
  spec: {
    containers: [serves ? shell(SERVE, { lifecycle: { preStop } }) : runs({ lifecycle: { preStop } })],
    terminationGracePeriodSeconds: 5,
  },
  ...kept,
});
const fails = { exec: { command: ['sh', '-c', 'echo no; exit 4'] } };

/** Lifecycle hooks with each handler, and the effects of failing hooks. */
export const hooks: readonly Case[] = [
  hooked('post-start-exec', { postStart: { exec: { command: ['sh', '-c', 'sleep 1'] } } }),
  hooked('post-start-sleep', { postStart: { sleep: { seconds: 1 } } }),
  failed('post-start-exec-fails', { exec: { command: ['sh', '-c', 'echo out; echo err >&2; exit 3'] } }),
  failed('post-start-http-refused', { httpGet: { path: '/x', port: 8080 } }),
  failed('post-start-tcp', { tcpSocket: { port: 8080 } }),
  ended('deleted-pre-stop-exec', { exec: { command: ['true'] } }),
  ended('deleted-pre-stop-exec-fails', { exec: { command: ['false'] } }),
  ended('deleted-pre-stop-exec-endless', { exec: { command: ['sleep', 'infinity'] } }),
  ended('deleted-pre-stop-http-refused', { httpGet: { path: '/x', port: 8080 } }),
  ended('deleted-pre-stop-sleep', { sleep: { seconds: 1 } }),
  ended('deleted-pre-stop-sleep-zero', { sleep: { seconds: 0 } }),
  hooked('post-start-exec-true', { postStart: { exec: { command: ['true'] } } }),
  failed('post-start-exec-no-program', { exec: { command: ['no-such-program'] } }),
  ended('deleted-pre-stop-exec-no-program', { exec: { command: ['no-such-program'] } }),
  ended('deleted-pre-stop-http', { httpGet: { path: '/', port: 8080 } }, true),
  ended('deleted-pre-stop-http-not-found', { httpGet: { path: '/none', port: 8080 } }, true),
  ended('deleted-pre-stop-https-of-http', { httpGet: { path: '/', port: 8080, scheme: 'HTTPS' } }, true),
  ended('deleted-pre-stop-tcp', { tcpSocket: { port: 8080 } }, true),
  {
    name: 'post-start-exec-fails-never',
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      containers: [runs({ lifecycle: { postStart: fails } }), runs({ name: 'b' })],
    },
  },
  {
    name: 'sidecar-hooks',
    spec: {
      initContainers: [
        runs({
          name: 's1',
          restartPolicy: 'Always',
          lifecycle: { postStart: { sleep: { seconds: 1 } }, preStop: fails },
        }),
      ],
      containers: [runs()],
      terminationGracePeriodSeconds: 5,
    },
    ...kept,
  },
  {
    name: 'live-fails-with-pre-stop',
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 5,
      containers: [
        runs({
          lifecycle: { preStop: fails },
          livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 2 },
        }),
      ],
    },
  },
  hooked('both-hooks', { postStart: { sleep: { seconds: 1 } }, preStop: { sleep: { seconds: 1 } } }),
];
