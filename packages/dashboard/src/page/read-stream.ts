/** Callbacks of {@link readStream}. */
interface StreamHandlers {
  /** Called when the response has begun. */
  readonly begun: () => void;
  readonly read: (bytes: Uint8Array) => void;
}

/** Maximum length of an error that is shown. */
const MAX_PROBLEM = 300;

/**
 * Reads a response to its end.
 * @returns the reason if the request was rejected; `undefined` at the end of the response
 * @throws if the connection is lost, or the signal is aborted
 */
export async function readStream(
  url: string,
  signal: AbortSignal,
  { begun, read }: StreamHandlers,
): Promise<string | undefined> {
  const answer = await fetch(url, { signal, cache: 'no-store', redirect: 'error' });
  if (!answer.ok) {
    const text = (await answer.text()).trim().slice(0, MAX_PROBLEM);
    return text === '' ? `error ${answer.status}` : text;
  }
  begun();
  const reader = answer.body?.getReader();
  for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read()) read(next.value);
  return undefined;
}
