import { createHash } from 'node:crypto';
import { type FileSystem, isMissing } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import {
  type CredentialProvider,
  parseCredentialProviderConfig,
  requireUniqueNames,
} from './credential-provider-config.ts';
import { ObjectCacheError } from './errors.ts';

/** The configured plugins of a node. */
export interface CredentialProvidersConfig {
  readonly providers: readonly CredentialProvider[];
  /** The directory of their programs. */
  readonly binDir: string;
  /** The hash of the configuration files: `sha256:` and hex digits. */
  readonly hash: string;
}

/**
 * Reads `--image-credential-provider-config`, a file or a directory of `*.json`, `*.yaml` and `*.yml`, and checks that
 * the programs exist in `--image-credential-provider-bin-dir`. Source: `pkg/credentialprovider/plugin/config.go`.
 * @throws ObjectCacheError `InvalidProviderConfig` naming the file and the field
 */
export async function readCredentialProviders(
  { fs }: { readonly fs: Pick<FileSystem, 'readFile' | 'readdir' | 'stat'> },
  { configPath, binDir }: { readonly configPath: string; readonly binDir: string },
): Promise<CredentialProvidersConfig> {
  await inspect(fs, binDir, `plugin binary directory ${binDir} did not exist`);
  const { kind } = await inspect(fs, configPath, `unable to access path ${JSON.stringify(configPath)}: no such file`);
  const files = kind === 'directory' ? await configFiles(fs, configPath) : [configPath];
  const hash = createHash('sha256');
  const providers: CredentialProvider[] = [];
  for (const file of files) {
    try {
      const data = await fs.readFile(file);
      const length = Buffer.alloc(8);
      length.writeBigUInt64BE(BigInt(data.byteLength));
      hash.update(length).update(data);
      providers.push(...parseCredentialProviderConfig(new TextDecoder('utf-8', { fatal: true }).decode(data)));
      requireUniqueNames(providers);
    } catch (cause) {
      throw invalid(`error decoding config ${JSON.stringify(file)}: ${errorText(cause)}`, cause);
    }
  }
  if (providers.length === 0) {
    const required = 'providers: Required value: at least 1 item in plugins is required';
    throw invalid(`failed to validate credential provider config ${JSON.stringify(configPath)}: ${required}`);
  }
  for (const { name } of providers) {
    const path = `${binDir}/${name}`;
    const program = await inspect(fs, path, `plugin binary executable ${path} did not exist`);
    if (program.kind !== 'file' || (program.mode & 0o111) === 0) {
      throw invalid(`error inspecting binary executable ${path}: it is not an executable file`);
    }
  }
  return { providers, binDir, hash: `sha256:${hash.digest('hex')}` };
}

async function configFiles(fs: Pick<FileSystem, 'readdir'>, directory: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (const { name, kind } of await fs.readdir(directory)) {
    if (kind !== 'directory' && /\.(json|yaml|yml)$/.test(name)) names.push(name);
  }
  if (names.length === 0) throw invalid(`no configuration files found in directory ${JSON.stringify(directory)}`);
  return names.sort().map((name) => `${directory}/${name}`);
}

async function inspect(
  fs: Pick<FileSystem, 'stat'>,
  path: string,
  whenMissing: string,
): ReturnType<FileSystem['stat']> {
  try {
    return await fs.stat(path);
  } catch (cause) {
    throw invalid(isMissing(cause) ? whenMissing : `error inspecting ${path}: ${errorText(cause)}`, cause);
  }
}

function invalid(message: string, cause?: unknown): ObjectCacheError {
  return new ObjectCacheError('InvalidProviderConfig', message, cause === undefined ? undefined : { cause });
}
