/** Parses an API timestamp to milliseconds since the Unix epoch; `NaN` if it is absent or invalid. */
export function timeOf(text: string | undefined): number {
  return text === undefined ? Number.NaN : Date.parse(text);
}
