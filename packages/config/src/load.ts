import { posix } from 'node:path';
import { cleanPath } from './clean-path.ts';
import { applyDefaults, applyEvictionDefaults, FLAG_DEFAULTS } from './defaults.ts';
import { type ConfigReader, findDropIns } from './drop-ins.ts';
import { ConfigError, type ConfigIssue } from './error.ts';
import { type FeatureGates, resolveFeatureGates } from './feature-gates/feature-gates.ts';
import { type CommandLine, parseCommandLine } from './flags/command-line.ts';
import { flagValues } from './flags/flag-values.ts';
import { validateFlags } from './flags/validate-flags.ts';
import type { KubeletConfiguration, KubeletFlags } from './generated/kubelet-configuration.ts';
import { loadFile } from './load-file.ts';
import { type Draft, getIn, isObject, mergeLayer, setIn } from './merge.ts';
import { normalizeConfiguration } from './normalize.ts';
import { Origins } from './origins.ts';
import { childPath } from './path.ts';
import type { Field, Json } from './schema/field.ts';
import { configurationFields } from './schema/kubelet-configuration.ts';
import { checkFieldSupport, checkFlagSupport } from './support.ts';
import { validateConfiguration } from './validate/validate.ts';

export interface LoadOptions {
  /** The command line, without the program's name. */
  readonly argv: readonly string[];
  readonly fs: ConfigReader;
  /** What relative paths on the command line are relative to. */
  readonly workingDirectory: string;
  /** The host's cgroup version; without it, failCgroupV1 is not looked at. */
  readonly cgroupVersion?: 1 | 2;
}

/** A configuration that the kubelet can start with. */
export interface LoadedConfiguration {
  readonly configuration: KubeletConfiguration;
  readonly flags: KubeletFlags;
  /** Every flag with its value as text, those that mirror a field too: what the command line gives, else the flag's default. No secrets. */
  readonly flagValues: Readonly<Record<string, string>>;
  readonly featureGates: FeatureGates;
  /** What an operator should hear: deprecations, and what has no effect yet. Format them with `formatIssue`. */
  readonly warnings: readonly ConfigIssue[];
  /** Where each value comes from. */
  readonly origins: Pick<Origins, 'of' | 'isSet' | 'entries'>;
  /** Files of --config-dir that were not read, because their names do not end in `.conf`. */
  readonly skippedFiles: readonly string[];
}

/**
 * Builds the configuration from defaults, the --config file, the drop-ins of --config-dir and the flags; a later one
 * wins (cmd/kubelet/app/server.go).
 *
 * @throws ConfigError with everything that is wrong at the first stage at which something is
 */
export async function loadKubeletConfig(options: LoadOptions): Promise<LoadedConfiguration> {
  const commandLine = parseCommandLine(options.argv);
  const flagIssues = validateFlags(commandLine);
  if (flagIssues.length > 0) throw new ConfigError('flag', flagIssues);
  const flagSupport = checkFlagSupport(commandLine);
  if (flagSupport.refused.length > 0) throw new ConfigError('unsupported', flagSupport.refused);

  const { draft, origins, skippedFiles } = await mergeSources(commandLine, options);
  const requested = requestedGates(draft);
  const { gates, problems, warnings } = resolveFeatureGates(requested);
  const gateIssue = ({ gate, message }: { gate: string; message: string }): ConfigIssue => {
    const path = childPath('featureGates', gate);
    return { path, message, origin: origins.of(path) };
  };
  if (problems.length > 0) throw new ConfigError('invalid', problems.map(gateIssue));

  const configuration = normalizeConfiguration(draft);
  const violations = validateConfiguration(configuration, { gates, cgroupVersion: options.cgroupVersion });
  if (violations.length > 0) {
    const issues = violations.map((violation) => ({ ...violation, origin: origins.of(violation.path) }));
    throw new ConfigError('invalid', issues);
  }
  const support = checkFieldSupport(configuration, origins);
  if (support.refused.length > 0) throw new ConfigError('unsupported', support.refused);
  return {
    configuration,
    flags: commandLine.flags,
    flagValues: flagValues(commandLine),
    featureGates: gates,
    warnings: [...commandLine.warnings, ...flagSupport.warnings, ...warnings.map(gateIssue), ...support.warnings],
    origins,
    skippedFiles,
  };
}

