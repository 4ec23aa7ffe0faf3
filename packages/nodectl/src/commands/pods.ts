import { setTimeout as sleep } from 'node:timers/promises';
import { type Pod, podState } from '@node-agent/pod-spec';
import { printable, printableLine } from '@node-agent/telemetry';
import { asCtlError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { findPod } from '../find-pod.ts';
import type { Command } from '../options.ts';
import { CLEAR } from '../terminal.ts';
import { podsChange, podsTable, sortedPods } from '../views/pods.ts';
import { type Context, podsOf, show } from './context.ts';

type PodsCommand = Extract<Command, { name: 'pods' }>;

/** Lists pods, or watches them. @returns the exit code */
export async function runPods(context: Context, command: PodsCommand): Promise<number> {
  if (command.watch) return await watch(context, command);
  const pods = await selected(context, command);
  await show(context, { kind: 'PodList', apiVersion: 'v1', items: sortedPods(pods) }, () => table(context, pods));
  return command.check && !pods.every((pod) => podState(pod).isReady) ? exitCodes.notReady : exitCodes.ok;
}

async function selected({ client, options }: Context, { pods: names }: PodsCommand): Promise<readonly Pod[]> {
  const pods = await podsOf(client);
  if (names.length > 0) return names.map((name) => findPod(pods, name, options.namespace));
  return pods.filter(({ metadata }) => options.namespace === undefined || metadata.namespace === options.namespace);
}

function table({ options, terminal }: Context, pods: readonly Pod[]): string {
  return podsTable(pods, { wide: options.output === 'wide', nowMs: terminal.nowMs() });
}

/**
 * Repeats the list until the program is interrupted: a terminal shows the whole list each time, and any other output
 * gets only the pods that have changed. While the kubelet is unreachable, for example during its restart, the watch
 * continues.
 */
async function watch(context: Context, command: PodsCommand): Promise<number> {
  const { terminal, options } = context;
  let before: readonly Pod[] | undefined;
  let problem = '';
  while (!terminal.signal.aborted) {
    try {
      const pods = await selected(context, command);
      if (terminal.stdout.isTTY) terminal.stdout.write(`${CLEAR}${table(context, pods)}`);
      else showChange(context, before, pods);
      before = pods;
      problem = '';
    } catch (error) {
      if (terminal.signal.aborted) break;
      if (before === undefined) throw error;
      const { message } = asCtlError(error);
      if (message !== problem) terminal.stderr.write(`nodectl: ${printable(message)}\n`);
      problem = message;
    }
    await sleep(options.intervalMs, undefined, { signal: terminal.signal }).catch(() => undefined);
  }
  return exitCodes.interrupted;
}

function showChange(context: Context, before: readonly Pod[] | undefined, pods: readonly Pod[]): void {
  const { changed, gone } = podsChange(before ?? [], pods);
  const { stdout } = context.terminal;
  if (before === undefined || changed.length > 0) stdout.write(table(context, changed));
  for (const key of gone) stdout.write(`${printableLine(key)} is gone\n`);
}
