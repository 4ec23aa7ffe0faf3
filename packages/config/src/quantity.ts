import { parseQuantity as parse, type Quantity } from '@node-agent/pod-spec';

/** Reads a resource quantity; `undefined` where the text is none. */
export function parseQuantity(text: string): Quantity | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
