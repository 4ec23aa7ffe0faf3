import { printableLine } from '@node-agent/telemetry';
import { exitCodes } from '../exit-codes.ts';
import { findPod } from '../find-pod.ts';
import type { Command } from '../options.ts';
import { FORWARD_PROTOCOLS, forwardPorts } from '../streams/port-forward.ts';
import { type Context, podPath, podsOf } from './context.ts';

/** Forwards local ports to a pod until the program is interrupted. */
export async function runPortForward(
  { client, options, terminal }: Context,
  { pod: given, ...forward }: Extract<Command, { name: 'port-forward' }>,
): Promise<number> {
  const pod = findPod(await podsOf(client), given, options.namespace);
  const upgraded = await client.upgrade(podPath('portForward', pod), FORWARD_PROTOCOLS);
  const { stdout, stderr, signal } = terminal;
  await forwardPorts(
    upgraded,
    forward,
    {
      onListening: ({ address, port }, remote) => stdout.write(`Forwarding from ${address}:${port} -> ${remote}\n`),
      onProblem: (message) => stderr.write(`nodectl: ${printableLine(message.trimEnd())}\n`),
    },
    signal,
  );
  return exitCodes.interrupted;
}
