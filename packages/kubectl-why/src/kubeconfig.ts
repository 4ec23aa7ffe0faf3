import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { type ConnectionConfig, connectionOf, inClusterConfig } from '@node-agent/kube-client';
import { WhyError } from './errors.ts';

type Fields = Readonly<Record<string, unknown>>;
type Environment = Readonly<Record<string, string | undefined>>;

/** A parsed kubeconfig file. */
export interface KubeconfigFile {
  readonly path: string;
  readonly value: unknown;
}

/**
 * Reads the kubeconfig that kubectl would use: the given file, otherwise the files of KUBECONFIG, otherwise
 * `~/.kube/config`, otherwise a pod's service account.
 * @throws WhyError if there is none, or it lacks the context
 */
export async function connectionFor(
  asked: { readonly kubeconfig: string | undefined; readonly context: string | undefined },
  environment: Environment,
): Promise<ConnectionConfig> {
  const { files, label } = await kubeconfigFiles(asked.kubeconfig, environment);
  if (files.length === 0) {
    if (environment.KUBERNETES_SERVICE_HOST) return inClusterConfig(environment);
    throw new WhyError(`there is no kubeconfig: ${label} cannot be read`);
  }
  const merged = mergedKubeconfig(files);
  const context = asked.context || merged['current-context'];
  if (typeof context !== 'string' || context === '')
    throw new WhyError('the kubeconfig names no cluster: set a context, or give --context');
  const known = list(merged.contexts).map((entry) => String(record(entry).name));
  if (!known.includes(context)) {
    throw new WhyError(
      `the kubeconfig has no context ${JSON.stringify(context)}; it has ${known.join(', ') || 'none'}`,
    );
  }
  return connectionOf(merged, label, context);
}

async function kubeconfigFiles(
  named: string | undefined,
  environment: Environment,
): Promise<{ readonly files: readonly KubeconfigFile[]; readonly label: string }> {
  if (named !== undefined) return { files: [await readKubeconfig(named)], label: named };
  const listed = (environment.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  const paths = listed.length > 0 ? listed : [join(environment.HOME || homedir(), '.kube/config')];
  const files: KubeconfigFile[] = [];
  for (const path of paths) {
    // Missing files are ignored, as in kubectl.
    const file = await readKubeconfig(path).catch((error: unknown) => {
      if (error instanceof WhyError && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
        return undefined;
      throw error;
    });
    if (file !== undefined) files.push(file);
  }
  return { files, label: paths.join(delimiter) };
}

async function readKubeconfig(path: string): Promise<KubeconfigFile> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw unreadable(path, error instanceof Error ? error.message : String(error), error);
  }
  // JSON is parsed without loading a YAML parser.
  if (text.trimStart().startsWith('{')) {
    try {
      return { path, value: JSON.parse(text) };
    } catch {
      // YAML may start with a brace, too.
    }
  }
  const { LineCounter, parseDocument } = await import('@node-agent/yaml');
  const lineCounter = new LineCounter();
  // Pretty errors quote the file, which contains secrets.
  const document = parseDocument(text, { version: '1.1', lineCounter, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw unreadable(path, `line ${line}, column ${col}: not YAML (${error.code})`, undefined);
  }
  return { path, value: document.toJS({ maxAliasCount: 100 }) };
}

function unreadable(path: string, why: string, cause: unknown): WhyError {
  return new WhyError(`the kubeconfig ${path} cannot be read: ${why}`, { cause });
}

/**
 * Merges several kubeconfigs: for each name, and for the current context, the first file counts. Paths in a kubeconfig
 * are relative to the file that contains them. Source: `k8s.io/client-go/tools/clientcmd/loader.go`.
 */
export function mergedKubeconfig(files: readonly KubeconfigFile[]): Fields {
  const values = files.map(({ path, value }) => withWholePaths(record(value), dirname(resolve(path))));
  const all = (plural: string): readonly unknown[] => {
    const byName = new Map<unknown, unknown>();
    for (const entry of values.flatMap((value) => list(value[plural]))) {
      const { name } = record(entry);
      if (!byName.has(name)) byName.set(name, entry);
    }
    return [...byName.values()];
  };
  const current = values
    .map((value) => value['current-context'])
    .find((name) => typeof name === 'string' && name !== '');
  return {
    kind: values.find(({ kind }) => kind !== undefined)?.kind,
    'current-context': current,
    ...{ clusters: all('clusters'), contexts: all('contexts'), users: all('users') },
  };
}

function withWholePaths(config: Fields, directory: string): Fields {
  const whole = (value: unknown): unknown =>
    typeof value === 'string' && value !== '' && !isAbsolute(value) ? resolve(directory, value) : value;
  const fixed = (fields: Fields, names: readonly string[]): Fields => {
    const found = names.filter((name) => name in fields);
    return { ...fields, ...Object.fromEntries(found.map((name) => [name, whole(fields[name])])) };
  };
  const clusters = list(config.clusters).map((entry) => {
    const fields = record(entry);
    return { ...fields, cluster: fixed(record(fields.cluster), ['certificate-authority']) };
  });
  const users = list(config.users).map((entry) => {
    const fields = record(entry);
    const user = fixed(record(fields.user), ['client-certificate', 'client-key', 'tokenFile']);
    const exec = record(user.exec);
    // A command without a slash is looked up in PATH.
    const command = typeof exec.command === 'string' && exec.command.includes('/') ? whole(exec.command) : exec.command;
    return { ...fields, user: user.exec === undefined ? user : { ...user, exec: { ...exec, command } } };
  });
  return { ...config, clusters, users };
}

function record(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
