import { once } from 'node:events';
import { printable, printableLine } from '@node-agent/telemetry';
import { exitCodes } from '../exit-codes.ts';
import { containerName, findPod } from '../find-pod.ts';
import type { Command } from '../options.ts';
import { type Context, podPath, podsOf } from './context.ts';

/**
 * Writes a container's log while the log arrives. On a terminal, characters that draw are replaced. Any other output
 * gets the bytes of the log.
 */
export async function runLogs(
  { client, options, terminal }: Context,
  command: Extract<Command, { name: 'logs' }>,
): Promise<number> {
  const pod = findPod(await podsOf(client), command.pod, options.namespace);
  const { name, note } = containerName(pod, command.container);
  if (note !== undefined) terminal.stderr.write(`${printableLine(note)}\n`);
  const query = new URLSearchParams(command.query).toString();
  const log = await client.stream(`${podPath('containerLogs', pod, name)}${query === '' ? '' : `?${query}`}`);
  const { stdout } = terminal;
  const decoder = stdout.isTTY && !command.raw ? new TextDecoder() : undefined;
  for await (const chunk of log) {
    const shown = decoder === undefined ? chunk : terminalText(decoder.decode(chunk, { stream: true }));
    if (!stdout.write(shown)) await once(stdout, 'drain');
  }
  return exitCodes.ok;
}

/** Replaces characters that draw on a terminal, except tabs. */
export function terminalText(text: string): string {
  return text.split('\t').map(printable).join('\t');
}
