import { parseQuantity as parse, type Quantity } from '@node-agent/pod-spec';

/** Parses a resource quantity; returns `undefined` if the text is not a quantity. */
export function parseQuantity(text: string): Quantity | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
