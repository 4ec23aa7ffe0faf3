import type { NodeFacts, PodRow, PodStory, PodsNews, UsageSample } from '../wire.ts';
import { Connection } from './connection.ts';
import { DetailsPanel } from './dom/details-panel.ts';
import { byId, setAttribute, setText } from './dom/element.ts';
import { NodePanel } from './dom/node-panel.ts';
import { PodsTable } from './dom/pods-table.ts';
import { addSample, applyPods, podCounts, selectionOf, shownPods } from './page-state.ts';
import type { ServerEvent } from './sse-reader.ts';

/** Time for which a hidden page stays connected, in ms. Afterwards the kubelet measures nothing for the page. */
const HIDDEN_MS = 60_000;

const pods = new Map<string, PodRow>();
let history: readonly UsageSample[] = [];
let story: PodStory | undefined;
/** Difference between the clocks of the node and of this machine. */
let skewMs = 0;
let selection = selectionOf(location.hash);
let hasPods = false;

const filterText = byId<HTMLInputElement>('filter');
const onlyProblems = byId<HTMLInputElement>('only-problems');
const nodePanel = new NodePanel();
const table = new PodsTable(({ namespace, name }) => select({ namespace, name }));
const details = new DetailsPanel(() => {
  const uid = selected()?.uid;
  select(undefined);
  if (uid !== undefined) table.focusPod(uid);
});
const connection = new Connection({ onEvent, onState });

function now(): number {
  return Date.now() + skewMs;
}

function selected(): PodRow | undefined {
  const wanted = selection;
  if (wanted === undefined) return undefined;
  const named = [...pods.values()].filter(
    ({ namespace, name }) => namespace === wanted.namespace && name === wanted.name,
  );
  // While a pod is replaced, two pods may have the name; the newest is shown.
  return named.toSorted((a, b) => (b.startedAtMs ?? 0) - (a.startedAtMs ?? 0))[0];
}

function select(next: typeof selection): void {
  if (next?.namespace === selection?.namespace && next?.name === selection?.name) {
    details.focus();
    return;
  }
  const target = next === undefined ? '#' : `#${encodeURIComponent(next.namespace)}/${encodeURIComponent(next.name)}`;
  window.history.pushState(null, '', target);
  apply(next);
  details.focus();
}

function apply(next: typeof selection): void {
  selection = next;
  story = undefined;
  details.reset();
  connection.open(next && `${next.namespace}/${next.name}`);
  render();
}

function onEvent({ name, data }: ServerEvent): void {
  const value: unknown = JSON.parse(data);
  switch (name) {
    case 'pods':
      applyPods(pods, value as PodsNews);
      hasPods = true;
      break;
    case 'node':
      nodePanel.showFacts(value as NodeFacts);
      break;
    case 'usage': {
      const sample = value as UsageSample;
      skewMs = sample.atMs - Date.now();
      history = addSample(history, sample);
      nodePanel.showUsage(history);
      break;
    }
    case 'story': {
      const told = value as PodStory;
      if (told.namespace !== selection?.namespace || told.name !== selection.name) break;
      // The timeline of a pod that the node no longer has stays, so that the user can read how the pod ended.
      story = !told.isKnown && story !== undefined ? { ...story, isKnown: false } : told;
      break;
    }
    default:
      return;
  }
  schedule();
}

function onState(state: 'connecting' | 'connected' | 'lost', problem?: string): void {
  const shown = byId('connection');
  setAttribute(shown, 'data-tone', state === 'connected' ? 'good' : 'bad');
  setText(shown, state === 'connected' ? 'Live' : `Not connected: ${problem ?? ''}`);
  document.body.classList.toggle('stale', state !== 'connected');
}

let isScheduled = false;
function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    render();
  });
}

function render(): void {
  const pod = selected();
  const list = shownPods(pods.values(), { text: filterText.value, onlyProblems: onlyProblems.checked });
  const none = !hasPods ? 'Loading…' : pods.size === 0 ? 'The node has no pods.' : 'No pod matches the filter.';
  table.show(list, pod?.uid, now(), none);
  table.showUsage(history.at(-1)?.pods ?? {});
  const { all, notReady } = podCounts(pods.values());
  const problems = notReady === 0 ? 'all as they should be' : `${notReady} not ready`;
  setText(byId('pod-summary'), hasPods ? `${all} pod${all === 1 ? '' : 's'}, ${problems}` : '');
  details.show({ wanted: selection, pod, story, history, nowMs: now() });
}

filterText.addEventListener('input', render);
onlyProblems.addEventListener('change', render);
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement && event.target.type !== 'checkbox';
  if (event.key === '/' && !isTyping) {
    event.preventDefault();
    filterText.focus();
  } else if (event.key === 'Escape' && isTyping && filterText.value !== '') {
    filterText.value = '';
    render();
  } else if (event.key === 'Escape' && selection !== undefined) details.close();
});
window.addEventListener('popstate', () => apply(selectionOf(location.hash)));
setInterval(schedule, 1000);

let hiding: ReturnType<typeof setTimeout> | undefined;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding);
  if (document.hidden) {
    hiding = setTimeout(() => {
      connection.close();
      onState('lost', 'paused while the page is hidden');
    }, HIDDEN_MS);
  } else if (!connection.isOpen) apply(selection);
});
apply(selection);
