/** A URL split into the parts that are used for a request. */
export interface ManifestUrl {
  /** URL without user and password: safe to log, and in the form that `fetch` accepts. */
  readonly url: string;
  /** Value of the `Authorization` header made from user and password, as Go's HTTP client sends it. */
  readonly authorization?: string;
}

/**
 * Separates user and password from a URL. Text that is not a valid URL is returned unchanged; the later request rejects
 * it.
 */
export function splitCredentials(text: string): ManifestUrl {
  const parsed = URL.parse(text);
  if (parsed === null || (parsed.username === '' && parsed.password === '')) return { url: text };
  const credentials = `${decoded(parsed.username)}:${decoded(parsed.password)}`;
  parsed.username = '';
  parsed.password = '';
  return { url: parsed.href, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
