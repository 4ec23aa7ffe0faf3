/** Parses a number of the command line, an integer by default. @throws Error that names the option and its bounds */
export function numberOption(
  option: string,
  text: string,
  least: number,
  most: number,
  { whole = true }: { readonly whole?: boolean } = {},
): number {
  const value = Number(text);
  if ((!whole || Number.isInteger(value)) && value >= least && value <= most && text.trim() !== '') return value;
  throw new Error(`${option}: must be a number from ${least} to ${most}, is ${JSON.stringify(text)}`);
}
