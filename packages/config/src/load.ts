import { posix } from 'node:path';
import { cleanPath } from './clean-path.ts';
import { readClusterDns } from './cluster-dns.ts';
import type { Layer } from './decode.ts';
import { applyDefaults, applyEvictionDefaults, FLAG_DEFAULTS } from './defaults.ts';
import { shorten } from './document/node.ts';
import { type ConfigReader, findDropIns } from './drop-ins.ts';
import { ConfigError, type ConfigErrorCode, type ConfigIssue } from './error.ts';
import { type FeatureGates, resolveFeatureGates } from './feature-gates/feature-gates.ts';
import { type CommandLine, readCommandLine } from './flags/command-line.ts';
import { flagValues } from './flags/flag-values.ts';
import { validateFlags } from './flags/validate-flags.ts';
import type { KubeletConfiguration, KubeletFlags } from './generated/kubelet-configuration.ts';
import { type LenientIssue, lenientWarning, loadFile } from './load-file.ts';
import { type Draft, getIn, isObject, mergeLayer, setIn } from './merge.ts';
import { normalizeConfiguration } from './normalize.ts';
import { Origins } from './origins.ts';
import { childPath } from './path.ts';
import type { Field, Json } from './schema/field.ts';
import { configurationFields } from './schema/kubelet-configuration.ts';
import { checkFieldSupport, checkFlagSupport } from './support.ts';
import { validateConfiguration } from './validate/validate.ts';

export interface LoadOptions {
  /** The command line without the program's name. */
  readonly argv: readonly string[];
  readonly fs: ConfigReader;
  /** Directory to which relative paths on the command line refer. */
  readonly workingDirectory: string;
  /** Cgroup version of the host. If absent, failCgroupV1 is not checked. */
  readonly cgroupVersion?: 1 | 2;
}

/** A configuration with which the kubelet can start. */
export interface LoadedConfiguration {
  readonly configuration: KubeletConfiguration;
  readonly flags: KubeletFlags;
  /**
   * Every flag with its value as text, including flags that set fields: the value from the command line, otherwise the
   * flag's default. Contains no secrets.
   */
  readonly flagValues: Readonly<Record<string, string>>;
  readonly featureGates: FeatureGates;
  /**
   * Warnings for the operator: deprecations, unknown fields and similar mistakes, and settings without effect.
   * `formatIssue` formats a warning.
   */
  readonly warnings: readonly ConfigIssue[];
  /** Source of each value. */
  readonly origins: Pick<Origins, 'of' | 'isSet' | 'entries'>;
  /** Files of --config-dir that were not read because their names do not end in `.conf`. */
  readonly skippedFiles: readonly string[];
}

/**
 * Builds the configuration from defaults, the --config file, the drop-ins of --config-dir and the flags; later sources
 * take precedence (cmd/kubelet/app/server.go). Collects the problems of all stages: each stage checks everything that
 * the earlier stages could read.
 *
 * @throws ConfigError with all problems; its code is that of the first stage that found one
 */
export async function loadKubeletConfig(options: LoadOptions): Promise<LoadedConfiguration> {
  const problems = new Problems();
  const { issues: argumentIssues, unreadProperties, command, ...commandLine } = readCommandLine(options.argv);
  problems.add('flag', [...argumentIssues, ...validateFlags(commandLine)]);
  const flagSupport = checkFlagSupport(commandLine);
  problems.add('unsupported', flagSupport.refused);
  // A command such as `kubelet help` is refused before any file is read, because problems of files would only distract.
  if (command !== undefined) throw problems.error();

  const { draft, origins, skippedFiles, lenient, isWhole } = await mergeSources(commandLine, options, problems);
  // If a file could not be read, its values are missing, so the defaults in their place are not validated.
  if (!isWhole) throw problems.error();
  const { gates, problems: gateProblems, warnings } = resolveFeatureGates(requestedGates(draft));
  const gateIssue = ({ gate, message }: { gate: string; message: string }): ConfigIssue => {
    const path = childPath('featureGates', gate);
    return { path, message, origin: origins.of(path) };
  };
  problems.add('invalid', gateProblems.map(gateIssue));

  const normal = normalizeConfiguration(draft);
  const { addresses, invalid: notAddresses } = readClusterDns(normal.clusterDNS);
  const configuration = { ...normal, clusterDNS: addresses };
  const violations = validateConfiguration(
    configuration,
    { gates, cgroupVersion: options.cgroupVersion },
    new Set([...problems.undecodedProperties(), ...unreadProperties]),
  );
  problems.add(
    'invalid',
    violations.map((violation) => ({ ...violation, origin: origins.of(violation.path) })),
  );
  const support = checkFieldSupport(configuration, origins);
  const violated = new Set(violations.map(({ path }) => path));
  problems.add(
    'unsupported',
    support.refused.filter(({ path }) => !violated.has(path)),
  );
  const dnsIssues = notAddresses.map(({ index, text }): LenientIssue => {
    const path = childPath('clusterDNS', index);
    const message = `must be an IP address, not ${JSON.stringify(shorten(text))}`;
    return { path, message, origin: origins.of(path), consequence: 'ignored' };
  });
  if (commandLine.flags.strictConfig) problems.add('invalid', dnsIssues);
  if (problems.any) throw problems.error();
  return {
    configuration,
    flags: commandLine.flags,
    flagValues: flagValues(commandLine),
    featureGates: gates,
    warnings: [
      ...commandLine.warnings,
      ...flagSupport.warnings,
      ...[...lenient, ...dnsIssues].map(lenientWarning),
      ...warnings.map(gateIssue),
      ...support.warnings,
    ],
    origins,
    skippedFiles,
  };
}

