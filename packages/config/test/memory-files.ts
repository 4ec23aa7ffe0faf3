import type { ConfigReader } from '../src/drop-ins.ts';
import { ConfigError, type LoadedConfiguration, loadKubeletConfig } from '../src/index.ts';

const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

/** Returns the text of a configuration file. `body` begins on line 3. */
export function file(body: string): string {
  return HEAD + body;
}

/** Files in memory, by absolute path. */
export function memoryFiles(files: Readonly<Record<string, string>>): ConfigReader {
  const missing = (path: string): Error =>
    Object.assign(new Error(`ENOENT: no such file, '${path}'`), { code: 'ENOENT' });
  return {
    async readFile(path) {
      const text = files[path];
      if (text === undefined) throw missing(path);
      return new TextEncoder().encode(text);
    },
    async readdir(path) {
      const inside = Object.keys(files).filter((name) => name.startsWith(`${path}/`));
      if (inside.length === 0) throw missing(path);
      const kinds = new Map<string, string>();
      for (const name of inside) {
        const [entry = '', ...rest] = name.slice(path.length + 1).split('/');
        kinds.set(entry, rest.length > 0 ? 'directory' : 'file');
      }
      // The order is reversed, so that no caller relies on it.
      return [...kinds].reverse().map(([name, kind]) => ({ name, kind }));
    },
  };
}

export interface Sources {
  readonly argv?: readonly string[];
  readonly config?: string;
  /** Content of the drop-in files, by path relative to the drop-in directory. */
  readonly dropIns?: Readonly<Record<string, string>>;
  readonly cgroupVersion?: 1 | 2;
}

/** Loads a configuration from /etc/kubelet/config.yaml and /etc/kubelet/conf.d, if the test provides them. */
export function load({ argv = [], config, dropIns, cgroupVersion }: Sources): Promise<LoadedConfiguration> {
  const files: Record<string, string> = {};
  if (config !== undefined) files['/etc/kubelet/config.yaml'] = config;
  for (const [name, text] of Object.entries(dropIns ?? {})) files[`/etc/kubelet/conf.d/${name}`] = text;
  return loadKubeletConfig({
    argv: [
      ...(config === undefined ? [] : ['--config=config.yaml']),
      ...(dropIns === undefined ? [] : ['--config-dir', 'conf.d']),
      ...argv,
    ],
    fs: memoryFiles(files),
    workingDirectory: '/etc/kubelet',
    ...(cgroupVersion === undefined ? {} : { cgroupVersion }),
  });
}

/** Returns the error with which loading the configuration fails. */
export async function refusal(sources: Sources): Promise<ConfigError> {
  try {
    await load(sources);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the configuration was not refused');
}
