import { decodeConfiguration, type Layer } from './decode.ts';
import type { Leniency } from './document/parse-document.ts';
import { parseDocument } from './document/parse-document.ts';
import { type ConfigReader, readError } from './drop-ins.ts';
import { ConfigError, type ConfigIssue } from './error.ts';

/** Maximum number of issues of one kind that are listed for one file. */
const MAX_LISTED = 50;

/** One configuration file after reading. */
export interface LoadedFile {
  readonly layer: Layer;
  /** Mistakes that upstream accepts: unknown fields, duplicate keys, documents after the first. */
  readonly lenient: readonly LenientIssue[];
}

/** An issue that is a warning by default and an error with `--strict-config`. */
export interface LenientIssue extends ConfigIssue {
  /** Description of how the value is handled if the file is not rejected. */
  readonly consequence: string;
}

/** Converts an issue to a warning that says how the value is handled. */
export function lenientWarning({ consequence, message, ...issue }: LenientIssue): ConfigIssue {
  return { ...issue, message: `${message} (${consequence})` };
}

/**
 * Reads one configuration file. Values of the wrong type are added to the issues of the returned layer.
 *
 * @throws ConfigError `read` or `syntax`
 */
export async function loadFile(
  path: string,
  source: 'file' | 'dropIn',
  fs: Pick<ConfigReader, 'readFile'>,
): Promise<LoadedFile> {
  let bytes: Uint8Array;
  try {
    bytes = await fs.readFile(path);
  } catch (cause) {
    throw readError(path, cause);
  }
  const parsed = parseDocument(bytes);
  const issueOf = ({ message, at }: Pick<Leniency, 'message' | 'at'>): ConfigIssue => ({
    path: '',
    message,
    origin: { source, file: path, ...at },
  });
  if (parsed.problems !== undefined) throw new ConfigError('syntax', atMost(parsed.problems.map(issueOf)));
  const layer = decodeConfiguration(parsed.root, path, source);
  const lenient = [
    ...parsed.leniencies.map((leniency) => ({ ...issueOf(leniency), consequence: leniency.consequence })),
    ...layer.unknown.map((issue) => ({ ...issue, consequence: 'ignored' })),
  ];
  return { layer: { ...layer, issues: atMost(layer.issues) }, lenient: atMost(lenient) };
}

/** Returns the first issues of a list; the last one says how many more there are. */
function atMost<T extends ConfigIssue>(issues: readonly T[]): readonly T[] {
  const last = issues[MAX_LISTED - 1];
  if (issues.length <= MAX_LISTED || last === undefined) return issues;
  const more = issues.length - MAX_LISTED;
  return [...issues.slice(0, MAX_LISTED - 1), { ...last, message: `${last.message}; ${more} more like this` }];
}