/** The problems of all stages, in the order in which they were found. */
class Problems {
  readonly #issues: ConfigIssue[] = [];
  readonly #undecoded = new Set<string>();
  #code: ConfigErrorCode | undefined;
  #cause: unknown;

  get any(): boolean {
    return this.#code !== undefined;
  }

  add(code: ConfigErrorCode, issues: readonly ConfigIssue[]): void {
    if (issues.length === 0) return;
    this.#code ??= code;
    this.#issues.push(...issues);
    if (code !== 'decode') return;
    for (const { path } of issues) this.#undecoded.add(/^\w*/.exec(path)?.[0] ?? '');
  }

  addError({ code, issues, cause }: ConfigError): void {
    this.#cause ??= cause;
    this.add(code, issues);
  }

  /** Returns the top-level properties in which a value could not be decoded. */
  undecodedProperties(): readonly string[] {
    return configurationFields.filter(({ name }) => this.#undecoded.has(name)).map(({ property }) => property);
  }

  error(): ConfigError {
    const options = this.#cause === undefined ? undefined : { cause: this.#cause };
    return new ConfigError(this.#code ?? 'invalid', this.#issues, options);
  }
}

interface Merged {
  readonly draft: Draft;
  readonly origins: Origins;
  readonly skippedFiles: readonly string[];
  readonly lenient: readonly LenientIssue[];
  /** Whether all files could be read and contained a configuration. */
  readonly isWhole: boolean;
}

async function mergeSources(commandLine: CommandLine, options: LoadOptions, problems: Problems): Promise<Merged> {
  const { flags } = commandLine;
  const origins = new Origins();
  const lenient: LenientIssue[] = [];
  let isWhole = true;
  /**
   * Runs a step and returns its result. If the step fails with a `ConfigError`, records the error as a problem and
   * returns `undefined`.
   */
  const collect = async <T>(step: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await step();
    } catch (error) {
      if (!ConfigError.is(error)) throw error;
      problems.addError(error);
      isWhole = false;
      return undefined;
    }
  };
  const read = async (path: string, source: 'file' | 'dropIn'): Promise<Layer | undefined> => {
    const loaded = await collect(() => loadFile(path, source, options.fs));
    if (loaded === undefined) return undefined;
    problems.add('decode', loaded.layer.issues);
    if (loaded.layer.issues.some((issue) => HEAD_PATHS.includes(issue.path))) isWhole = false;
    if (flags.strictConfig) problems.add('decode', loaded.lenient.map(withoutConsequence));
    else lenient.push(...loaded.lenient);
    return loaded.layer;
  };
  const complete = (draft: Draft): Draft => withDefaults(draft, commandLine);
  let draft: Draft = {};
  if (flags.config === '') {
    draft = applyFlagDefaults(draft, origins);
  } else {
    const path = posix.resolve(options.workingDirectory, flags.config);
    const layer = await read(path, 'file');
    if (layer !== undefined) {
      draft = resolvePaths(configurationFields, mergeLayer(draft, layer, origins), posix.dirname(path));
    }
    draft = applyEvictionDefaults(draft);
  }
  // Upstream fills in the defaults of the file before it merges drop-ins, so values in drop-ins do not change other
  // defaults.
  draft = complete(draft);
  if (flags.configDir === '') {
    return { draft: applyFlags(draft, commandLine, origins), origins, skippedFiles: [], lenient, isWhole };
  }
  const directory = posix.resolve(options.workingDirectory, flags.configDir);
  const { files, skipped } = (await collect(() => findDropIns(directory, options.fs))) ?? { files: [], skipped: [] };
  for (const file of files) {
    const layer = await read(file, 'dropIn');
    if (layer !== undefined) draft = mergeLayer(draft, layer, origins);
  }
  return { draft: applyFlags(complete(draft), commandLine, origins), origins, skippedFiles: skipped, lenient, isWhole };
}

/** Paths of issues which show that the file has another kind or version. */
const HEAD_PATHS: readonly string[] = ['', 'apiVersion', 'kind'];

function withoutConsequence({ consequence: _, ...issue }: LenientIssue): ConfigIssue {
  return issue;
}

/**
 * Fills in the defaults of a configuration. Some defaults depend on feature gates, so the gates set by flags are
 * applied first.
 */
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

/**
 * Flags replace the values of files, including whole lists and maps. Feature gates given as flags are merged with the
 * feature gates of the files.
 */
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

/**
 * Makes the relative paths of the --config file absolute, relative to its directory (`KubeletConfigurationPathRefs`).
 */
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
