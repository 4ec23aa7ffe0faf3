import { fnv32a, type JsonObject } from '@node-agent/checkpoint';
import { goJson } from '@node-agent/pod-spec';
import { dataChecksum, podText } from './checkpoint-format.ts';
import type { PodResources } from './pod-resources.ts';

/** Encoded entry of a pod in the text. */
interface Entry {
  readonly uid: string;
  text: string;
  /** Hash of the text up to and including this entry. */
  hash: number;
}

const START = '{"entries":{';
const END = '}}';
/** Maximum number of removed pods in the text, as a share of the number of existing pods. */
const REMOVED_SHARE = 0.25;

/**
 * Text of a state file, as {@link encodePods} encodes it. An update encodes only the changed pods; the JSON of the
 * other pods is reused. The JSON of a new pod is appended to the text. The file's checksum is computed again only from
 * the first changed pod on. Removed pods stay in the text until they exceed a quarter of the pods. The Go kubelet can
 * read such a file: it accepts the pods in any order, and drops pods that no longer exist.
 */
export class PodsText {
  #entries: Entry[] = [];
  #places = new Map<string, number>();
  readonly #removed = new Set<string>();
  #last: { readonly data: string; readonly checksum: number } | undefined;

  /**
   * Returns the text of the pods.
   * @param changed UIDs of the pods that were set or removed since the last call; ignored in the first call
   */
  update(pods: ReadonlyMap<string, PodResources>, changed: Iterable<string>): { readonly data: string } {
    const first = this.#last === undefined || pods.size === 0 ? this.#rebuild(pods) : this.#change(pods, changed);
    this.#hashFrom(this.#removed.size > pods.size * REMOVED_SHARE ? this.#rebuild(pods) : first);
    if (pods.size === 0) {
      const data = goJson({});
      this.#last = { data, checksum: dataChecksum({ data }) };
    } else {
      const data = `${START}${this.#entries.map(({ text }) => text).join(',')}${END}`;
      this.#last = { data, checksum: fnv32a(END, this.#entries.at(-1)?.hash) };
    }
    return { data: this.#last.data };
  }

  /** Returns {@link dataChecksum}, without computing it again for the text of the last update. */
  checksum(content: JsonObject): number {
    return this.#last !== undefined && content.data === this.#last.data ? this.#last.checksum : dataChecksum(content);
  }

  /** Updates the entries of the changed pods. @returns the index of the first entry that is new or different */
  #change(pods: ReadonlyMap<string, PodResources>, changed: Iterable<string>): number {
    let first = this.#entries.length;
    for (const uid of changed) {
      const resources = pods.get(uid);
      const place = this.#places.get(uid);
      if (resources === undefined) {
        if (place !== undefined) this.#removed.add(uid);
        continue;
      }
      this.#removed.delete(uid);
      if (place === undefined) {
        this.#append(uid, resources);
        continue;
      }
      const entry = this.#entries[place];
      const text = entryText(uid, resources);
      if (entry === undefined || entry.text === text) continue;
      entry.text = text;
      first = Math.min(first, place);
    }
    return first;
  }

  /**
   * Encodes all pods again, in upstream's order, without removed pods. @returns the index of the first entry to hash: 0
   */
  #rebuild(pods: ReadonlyMap<string, PodResources>): number {
    this.#entries = [];
    this.#places = new Map();
    this.#removed.clear();
    for (const [uid, resources] of [...pods].toSorted(([a], [b]) => (a < b ? -1 : 1))) this.#append(uid, resources);
    return 0;
  }

  #append(uid: string, resources: PodResources): void {
    this.#places.set(uid, this.#entries.length);
    this.#entries.push({ uid, text: entryText(uid, resources), hash: 0 });
  }

  #hashFrom(first: number): void {
    let hash = this.#entries[first - 1]?.hash ?? dataChecksum({ data: START });
    for (const [index, entry] of this.#entries.slice(first).entries()) {
      hash = fnv32a(first + index === 0 ? entry.text : `,${entry.text}`, hash);
      entry.hash = hash;
    }
  }
}

function entryText(uid: string, resources: PodResources): string {
  return `${goJson(uid)}:${podText(resources)}`;
}
