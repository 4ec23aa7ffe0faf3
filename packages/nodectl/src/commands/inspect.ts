import { printable, printableLine } from '@node-agent/telemetry';
import { exitCodes } from '../exit-codes.ts';
import { findPod } from '../find-pod.ts';
import type { Command } from '../options.ts';
import { eventsTable, type NodeEvent } from '../views/events.ts';
import { imagesTable, type ListedImage } from '../views/images.ts';
import { nodeProblems, nodeText, type ShownNode } from '../views/node.ts';
import { type StatsSummary, topTable } from '../views/top.ts';
import { type Context, podPath, podsOf, show } from './context.ts';

type CommandOf<N extends Command['name']> = Extract<Command, { name: N }>;

/** Shows why a pod, or each pod of the node, is not in its wanted state. The kubelet formats the text. */
export async function runExplain(
  context: Context,
  { pod: given }: { readonly pod: string | undefined },
): Promise<number> {
  const { client, options, terminal } = context;
  const pod = given === undefined ? undefined : findPod(await podsOf(client), given, options.namespace);
  const path = pod === undefined ? '/debug/explain' : `/debug${podPath('explain', pod)}`;
  if (options.output === 'table') {
    terminal.stdout.write(printable(await client.text(`${path}?format=text`)));
  } else {
    await show(context, await client.json(`${path}?format=json`), () => '');
  }
  return exitCodes.ok;
}

/** Shows the usage of the node and its pods. */
export async function runTop(context: Context): Promise<number> {
  const summary = (await context.client.json('/stats/summary')) as StatsSummary;
  const { namespace } = context.options;
  const pods = (summary.pods ?? []).filter(({ podRef }) => namespace === undefined || podRef.namespace === namespace);
  await show(context, { ...summary, pods }, () => topTable({ ...summary, pods }));
  return exitCodes.ok;
}

/** Shows the events of the node and its pods, or of one pod. */
export async function runEvents(
  context: Context,
  { pod: given }: { readonly pod: string | undefined },
): Promise<number> {
  const { client, options, terminal } = context;
  const pod = given === undefined ? undefined : findPod(await podsOf(client), given, options.namespace);
  const list = (await client.json('/debug/events')) as { readonly items: readonly NodeEvent[] };
  const items = list.items.filter(({ involvedObject: { kind, namespace, name } }) => {
    if (pod === undefined) return options.namespace === undefined || namespace === options.namespace;
    return kind === 'Pod' && namespace === pod.metadata.namespace && name === pod.metadata.name;
  });
  await show(context, { ...list, items }, () => eventsTable(items, terminal.nowMs()));
  return exitCodes.ok;
}

/** Shows the images of the runtime. */
export async function runImages(context: Context): Promise<number> {
  const list = (await context.client.json('/debug/images')) as { readonly images: readonly ListedImage[] };
  await show(context, list, () => imagesTable(list.images));
  return exitCodes.ok;
}

/** Shows conditions, capacity, pressure and versions of the node. @returns `notReady` with --check, if there is a problem */
export async function runNode(context: Context, { check }: CommandOf<'node'>): Promise<number> {
  const node = (await context.client.json('/debug/node')) as ShownNode;
  await show(context, node, () => nodeText(node));
  const problems = check ? nodeProblems(node) : [];
  for (const problem of problems) context.terminal.stderr.write(`nodectl: ${printableLine(problem)}\n`);
  return problems.length > 0 ? exitCodes.notReady : exitCodes.ok;
}
