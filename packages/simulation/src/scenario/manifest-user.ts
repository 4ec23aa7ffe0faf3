import type { Draft } from './draft.ts';
import { changePod, generatePod } from './generate-pod.ts';
import { manifestOf } from './manifest.ts';
import type { PodPlan } from './plans.ts';

const BROKEN = [
  '{"apiVersion": "v1", "kind": "Po',
  'apiVersion: v1\nkind: Pod\nmetadata: {}\n',
  '',
  '- 1\n- 2\n',
  '\t:',
] as const;

/** Duration of an outage that is longer than all other faults and the maximum back-off after them. */
const LONG_AWAY_MS = 600_000;

/** Draws random changes of manifests. Tracks the manifests' content, so that the changes make sense. */
export class ManifestUser {
  readonly #draft: Draft;
  readonly #files = new Map<string, PodPlan>();
  readonly #gone: PodPlan[] = [];
  #served: readonly PodPlan[] = [];

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  addPod(atMs: number): void {
    const { dice } = this.#draft;
    const name = `p${dice.between(1, 5)}`;
    const pod = generatePod(dice, name, `${name}-u${this.#draft.newNumber()}`);
    this.#write(atMs, `${name}.yaml`, pod);
  }

  /** Changes a pod's spec under the same UID, or gives the pod's name a new UID. */
  changePod(atMs: number): void {
    const entry = this.#anyFileOrNew(atMs);
    if (entry === undefined) return;
    const [file, pod] = entry;
    const { dice } = this.#draft;
    const next = dice.chance(0.5) ? changePod(pod) : { ...pod, uid: `${pod.name}-u${this.#draft.newNumber()}` };
    this.#write(atMs, file, next);
  }

  removePod(atMs: number): void {
    const entry = this.#anyFileOrNew(atMs);
    if (entry === undefined) return;
    const [file, pod] = entry;
    this.#files.delete(file);
    this.#gone.push(pod);
    this.#draft.do({ atMs, do: 'removeManifest', file });
    const { dice } = this.#draft;
    // A pod with the same UID is added again, immediately or later.
    if (dice.chance(0.3)) this.#write(atMs + dice.between(0, 15_000), file, pod);
  }

  /** Restores a previously removed pod in another file. */
  replacePod(atMs: number): void {
    const pod = this.#gone.pop();
    if (pod === undefined) {
      this.changePod(atMs);
      return;
    }
    this.#write(atMs, this.#draft.dice.chance(0.5) ? `${pod.name}.yaml` : `z-${pod.name}.yaml`, pod);
  }

  /**
   * Changes the UID of a manifest while no kubelet is running, and makes the API server unreachable from then on. The
   * next kubelet knows the old pod only from the runtime, and the old pod blocks the new one.
   */
  changeUidUnseen(atMs: number): void {
    const entry = this.#anyFileOrNew(atMs);
    if (entry === undefined) return;
    const [file, pod] = entry;
    const { dice } = this.#draft;
    const downMs = dice.between(200, 5000);
    this.#draft.do({ atMs, do: 'apiAway', forMs: LONG_AWAY_MS });
    this.#draft.do({ atMs, do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs });
    this.#write(atMs + dice.between(1, downMs - 100), file, {
      ...pod,
      uid: `${pod.name}-u${this.#draft.newNumber()}`,
    });
  }

  breakManifest(atMs: number): void {
    const entry = this.#anyFileOrNew(atMs);
    if (entry === undefined) return;
    const [file, pod] = entry;
    const { dice } = this.#draft;
    const next = dice.chance(0.7) ? pod : changePod(pod);
    if (dice.chance(0.3)) {
      // The manifest file contains only a part of the manifest for some time, as while it is being written.
      const whole = manifestOf(next);
      const content = whole.slice(0, dice.between(0, whole.length - 1));
      this.#draft.do({ atMs, do: 'breakManifest', file, content });
      this.#write(atMs + dice.between(1, 3000), file, next);
      return;
    }
    this.#draft.do({ atMs, do: 'breakManifest', file, content: dice.pick(BROKEN) });
    this.#write(atMs + dice.between(1000, 30_000), file, next);
  }

  /** Changes the pods that the manifest URL serves. */
  serve(atMs: number): void {
    const { dice } = this.#draft;
    const kept = this.#served.filter(() => dice.chance(0.6)).map((pod) => (dice.chance(0.2) ? changePod(pod) : pod));
    const name = `h${dice.between(1, 3)}`;
    const names = new Set(kept.map((pod) => pod.name));
    const more = names.has(name) ? [] : [generatePod(dice, name, `${name}-u${this.#draft.newNumber()}`)];
    this.#served = [...kept, ...more];
    this.#draft.do({ atMs, do: 'serve', pods: this.#served });
  }

  serveError(atMs: number): void {
    const { dice } = this.#draft;
    this.#draft.do({ atMs, do: 'serveError', status: dice.pick([500, 404]), forMs: dice.between(1, 20_000) });
  }

  removeAll(atMs: number): void {
    for (const file of this.#files.keys()) this.#draft.do({ atMs, do: 'removeManifest', file });
    this.#files.clear();
    if (this.#draft.node.http) this.#draft.do({ atMs, do: 'serve', pods: [] });
  }

  /** Returns one of the existing manifests and its pod. */
  anyFile(): readonly [string, PodPlan] | undefined {
    const entries = [...this.#files];
    return entries.length === 0 ? undefined : entries[this.#draft.dice.between(0, entries.length - 1)];
  }

  /** Like {@link anyFile}, but adds a pod first if there is no manifest yet. */
  #anyFileOrNew(atMs: number): readonly [string, PodPlan] | undefined {
    const entry = this.anyFile();
    if (entry === undefined) this.addPod(atMs);
    return entry;
  }

  #write(atMs: number, file: string, pod: PodPlan): void {
    this.#files.set(file, pod);
    this.#draft.do({ atMs, do: 'writeManifest', file, pod });
  }
}
