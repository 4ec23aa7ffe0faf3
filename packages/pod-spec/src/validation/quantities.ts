import { PodSpecError } from '../errors.ts';
import { parseQuantity, type Quantity } from '../quantity.ts';

/** Returns the parsed quantity, or the problem as text. */
export function quantityOrProblem(text: string | number): { readonly quantity?: Quantity; readonly problem?: string } {
  try {
    return { quantity: parseQuantity(text) };
  } catch (error) {
    if (error instanceof PodSpecError) return { problem: error.message };
    throw error;
  }
}
