import type { Nonsense } from './fault.ts';

/** A state that CRI does not define. */
const UNKNOWN_STATE = 77;

const IDS = new Set(['id', 'containerId', 'podSandboxId']);

/** Returns a copy of `message` that is made unusable as `nonsense` specifies, including nested messages. */
export function spoil(message: object, nonsense: Nonsense): object {
  if (nonsense === 'empty') return {};
  return spoilValue(message, nonsense) as object;
}

function spoilValue(value: unknown, nonsense: Nonsense): unknown {
  if (Array.isArray(value)) return value.map((item) => spoilValue(item, nonsense));
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  const spoiled: Record<string, unknown> = {};
  for (const key in value) spoiled[key] = spoilField(key, value[key as keyof typeof value], nonsense);
  return spoiled;
}

function spoilField(key: string, value: unknown, nonsense: Nonsense): unknown {
  if (nonsense === 'noMetadata' && key === 'metadata') return null;
  if (nonsense === 'unknownState' && key === 'state' && typeof value === 'number') return UNKNOWN_STATE;
  if (nonsense === 'noIds' && IDS.has(key) && typeof value === 'string') return '';
  if (nonsense === 'noLabels' && (key === 'labels' || key === 'annotations')) return {};
  return spoilValue(value, nonsense);
}
