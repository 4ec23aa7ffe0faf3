/** Source of a value. */
export type Origin =
  | { readonly source: 'default' }
  /** The default of a kubelet without --config, which differs from the default of a file that omits the field. */
  | { readonly source: 'flagDefault' }
  | { readonly source: 'file' | 'dropIn'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly source: 'flag'; readonly flag: string; readonly text: string };

/** A problem of a configuration, or a warning. */
export interface ConfigIssue {
  /**
   * Path of the field (`authentication.webhook.enabled`, `evictionHard["memory.available"]`), or the flag (`--x`).
   * Empty for a problem of a whole file.
   */
  readonly path: string;
  readonly message: string;
  readonly origin: Origin;
}

/**
 * Kind of problem of a configuration.
 *
 * - `flag`: the command line cannot be parsed.
 * - `read`: a file or directory cannot be read.
 * - `syntax`: a file is neither YAML nor JSON, or is empty.
 * - `decode`: a value has the wrong type; with `--strict-config` also an unknown field, a duplicate key or a second
 *   document.
 * - `invalid`: a value is not allowed, alone or in combination with another value.
 * - `unsupported`: a requested feature is not implemented yet, and the kubelet does not start without it.
 */
export type ConfigErrorCode = 'flag' | 'read' | 'syntax' | 'decode' | 'invalid' | 'unsupported';

/** Symbol with which all copies and versions of this package mark their errors. */
const BRAND = Symbol.for('@node-agent/config.ConfigError');

/**
 * Reason why a configuration is refused. `issues` contains all problems, `message` is their text with one line each,
 * and `code` is the kind of the first problem.
 */
export class ConfigError extends Error {
  static {
    Object.defineProperty(ConfigError.prototype, BRAND, { value: true });
  }

  override readonly name = 'ConfigError';
  readonly code: ConfigErrorCode;
  readonly issues: readonly ConfigIssue[];

  constructor(code: ConfigErrorCode, issues: readonly ConfigIssue[], options?: ErrorOptions) {
    super(issues.map(formatIssue).join('\n'), options);
    this.code = code;
    this.issues = issues;
  }

  /** Returns whether a value is a `ConfigError` of this copy of the package or of another copy. */
  static is(value: unknown): value is ConfigError {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}

/**
 * Formats an issue: `kubelet.yaml:12:3: maxPods: must not be a negative number`. The origin is omitted for a default.
 */
export function formatIssue(issue: ConfigIssue): string {
  const where = formatOrigin(issue.origin);
  const subject = issue.path === where ? '' : issue.path;
  return [where, subject, issue.message].filter((part) => part !== '').join(': ');
}

/** Formats an origin: `kubelet.yaml:12:3` or `--max-pods`; empty for a default. */
export function formatOrigin(origin: Origin): string {
  switch (origin.source) {
    case 'default':
    case 'flagDefault':
      return '';
    case 'flag':
      return `--${origin.flag}`;
    case 'file':
    case 'dropIn':
      return origin.line > 0 ? `${origin.file}:${origin.line}:${origin.column}` : origin.file;
  }
}