interface Merged {
  readonly draft: Draft;
  readonly origins: Origins;
  readonly skippedFiles: readonly string[];
}

async function mergeSources(commandLine: CommandLine, options: LoadOptions): Promise<Merged> {
  const { flags } = commandLine;
  const origins = new Origins();
  const complete = (draft: Draft): Draft => withDefaults(draft, commandLine);
  let draft: Draft = {};
  if (flags.config === '') {
    draft = applyFlagDefaults(draft, origins);
  } else {
    const path = posix.resolve(options.workingDirectory, flags.config);
    const layer = await loadFile(path, 'file', options.fs);
    draft = resolvePaths(configurationFields, mergeLayer(draft, layer, origins), posix.dirname(path));
    draft = applyEvictionDefaults(draft);
  }
  // Upstream completes the file before it merges drop-ins, so what a drop-in sets does not change other defaults.
  draft = complete(draft);
  if (flags.configDir === '') return { draft: applyFlags(draft, commandLine, origins), origins, skippedFiles: [] };
  const directory = posix.resolve(options.workingDirectory, flags.configDir);
  const { files, skipped } = await findDropIns(directory, options.fs);
  for (const file of files) draft = mergeLayer(draft, await loadFile(file, 'dropIn', options.fs), origins);
  return { draft: applyFlags(complete(draft), commandLine, origins), origins, skippedFiles: skipped };
}

/** Some defaults depend on feature gates, and flags have a say in those before anything else. */
function withDefaults(draft: Draft, { settings }: CommandLine): Draft {
  const byFlag = settings.find(({ mirror }) => mirror.field.name === 'featureGates')?.value;
  const requested = requestedGates({ featureGates: { ...requestedGates(draft), ...(isObject(byFlag) ? byFlag : {}) } });
  return applyDefaults(draft, resolveFeatureGates(requested).gates);
}

function applyFlagDefaults(draft: Draft, origins: Origins): Draft {
  let result = draft;
  for (const [path, value] of FLAG_DEFAULTS) {
    result = setIn(result, path, value);
    origins.add(path.join('.'), { source: 'flagDefault' });
  }
  return result;
}

/** Flags replace what files set, lists and maps as a whole; feature gates are added to those of the files. */
function applyFlags(draft: Draft, { settings }: CommandLine, origins: Origins): Draft {
  let result = draft;
  for (const { mirror, value, text } of settings) {
    const path = mirror.path.join('.');
    const origin = { source: 'flag', flag: mirror.flag.name, text } as const;
    if (mirror.field.name === 'featureGates' && isObject(value)) {
      const before = getIn(result, mirror.path);
      result = setIn(result, mirror.path, { ...(isObject(before) ? before : {}), ...value });
      for (const gate of Object.keys(value)) origins.replace(childPath(path, gate), origin);
    } else {
      result = setIn(result, mirror.path, value);
      origins.replace(path, origin);
    }
  }
  return result;
}

function requestedGates(draft: Draft): Readonly<Record<string, boolean>> {
  const requested = draft.featureGates;
  if (!isObject(requested)) return {};
  return Object.fromEntries(
    Object.entries(requested).filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean'),
  );
}

/** Makes the relative paths of the --config file absolute, against its directory (`KubeletConfigurationPathRefs`). */
function resolvePaths(fields: readonly Field[], value: Readonly<Record<string, Json>>, directory: string): Draft {
  const members = new Map<string, Json>(Object.entries(value));
  for (const line of fields) {
    const own = value[line.name];
    if (line.isPath && typeof own === 'string' && own !== '' && !posix.isAbsolute(own)) {
      members.set(line.name, cleanPath(posix.join(directory, own)));
    } else if (line.type.kind === 'object' && isObject(own)) {
      members.set(line.name, resolvePaths(line.type.fields, own, directory));
    }
  }
  return Object.fromEntries(members);
}
