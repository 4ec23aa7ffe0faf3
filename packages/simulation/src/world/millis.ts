/** Converts a CPU quantity (`700m`, `2`) to thousandths of a CPU. */
export function millisOf(cpu: string): number {
  return cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : Number(cpu) * 1000;
}
