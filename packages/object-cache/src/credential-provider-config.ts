import { nanosecondsToMs, parseDuration } from '@node-agent/config';
import { fieldsOf, listOf, onlyFields, textOf, textsOf } from './fields.ts';
import { parseRegistryUrl } from './registry-url.ts';
import { type TokenAttributes, tokenAttributesOf } from './token-attributes.ts';
import { parseYamlText } from './yaml-text.ts';

/** A plugin that supplies credentials for some registries (`kubelet.config.k8s.io`, CredentialProvider). */
export interface CredentialProvider {
  /** The name of the plugin's program in the plugin directory. */
  readonly name: string;
  /** The API version of requests and responses, for example `credentialprovider.kubelet.k8s.io/v1`. */
  readonly apiVersion: string;
  /** Globs of the registries for whose images the plugin is run. */
  readonly matchImages: readonly string[];
  /**
   * Time for which a response is cached if the plugin does not say, in milliseconds. 0 means that the response is not
   * cached.
   */
  readonly defaultCacheDurationMs: number;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Service account tokens and annotations that the plugin gets; absent if the plugin gets none. */
  readonly tokenAttributes?: TokenAttributes;
}

const KIND = 'CredentialProviderConfig';
const CONFIG_VERSIONS = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `kubelet.config.k8s.io/${version}`);
const PLUGIN_VERSIONS = ['v1', 'v1alpha1', 'v1beta1'].map((version) => `credentialprovider.kubelet.k8s.io/${version}`);
const PROVIDER_FIELDS = ['name', 'matchImages', 'defaultCacheDuration', 'apiVersion', 'args', 'env', 'tokenAttributes'];

/**
 * Parses a CredentialProviderConfig strictly, as `pkg/credentialprovider/plugin/config.go` does. A file without
 * providers is allowed, because there may be several files.
 * @throws Error naming the field
 */
export function parseCredentialProviderConfig(text: string): readonly CredentialProvider[] {
  const document = fieldsOf(parseYamlText(text), 'the document');
  const apiVersion = textOf(document, 'apiVersion', 'the document');
  if (!CONFIG_VERSIONS.includes(apiVersion)) throw new Error(`apiVersion: ${JSON.stringify(apiVersion)} is unknown`);
  const kind = textOf(document, 'kind', 'the document');
  if (kind !== KIND) throw new Error(`kind: must be ${KIND}, not ${JSON.stringify(kind)}`);
  onlyFields(document, ['apiVersion', 'kind', 'providers'], 'the document');
  const providers = listOf(document, 'providers', 'the document').map((entry, index) =>
    providerOf(entry, `providers[${index}]`),
  );
  requireUniqueNames(providers);
  return providers;
}

/** @throws Error naming the first duplicate name */
export function requireUniqueNames(providers: readonly CredentialProvider[]): void {
  const names = new Set<string>();
  for (const { name } of providers) {
    if (names.has(name))
      throw new Error(`duplicate provider name ${JSON.stringify(name)} found in configuration file(s)`);
    names.add(name);
  }
}

function providerOf(entry: unknown, where: string): CredentialProvider {
  const fields = fieldsOf(entry, where);
  onlyFields(fields, PROVIDER_FIELDS, where);
  const name = textOf(fields, 'name', where);
  const problem = nameProblem(name);
  if (problem !== undefined) throw new Error(`${where}.name: Invalid value: ${JSON.stringify(name)}: ${problem}`);
  const apiVersion = textOf(fields, 'apiVersion', where);
  if (!PLUGIN_VERSIONS.includes(apiVersion)) {
    const supported = PLUGIN_VERSIONS.map((version) => JSON.stringify(version)).join(', ');
    throw new Error(
      `${where}.apiVersion: Unsupported value: ${JSON.stringify(apiVersion)}: supported values: ${supported}`,
    );
  }
  const matchImages = textsOf(fields, 'matchImages', where);
  if (matchImages.length === 0) {
    throw new Error(`${where}.matchImages: Required value: at least 1 item in matchImages is required`);
  }
  for (const image of matchImages) {
    if (parseRegistryUrl(image) === undefined) {
      throw new Error(`${where}.matchImages: Invalid value: ${JSON.stringify(image)}: match image is invalid`);
    }
  }
  const tokenAttributes = tokenAttributesOf(fields.tokenAttributes, apiVersion, `${where}.tokenAttributes`);
  return {
    name,
    apiVersion,
    matchImages,
    defaultCacheDurationMs: cacheDurationOf(fields.defaultCacheDuration, `${where}.defaultCacheDuration`),
    ...(tokenAttributes && { tokenAttributes }),
    args: textsOf(fields, 'args', where),
    env: listOf(fields, 'env', where).map((value, index) => {
      const at = `${where}.env[${index}]`;
      const variable = fieldsOf(value, at);
      onlyFields(variable, ['name', 'value'], at);
      return { name: textOf(variable, 'name', at), value: textOf(variable, 'value', at) };
    }),
  };
}

/** Checks a name. The name becomes part of a path, so it must not leave the plugin directory (W3). */
function nameProblem(name: string): string | undefined {
  if (name === '') return 'provider name cannot be empty';
  if (name.includes('/')) return "provider name cannot contain '/'";
  if (name.includes(' ')) return 'provider name cannot contain spaces';
  if (name.includes('\0')) return 'provider name cannot contain NUL';
  return name === '.' || name === '..' ? `provider name cannot be '${name}'` : undefined;
}

function cacheDurationOf(value: unknown, where: string): number {
  if (value === undefined || value === null) throw new Error(`${where}: Required value`);
  const durationMs = goDurationMs(value);
  if (durationMs === undefined) throw new Error(`${where}: Invalid value: must be a duration such as "10m"`);
  if (durationMs < 0) throw new Error(`${where}: Invalid value: must be greater than or equal to 0`);
  return durationMs;
}

/** Returns a `metav1.Duration` in milliseconds, or `undefined` if the value is not a duration. */
export function goDurationMs(value: unknown): number | undefined {
  const nanoseconds = typeof value === 'string' ? parseDuration(value) : undefined;
  return nanoseconds === undefined ? undefined : nanosecondsToMs(nanoseconds);
}
