/**
 * Returns whether a client prefers plain text to JSON, by its `Accept` header. A client without a preference gets JSON.
 */
export function prefersText(accept: string | undefined): boolean {
  const weights = new Map<string, number>();
  for (const part of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    const weight = quality === undefined ? 1 : Number(quality);
    if (!weights.has(type) && weight > 0) weights.set(type, weight);
  }
  const of = (...types: readonly string[]): number => Math.max(0, ...types.map((type) => weights.get(type) ?? 0));
  return of('text/plain', 'text/*') > of('application/json', 'application/*');
}

/** Returns whether a client accepts gzip, by its `Accept-Encoding` header. */
export function takesGzip(acceptEncoding: string | undefined): boolean {
  return (acceptEncoding ?? '').split(',').some((part) => {
    const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    return coding === 'gzip' && !isRefused;
  });
}
