/** Replacement for the value of a secret (the marker that CSI's own sanitizer writes). */
const STRIPPED = '***stripped***';
/** Minimum length of a secret value that is replaced, because shorter values occur in ordinary text. */
const MIN_SECRET_LENGTH = 4;
/** Longest text of a driver that is kept, in UTF-16 code units. */
const MAX_DETAILS = 2048;

/** Returns a driver's text without the values of the secrets that the call sent, cut to 2 KiB. */
export function publicText(text: string, secrets: Readonly<Record<string, string>>): string {
  // The longest values are replaced first, because one value may contain another.
  const values = Object.values(secrets)
    .filter((value) => value.length >= MIN_SECRET_LENGTH)
    .sort((a, b) => b.length - a.length);
  const stripped = values.reduce((found, value) => found.replaceAll(value, STRIPPED), text);
  return stripped.length <= MAX_DETAILS ? stripped : `${stripped.slice(0, MAX_DETAILS)}...`;
}
