/** Rules of names: each gives what is wrong with a value, worded as `k8s.io/apimachinery/pkg/util/validation` does. */
type NameRule = (value: string) => readonly string[];

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;

function whole(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`);
}

const labelPattern = whole(LABEL);
const subdomainPattern = whole(SUBDOMAIN);

/** A message with examples and the pattern, as `RegexError`. */
function patternProblem(message: string, pattern: string, ...examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (${shown === '' ? '' : `e.g. ${shown}`}regex used for validation is '${pattern}')`;
}

function lengthProblem(value: string, limit: number, unit: 'characters' | 'bytes'): readonly string[] {
  return Buffer.byteLength(value) > limit ? [`must be no more than ${limit} ${unit}`] : [];
}

/** RFC 1123 label: names of containers, volumes, namespaces. */
export const dns1123LabelProblem: NameRule = (value) => {
  const problems = [...lengthProblem(value, 63, 'characters')];
  if (labelPattern.test(value)) return problems;
  if (subdomainPattern.test(value)) return [...problems, 'must not contain dots'];
  const message =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...problems, patternProblem(message, LABEL, 'my-name', '123-abc')];
};

/** RFC 1123 subdomain: names of pods and of most other objects. */
export const dns1123SubdomainProblem: NameRule = (value) => {
  const problems = [...lengthProblem(value, 253, 'characters')];
  if (subdomainPattern.test(value)) return problems;
  const message =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [...problems, patternProblem(message, SUBDOMAIN, 'example.com')];
};
