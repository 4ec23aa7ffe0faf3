/** A URL as it is asked for. */
export interface ManifestUrl {
  /** Without user and password: what may be logged, and what `fetch` takes. */
  readonly url: string;
  /** The value of the `Authorization` header that user and password make, as Go's HTTP client sends it. */
  readonly authorization?: string;
}

/** Takes user and password out of a URL. What is no URL is left to whoever asks for it to refuse. */
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
