/** A time as the API has it, in milliseconds since the Unix epoch; `NaN` where it is none. */
export function timeOf(text: string | undefined): number {
  return text === undefined ? Number.NaN : Date.parse(text);
}
