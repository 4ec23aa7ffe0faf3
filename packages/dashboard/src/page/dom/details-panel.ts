import type { PodRow, PodStory, UsageSample } from '../../wire.ts';
import { podTone } from '../tone.ts';
import { ContainersView } from './containers-view.ts';
import { byId, element, setAttribute, setText } from './element.ts';
import { LogView } from './log-view.ts';
import { StoryView } from './story-view.ts';

const TABS = ['story', 'containers', 'log'] as const;
type Tab = (typeof TABS)[number];

/** Content of the details panel. */
interface Details {
  /** The pod that the user chose. */
  readonly wanted: { readonly namespace: string; readonly name: string } | undefined;
  /** Row of the pod; absent if the node does not have the pod. */
  readonly pod: PodRow | undefined;
  readonly story: PodStory | undefined;
  readonly history: readonly UsageSample[];
  readonly nowMs: number;
}

/** The panel with the details of the chosen pod, in three tabs. */
export class DetailsPanel {
  readonly #panel: HTMLElement = byId('details');
  readonly #title: HTMLElement = byId('pod-name');
  readonly #status: HTMLElement = byId('pod-status');
  readonly #select: HTMLSelectElement = byId<HTMLSelectElement>('log-container');
  readonly #previous: HTMLInputElement = byId<HTMLInputElement>('log-previous');
  readonly #storyView = new StoryView();
  readonly #log = new LogView();
  readonly #containers: ContainersView;
  readonly #onClose: () => void;
  #tab: Tab = 'story';
  #details: Details | undefined;
  #lastPod: PodRow | undefined;

  constructor(onClose: () => void) {
    this.#onClose = onClose;
    this.#containers = new ContainersView((container) => {
      this.#select.value = container;
      this.#previous.checked = false;
      this.#open('log');
      byId('tab-log').focus();
    });
    byId('close').addEventListener('click', onClose);
    for (const tab of TABS) {
      const button = byId(`tab-${tab}`);
      button.addEventListener('click', () => this.#open(tab));
      button.addEventListener('keydown', (event) => this.#onKey(event, tab));
    }
    this.#select.addEventListener('change', () => this.#render());
    this.#previous.addEventListener('change', () => this.#render());
    this.#open('story');
  }

  close(): void {
    this.#onClose();
  }

  /** Forgets the pod that was shown. */
  reset(): void {
    this.#lastPod = undefined;
    this.#previous.checked = false;
    this.#select.replaceChildren();
    this.#log.close();
  }

  /** Sets the focus to the title, so that a screen reader reads on from there. */
  focus(): void {
    if (!this.#panel.hidden) this.#title.focus();
  }

  show(details: Details): void {
    this.#details = details;
    this.#render();
  }

  #render(): void {
    const { wanted, pod, story, history, nowMs } = this.#details ?? {};
    const isOpen = wanted !== undefined;
    this.#panel.hidden = !isOpen;
    document.body.classList.toggle('with-details', isOpen);
    if (wanted === undefined || history === undefined || nowMs === undefined) return;
    setText(this.#title, wanted.name);
    setText(byId('pod-namespace'), wanted.namespace);
    // The last state of a pod that the node no longer has stays on the panel, so that the user can read how the pod
    // ended.
    const shown = pod ?? this.#lastPod;
    this.#lastPod = shown;
    const isGone = pod === undefined && shown !== undefined;
    setText(
      this.#status,
      shown === undefined ? 'not on this node' : isGone ? 'Gone' : `${shown.status}, ${shown.ready} ready`,
    );
    setAttribute(this.#status, 'data-tone', shown === undefined || isGone ? 'done' : podTone(shown));
    if (this.#tab === 'story') this.#storyView.show(story, nowMs);
    if (shown === undefined) return;
    this.#showContainers(shown);
    if (this.#tab === 'containers') {
      this.#containers.show(shown, nowMs);
      this.#containers.showUsage(history, shown.uid);
    }
    if (this.#tab === 'log' && this.#select.value !== '') {
      const container = shown.containers.find(({ name }) => name === this.#select.value);
      this.#previous.disabled = container?.hasPrevious !== true && !this.#previous.checked;
      const { namespace, name } = wanted;
      const instance = container?.state === 'running' ? `${shown.uid} ${container.restarts}` : undefined;
      const source = { namespace, name, container: this.#select.value, previous: this.#previous.checked };
      this.#log.open(source, instance);
    }
  }

  #showContainers({ containers }: PodRow): void {
    const names = containers.map(({ name }) => name);
    if ([...this.#select.options].map(({ value }) => value).join('\n') === names.join('\n')) return;
    const chosen = this.#select.value;
    this.#select.replaceChildren(...names.map((name) => element('option', { value: name }, name)));
    const main = containers.find(({ kind }) => kind === 'main')?.name ?? '';
    this.#select.value = names.includes(chosen) ? chosen : main;
  }

  #open(tab: Tab): void {
    this.#tab = tab;
    for (const other of TABS) {
      const button = byId(`tab-${other}`);
      setAttribute(button, 'aria-selected', String(other === tab));
      setAttribute(button, 'tabindex', other === tab ? '0' : '-1');
      byId(`panel-${other}`).hidden = other !== tab;
    }
    if (tab !== 'log') this.#log.close();
    this.#render();
  }

  #onKey(event: KeyboardEvent, tab: Tab): void {
    const index = TABS.indexOf(tab);
    const steps: Readonly<Record<string, number>> = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: -1 };
    const target = Object.hasOwn(steps, event.key) ? steps[event.key] : undefined;
    if (target === undefined) return;
    event.preventDefault();
    const next = TABS.at(target % TABS.length) ?? 'story';
    this.#open(next);
    byId(`tab-${next}`).focus();
  }
}
