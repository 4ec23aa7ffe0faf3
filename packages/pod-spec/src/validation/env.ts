import type { EnvFromSource, EnvVar, Volume } from '../api.ts';
import { type FieldError, invalid, notFound, required } from '../field-error.ts';
import { configKeyProblem, dns1123LabelProblem, dns1123SubdomainProblem, envNameProblem } from '../names.ts';
import { validateFieldSelector, validateResourceSelector } from './field-selectors.ts';
import { named, noStepUp, type Problems, requiredName } from './rules.ts';

type EnvSource = NonNullable<EnvVar['valueFrom']>;

/** Validates a container's environment variables. */
export function* validateEnv(variables: readonly EnvVar[], volumes: readonly Volume[], path: string): Problems {
  for (const [index, variable] of variables.entries()) {
    const at = `${path}[${index}]`;
    yield* requiredName(`${at}.name`, variable.name, envNameProblem);
    if (!variable.valueFrom) continue;
    yield* validateSource(variable.valueFrom, `${at}.valueFrom`, volumes);
    const problem = countProblem(variable, `${at}.valueFrom`);
    if (problem !== undefined) yield problem;
  }
}

function countProblem({ value, valueFrom }: EnvVar, path: string): FieldError | undefined {
  const count = Object.values(valueFrom ?? {}).filter((source) => source).length;
  if (count === 0) {
    const kinds =
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
    return invalid(path, '', kinds);
  }
  if (value) return invalid(path, '', 'may not be specified when `value` is not empty');
  return count > 1 ? invalid(path, '', 'may not have more than one field specified at a time') : undefined;
}

function* validateSource(source: EnvSource, path: string, volumes: readonly Volume[]): Problems {
  const { fieldRef, fileKeyRef, resourceFieldRef } = source;
  if (fieldRef) yield* validateFieldSelector(fieldRef, `${path}.fieldRef`, 'env');
  if (resourceFieldRef) yield* validateResourceSelector(resourceFieldRef, `${path}.resourceFieldRef`, 'env');
  for (const kind of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const selector = source[kind];
    if (!selector) continue;
    yield* named(`${path}.${kind}.name`, selector.name ?? '', dns1123SubdomainProblem);
    yield* requiredName(`${path}.${kind}.key`, selector.key, configKeyProblem);
  }
  if (fileKeyRef) yield* validateFileKey(fileKeyRef, `${path}.fileKeyRef`, volumes);
}

function* validateFileKey(
  selector: NonNullable<EnvSource['fileKeyRef']>,
  path: string,
  volumes: readonly Volume[],
): Problems {
  yield* requiredName(`${path}.key`, selector.key, envNameProblem);
  yield* requiredName(`${path}.volumeName`, selector.volumeName, dns1123LabelProblem);
  if (!selector.path) yield required(`${path}.path`);
  else yield* noStepUp(`${path}.path`, selector.path);
  const volume = volumes.find((one) => one.name === selector.volumeName);
  if (volume === undefined) yield notFound(`${path}.volumeName`, selector.volumeName);
  else if (!volume.emptyDir) {
    yield invalid(`${path}.volumeName`, selector.volumeName, 'referenced volume must be of type emptyDir');
  }
}

/** Validates environment variables taken from whole ConfigMaps and Secrets. */
export function* validateEnvFrom(sources: readonly EnvFromSource[], path: string): Problems {
  for (const [index, source] of sources.entries()) {
    const at = `${path}[${index}]`;
    if (source.prefix) yield* named(`${at}.prefix`, source.prefix, envNameProblem);
    const kinds = (['configMapRef', 'secretRef'] as const).filter((kind) => source[kind]);
    for (const kind of kinds) yield* requiredName(`${at}.${kind}.name`, source[kind]?.name, dns1123SubdomainProblem);
    if (kinds.length === 0) yield invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`');
    if (kinds.length > 1) yield invalid(path, '', 'may not have more than one field specified at a time');
  }
}
