const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const labelPattern = new RegExp(`^${LABEL}$`);
const subdomainPattern = new RegExp(`^${SUBDOMAIN}$`);

/** The longest DNS name that resolvers take in a search list. */
export const MAX_SUBDOMAIN_LENGTH = 253;

/** What keeps `name` from being an RFC 1123 label (63 characters); nothing where it is one. */
export function dnsLabelProblems(name: string): readonly string[] {
  return problems(
    name,
    63,
    labelPattern,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
      `with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL}')`,
  );
}

/** What keeps `name` from being an RFC 1123 subdomain (253 characters); nothing where it is one. */
export function dnsSubdomainProblems(name: string): readonly string[] {
  return problems(
    name,
    MAX_SUBDOMAIN_LENGTH,
    subdomainPattern,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " +
      `and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`,
  );
}

function problems(name: string, maxLength: number, pattern: RegExp, message: string): readonly string[] {
  return [
    ...(name.length > maxLength ? [`must be no more than ${maxLength} bytes`] : []),
    ...(pattern.test(name) ? [] : [message]),
  ];
}
