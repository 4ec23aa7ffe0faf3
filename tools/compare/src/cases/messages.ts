import type { Container } from '@node-agent/pod-spec';
import { type Case, runs, shell } from './case.ts';

const LOG: Partial<Container> = { terminationMessagePolicy: 'FallbackToLogsOnError' };
const LINES = 'i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo "line $i"; done';
const written = (bytes: number): string => `yes 0123456789 | tr -d "\\n" | head -c ${bytes} >/dev/termination-log`;
const messageCase = (name: string, script: string, container: Partial<Container> = {}): Case => ({
  name: `message-${name}`,
  spec: { restartPolicy: 'Never', containers: [shell(script, container)] },
});

/** Termination messages of containers. */
export const messages: readonly Case[] = [
  messageCase('file', 'echo -n why > /dev/termination-log; exit 2'),
  messageCase('path', 'echo -n why > /tmp/msg', { terminationMessagePath: '/tmp/msg' }),
  messageCase('file-long', `${written(8_000)}; exit 2`),
  messageCase('log', 'echo one; exit 2', LOG),
  messageCase('log-of-both-streams', 'echo one; sleep 1; echo two >&2; exit 2', LOG),
  messageCase('log-of-many-lines', `${LINES}; exit 2`, LOG),
  messageCase('log-of-one-long-line', 'yes 0123456789 | tr -d "\\n" | head -c 50000; exit 2', LOG),
  messageCase('log-of-success', 'echo one', LOG),
  messageCase('file-before-log', 'echo one; echo -n why >/dev/termination-log; exit 2', LOG),
  {
    name: 'message-of-five',
    spec: {
      restartPolicy: 'Never',
      containers: ['a', 'b', 'c', 'd', 'e'].map((name) => shell(`${written(4_096)}; exit 2`, { name })),
    },
  },
  {
    name: 'message-of-init',
    spec: {
      restartPolicy: 'Never',
      initContainers: [shell('echo -n why >/dev/termination-log; exit 2', { name: 'i1' })],
      containers: [runs()],
    },
  },
];
