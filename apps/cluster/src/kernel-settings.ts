import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Settings of the whole machine that a cluster changes, by path below `/proc/sys`, with the values that it sets. The
 * kubelet sets all but the last setting; the last one permits packets to other networks.
 */
export const CHANGED_SETTINGS: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
  'net/ipv4/ip_forward': '1',
};

/** Returns the current values of settings. A setting that cannot be read is absent. */
export async function readSettings(names: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const values: [string, string][] = [];
  for (const name of names) {
    const text = await readFile(join('/proc/sys', name), 'utf8').catch(() => undefined);
    if (text !== undefined) values.push([name, text.trim()]);
  }
  return Object.fromEntries(values);
}

/**
 * Returns the settings to restore: those that differ from the value before the start and still have the value that a
 * cluster sets. A setting with any other value was changed by another program in the meantime and is not restored.
 */
export function settingsToRestore(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): readonly (readonly [string, string])[] {
  return Object.entries(before).filter(
    ([name, value]) => now[name] !== undefined && now[name] !== value && now[name] === CHANGED_SETTINGS[name],
  );
}

/** Restores the settings that a cluster changed. */
export async function restoreSettings(before: Readonly<Record<string, string>>): Promise<void> {
  const now = await readSettings(Object.keys(before));
  for (const [name, value] of settingsToRestore(before, now)) await writeFile(join('/proc/sys', name), value);
}
