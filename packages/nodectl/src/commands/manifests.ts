import { buffer } from 'node:stream/consumers';
import { nodeFileSystem as fs, readFileBounded } from '@node-agent/host';
import { errorText, printable, printableLine } from '@node-agent/telemetry';
import { CtlError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { findPod } from '../find-pod.ts';
import { type Plan, planApply, planDelete } from '../manifests/plan.ts';
import { MAX_MANIFEST_BYTES, StaticDirectory } from '../manifests/static-directory.ts';
import type { Command } from '../options.ts';
import type { ShownNode } from '../views/node.ts';
import { type Context, podsOf } from './context.ts';

const DONE: Readonly<Record<Exclude<Plan['action'], 'refuse'>, string>> = {
  create: 'created',
  replace: 'configured',
  keep: 'unchanged',
  remove: 'deleted',
};

/** Validates a manifest and writes it into the kubelet's static pod directory. */
export async function runApply(context: Context, command: Extract<Command, { name: 'apply' }>): Promise<number> {
  const directory = await staticDirectory(context);
  const bytes = await manifestBytes(context, command.file);
  const { manifest, warnings } = directory.check(bytes, sourceName(command.file));
  for (const warning of warnings) context.terminal.stderr.write(`warning: ${printable(warning)}\n`);
  const plan = planApply(manifest, await directory.files());
  if (plan.action === 'refuse') throw new CtlError(plan.because, exitCodes.invalidManifest);
  if (!command.dryRun && plan.action !== 'keep') await directory.write(plan.file, bytes);
  for (const pod of manifest.pods) report(context, pod, plan, command.dryRun);
  return exitCodes.ok;
}

/** Removes the manifests of pods. */
export async function runDelete(context: Context, command: Extract<Command, { name: 'delete' }>): Promise<number> {
  const directory = await staticDirectory(context);
  const files = await directory.files();
  const wanted = await podsToDelete(
    context,
    command,
    directory,
    files.flatMap(({ pods }) => pods),
  );
  const plans = planDelete(wanted, files);
  for (const plan of plans) {
    if (plan.action !== 'refuse') continue;
    throw new CtlError(plan.because, plan.isMissing ? exitCodes.notFound : exitCodes.invalidManifest);
  }
  for (const plan of plans) {
    if (plan.action === 'refuse') continue;
    if (!command.dryRun) await directory.remove(plan.file);
    const pods = files.find(({ name }) => name === plan.file)?.pods ?? [];
    for (const pod of pods) report(context, pod, plan, command.dryRun);
  }
  return exitCodes.ok;
}

/**
 * Returns the full names of the pods to delete: the pods of the given manifest, or the pod of the given name among the
 * pods that manifest files define.
 */
async function podsToDelete(
  { client, options, terminal }: Context,
  { pod, file }: Extract<Command, { name: 'delete' }>,
  directory: StaticDirectory,
  defined: readonly string[],
): Promise<readonly string[]> {
  if (file !== undefined) {
    const bytes = await manifestBytes({ terminal }, file);
    return directory.check(bytes, sourceName(file)).manifest.pods;
  }
  // The kubelet may not know the pod of a new manifest yet, so the pods of all manifest files are searched.
  const pods = defined.map((key) => podOfKey(key, directory.nodeName));
  const given = pod ?? '';
  try {
    const { metadata } = findPod(pods, given, options.namespace);
    return [`${metadata.namespace}/${metadata.name}`];
  } catch (error) {
    const other = findPod(await podsOf(client), given, options.namespace);
    const message = `the pod ${other.metadata.namespace}/${other.metadata.name} does not come from the static pod directory`;
    throw new CtlError(message, exitCodes.notFound, { cause: error });
  }
}

function podOfKey(key: string, nodeName: string): Parameters<typeof findPod>[0][number] {
  const [namespace = '', name = ''] = key.split('/');
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid: '' }, spec: { containers: [], nodeName } };
}

function report({ terminal }: Context, pod: string, plan: Exclude<Plan, { action: 'refuse' }>, dryRun: boolean): void {
  const name = printableLine(pod);
  const file = printableLine(plan.file);
  terminal.stdout.write(`pod ${name} ${DONE[plan.action]} (${file})${dryRun ? ' (dry run)' : ''}\n`);
}

/**
 * Returns the static pod directory of the kubelet.
 * @throws CtlError if the kubelet runs elsewhere or reads no directory
 */
async function staticDirectory({ client }: Context): Promise<StaticDirectory> {
  if (!client.isLocal) throw new CtlError('manifests are files of the node: run this on the node, without --server');
  const configz = (await client.json('/configz')) as { readonly kubeletconfig?: { readonly staticPodPath?: string } };
  const path = configz.kubeletconfig?.staticPodPath ?? '';
  if (path === '') throw new CtlError('the configuration of this kubelet has no staticPodPath');
  const kind = await fs.stat(path).then(
    (found) => found.kind,
    (error: unknown) => {
      throw new CtlError(`open staticPodPath: ${errorText(error)}`, exitCodes.failed, { cause: error });
    },
  );
  if (kind !== 'directory') throw new CtlError(`staticPodPath ${path} is a ${kind}, not a directory`);
  const node = (await client.json('/debug/node')) as ShownNode;
  return new StaticDirectory(fs, { path, nodeName: node.metadata.name });
}

async function manifestBytes({ terminal }: Pick<Context, 'terminal'>, file: string): Promise<Uint8Array> {
  try {
    return file === '-' ? await buffer(terminal.stdin) : await readFileBounded(fs, file, MAX_MANIFEST_BYTES);
  } catch (error) {
    throw new CtlError(`read ${file}: ${errorText(error)}`, exitCodes.failed, { cause: error });
  }
}

function sourceName(file: string): string {
  return file === '-' ? 'standard input' : file;
}
