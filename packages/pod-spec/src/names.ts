/** A rule for names. Returns the problems of a value, with the wording of `k8s.io/apimachinery/pkg/util/validation`. */
export type NameRule = (value: string) => readonly string[];

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const SEARCH_LABEL = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SEARCH = `${SEARCH_LABEL}(\\.${SEARCH_LABEL})*`;
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL_VALUE = `(${QUALIFIED})?`;
const CONFIG_KEY = '[-._a-zA-Z0-9]+';
const HEADER = '[-A-Za-z0-9]+';

const labelPattern = whole(LABEL);
const subdomainPattern = whole(SUBDOMAIN);
const searchPattern = whole(SEARCH);
const qualifiedPattern = whole(QUALIFIED);
const labelValuePattern = whole(LABEL_VALUE);
const configKeyPattern = whole(CONFIG_KEY);
const headerPattern = whole(HEADER);

function whole(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`);
}

/**
 * Reports whether a value matches. The pattern is not tried on values far beyond any length limit, because that would
 * only cost time.
 */
function matches(pattern: RegExp, value: string): boolean {
  return value.length <= 4096 && pattern.test(value);
}

/** Builds a message with examples and the pattern, as upstream's `RegexError` does. */
function patternProblem(message: string, pattern: string, ...examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

function lengthProblem(value: string, limit: number, unit: 'characters' | 'bytes'): readonly string[] {
  return Buffer.byteLength(value) > limit ? [`must be no more than ${limit} ${unit}`] : [];
}

/** Reports a name that starts like a step up the directory tree. */
function stepUpProblem(value: string): readonly string[] {
  if (value === '.' || value === '..') return [`must not be '${value}'`];
  return value.startsWith('..') ? ["must not start with '..'"] : [];
}

/** Rule for an RFC 1123 label: names of containers, volumes, namespaces. */
export const dns1123LabelProblem: NameRule = (value) => {
  const problems = lengthProblem(value, 63, 'characters');
  if (matches(labelPattern, value)) return problems;
  if (matches(subdomainPattern, value)) return [...problems, 'must not contain dots'];
  const message =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...problems, patternProblem(message, LABEL, 'my-name', '123-abc')];
};

/** Rule for an RFC 1123 subdomain: names of pods and of most other objects. */
export const dns1123SubdomainProblem: NameRule = (value) => {
  const problems = lengthProblem(value, 253, 'characters');
  if (matches(subdomainPattern, value)) return problems;
  const message =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [...problems, patternProblem(message, SUBDOMAIN, 'example.com')];
};

/** Rule for a domain of a pod's DNS search list: a subdomain that may contain underscores, as service records do. */
export const dnsSearchProblem: NameRule = (value) => {
  const problems = lengthProblem(value, 253, 'characters');
  if (matches(searchPattern, value)) return problems;
  const message =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
  return [...problems, patternProblem(message, SEARCH, 'example.com')];
};

/** Rule for a qualified name, `example.com/name` or `name`: keys of labels and annotations, names of resources. */
export const qualifiedNameProblem: NameRule = (value) => {
  const parts = value.split('/');
  const name = parts.at(-1) ?? '';
  const rule = patternProblem(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    QUALIFIED,
    'MyName',
    'my.name',
    '123-abc',
  );
  if (parts.length > 2) {
    return [`a valid label key ${rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const problems: string[] = [];
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    const wrong = prefix === '' ? ['must be non-empty'] : dns1123SubdomainProblem(prefix);
    problems.push(...wrong.map((problem) => `prefix part ${problem}`));
  }
  const length = name === '' ? ['must be non-empty'] : lengthProblem(name, 63, 'bytes');
  problems.push(...length.map((problem) => `name part ${problem}`));
  return matches(qualifiedPattern, name) ? problems : [...problems, `name part ${rule}`];
};

/** Rule for the value of a label. */
export const labelValueProblem: NameRule = (value) => {
  const problems = lengthProblem(value, 63, 'bytes');
  if (matches(labelValuePattern, value)) return problems;
  const message =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return [...problems, patternProblem(message, LABEL_VALUE, 'MyValue', 'my_value', '12345')];
};

/** Rule for the key of a ConfigMap or Secret. */
export const configKeyProblem: NameRule = (value) => {
  const problems = [...lengthProblem(value, 253, 'characters')];
  if (!matches(configKeyPattern, value)) {
    const message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    problems.push(patternProblem(message, CONFIG_KEY, 'key.name', 'KEY_NAME', 'key-name'));
  }
  return [...problems, ...stepUpProblem(value)];
};

/** Rule for the name of an environment variable, as it is the default since 1.34: printable ASCII except `=`. */
export const envNameProblem: NameRule = (value) => {
  if (value === '') return ['environment variable name must be non-empty'];
  if (/^[ -<>-~]*$/.test(value)) return [];
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
};

/** Rule for the name of a port (RFC 6335). */
export const portNameProblem: NameRule = (value) => {
  const problems = [...lengthProblem(value, 15, 'characters')];
  if (!/^[-a-z0-9]+$/.test(value)) {
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(value)) problems.push('must contain at least one letter (a-z)');
  if (value.includes('--')) problems.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
};

/** Rule for the name of an HTTP header of a probe. */
export const httpHeaderNameProblem: NameRule = (value) => {
  if (matches(headerPattern, value)) return [];
  const message = "a valid HTTP header must consist of alphanumeric characters or '-'";
  return [patternProblem(message, HEADER, 'X-Header-Name')];
};
