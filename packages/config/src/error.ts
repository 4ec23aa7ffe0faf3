/** Where a value comes from. */
export type Origin =
  | { readonly source: 'default' }
  /** The default of a kubelet without --config, which differs from the one of a file that leaves the field out. */
  | { readonly source: 'flagDefault' }
  | { readonly source: 'file' | 'dropIn'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly source: 'flag'; readonly flag: string; readonly text: string };

/** One thing that is wrong with a configuration, or worth a warning. */
export interface ConfigIssue {
  /** The field (`authentication.webhook.enabled`, `evictionHard["memory.available"]`), the flag (`--x`), or '' for a file as a whole. */
  readonly path: string;
  readonly message: string;
  readonly origin: Origin;
}

/**
 * What kind of trouble a configuration is.
 *
 * - `flag`: the command line cannot be understood.
 * - `read`: a file or directory cannot be read.
 * - `syntax`: a file is neither YAML nor JSON, or is empty.
 * - `decode`: a value of the wrong type; with `--strict-config` an unknown field, a duplicate key or a second document.
 * - `invalid`: a value that is not allowed, alone or beside another one.
 * - `unsupported`: something that this kubelet has not got yet, and does not go on without.
 */
export type ConfigErrorCode = 'flag' | 'read' | 'syntax' | 'decode' | 'invalid' | 'unsupported';

/** Every copy and version of this package marks its errors with it. */
const BRAND = Symbol.for('@node-agent/config.ConfigError');

/**
 * Why a configuration is refused. `issues` holds everything that was found, `message` all of it as text, a line each. `code` is the kind of
 * the first.
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

  /** Whether a value is a `ConfigError`, of this copy of the package or of another one. */
  static is(value: unknown): value is ConfigError {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}

/** `kubelet.yaml:12:3: maxPods: must not be a negative number`; the origin is left out where there is none to name. */
export function formatIssue(issue: ConfigIssue): string {
  const where = formatOrigin(issue.origin);
  const subject = issue.path === where ? '' : issue.path;
  return [where, subject, issue.message].filter((part) => part !== '').join(': ');
}

/** `kubelet.yaml:12:3`, `--max-pods`, or '' for a default. */
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
