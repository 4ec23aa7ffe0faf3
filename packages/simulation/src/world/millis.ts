/** So much CPU in thousandths of one: `700m`, `2`. */
export function millisOf(cpu: string): number {
  return cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : Number(cpu) * 1000;
}
