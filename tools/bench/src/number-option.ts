/** Reads a number of the command line, a whole one by default. @throws Error naming the option and its bounds */
export function numberOption(
  option: string,
  text: string,
  least: number,
  most: number,
  { whole = true }: { readonly whole?: boolean } = {},
): number {
  const value = Number(text);
  if ((!whole || Number.isInteger(value)) && value >= least && value <= most && text.trim() !== '') return value;
  throw new Error(`${option}: ${JSON.stringify(text)} is not a number from ${least} to ${most}`);
}
