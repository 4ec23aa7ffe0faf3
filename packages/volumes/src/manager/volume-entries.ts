import type { ReadyVolume, VolumeEntry, VolumeKey } from './volume-entry.ts';

/** Registry of the volumes of all pods. */
export class VolumeEntries {
  readonly #entries = new Map<string, VolumeEntry>();
  readonly #byPod = new Map<string, Map<string, VolumeEntry>>();

  /** Returns a copy of the list of all volumes. */
  all(): readonly VolumeEntry[] {
    return [...this.#entries.values()];
  }

  /** Returns a pod's volumes without copying the list. A caller that may remove volumes must copy the list. */
  of(podUid: string): Iterable<VolumeEntry> {
    return this.#byPod.get(podUid)?.values() ?? [];
  }

  /** Returns the volume with this key, and creates the volume if there is none. */
  getOrAdd(key: VolumeKey, create: () => VolumeEntry): VolumeEntry {
    const { podUid } = key;
    const name = nameOf(key);
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const entry = create();
    this.#entries.set(name, entry);
    const ofPod = this.#byPod.get(podUid) ?? new Map<string, VolumeEntry>();
    this.#byPod.set(podUid, ofPod.set(name, entry));
    return entry;
  }

  remove(entry: VolumeEntry): void {
    const name = nameOf(entry);
    if (this.#entries.get(name) !== entry) return;
    this.#entries.delete(name);
    const ofPod = this.#byPod.get(entry.podUid);
    ofPod?.delete(name);
    if (ofPod?.size === 0) this.#byPod.delete(entry.podUid);
  }

  /** Returns a ready volume by the name that the pod uses. */
  mounted(podUid: string, name: string): ReadyVolume | undefined {
    let found: ReadyVolume | undefined;
    for (const entry of this.of(podUid)) found = readyAs(entry, name) ?? found;
    return found;
  }

  /** Returns all ready volumes of a pod, by name. */
  allMounted(podUid: string): ReadonlyMap<string, ReadyVolume> {
    const ready = new Map<string, ReadyVolume>();
    for (const entry of this.of(podUid)) {
      for (const name of entry.wantedAs.keys()) {
        const volume = readyAs(entry, name);
        if (volume !== undefined) ready.set(name, volume);
      }
    }
    return ready;
  }
}

/** Returns a ready volume if its pod uses it under this name; otherwise `undefined`. */
export function readyAs({ wantedAs, wanted, mounted }: VolumeEntry, name: string): ReadyVolume | undefined {
  if (!wanted || mounted === undefined || !wantedAs.has(name)) return undefined;
  return { ...mounted, readOnly: wantedAs.get(name) === true || mounted.readOnly };
}

/** Returns a key that is unique among the volumes of all pods. */
export function nameOf({ podUid, id }: VolumeKey): string {
  return `${podUid}/${id}`;
}
