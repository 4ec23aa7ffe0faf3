import type { PodStory, StoryStep } from '../../wire.ts';
import { age, clockTime, duration, fullTime } from '../format.ts';
import { byId, element } from './element.ts';

/** The tab with the reasons and the timeline of a pod. */
export class StoryView {
  readonly #panel: HTMLElement = byId('panel-story');
  #shown = '';

  /**
   * Shows a timeline.
   * @param story `undefined` if the timeline is not known yet
   */
  show(story: PodStory | undefined, nowMs: number): void {
    // Ages and the lengths of steps in progress change with time.
    const isMoving =
      story?.isKnown && (story.waits.length > 0 || story.steps.some((one) => one.endedAtMs === undefined));
    const text = `${JSON.stringify(story)}${isMoving ? Math.floor(nowMs / 1000) : ''}`;
    if (text === this.#shown) return;
    this.#shown = text;
    const none = [element('p', { class: 'none' }, 'Loading…')];
    this.#panel.replaceChildren(...(story === undefined ? none : parts(story, nowMs)));
  }
}

function parts({ causes, waits, next, steps, events, isKnown }: PodStory, nowMs: number): readonly HTMLElement[] {
  const gone = isKnown ? [] : [element('p', { class: 'none' }, 'The node no longer has this pod.')];
  if (!isKnown && steps.length === 0) return gone;
  const why = !isKnown
    ? gone
    : causes.length > 0
      ? [element('ul', { class: 'causes' }, ...causes.map((cause) => element('li', {}, cause)))]
      : [element('p', { class: 'fine' }, 'The pod is in its desired state.')];
  const waiting = waits.map(({ what, sinceMs, untilMs }) => {
    const times = [
      ...(sinceMs === undefined ? [] : [`since ${clockTime(sinceMs)} (${age(nowMs - sinceMs)})`]),
      ...(untilMs === undefined ? [] : [`next attempt at ${clockTime(untilMs)}`]),
    ];
    return element(
      'li',
      {},
      what,
      element('span', { class: 'times' }, times.length === 0 ? '' : ` ${times.join(', ')}`),
    );
  });
  return [
    element('h3', {}, 'Why'),
    ...why,
    ...(waiting.length === 0 ? [] : [element('h3', {}, 'Waits for'), element('ul', { class: 'waits' }, ...waiting)]),
    ...(next.length === 0
      ? []
      : [element('h3', {}, 'Next'), element('ol', { class: 'next' }, ...next.map((step) => element('li', {}, step)))]),
    element('h3', {}, 'Timeline'),
    steps.length === 0 ? element('p', { class: 'none' }, 'No steps are known.') : timeline(steps, nowMs),
    ...(events.length === 0 ? [] : [element('h3', {}, 'Events'), eventList(events)]),
  ];
}

function timeline(steps: readonly StoryStep[], nowMs: number): HTMLElement {
  const tookMs = (step: StoryStep): number => (step.endedAtMs ?? nowMs) - step.startedAtMs;
  // A wait that lasts for days must not make the bars of all other steps invisible.
  const longestMs = Math.max(1, ...steps.filter(({ endedAtMs }) => endedAtMs !== undefined).map(tookMs));
  return element('ol', { class: 'timeline' }, ...steps.map((step) => stepItem(step, tookMs(step), longestMs)));
}

function stepItem(step: StoryStep, tookMs: number, longestMs: number): HTMLElement {
  const isRunning = step.endedAtMs === undefined;
  const tone = isRunning ? 'busy' : step.outcome === 'failed' ? 'bad' : 'good';
  const took = tookMs === 0 ? '' : `${duration(tookMs)}${isRunning ? ' so far' : ''}`;
  const bar = element('span', { class: 'took-bar', 'aria-hidden': 'true' });
  bar.style.width = `${Math.min(100, Math.max(tookMs > 0 ? 2 : 0, (100 * tookMs) / longestMs)).toFixed(1)}%`;
  const notes = [
    ...(step.outcome && step.outcome !== 'done' ? [step.outcome] : []),
    ...(step.message ? [step.message] : []),
    ...(step.times ? [`started ${step.times} times`] : []),
    ...(step.isEarlier ? ['before this kubelet started'] : []),
  ].join('; ');
  return element(
    'li',
    { 'data-tone': tone },
    element(
      'time',
      { datetime: fullTime(step.startedAtMs), title: fullTime(step.startedAtMs) },
      clockTime(step.startedAtMs),
    ),
    element('span', { class: 'step' }, step.step, ...(step.target ? [' ', element('code', {}, step.target)] : [])),
    element('span', { class: 'took' }, took),
    element('span', { class: 'track' }, bar),
    ...(notes === '' ? [] : [element('span', { class: 'notes' }, notes)]),
  );
}

function eventList(events: PodStory['events']): HTMLElement {
  const items = events.map(({ type, reason, message, count, lastAtMs }) =>
    element(
      'li',
      { 'data-tone': type === 'Warning' ? 'bad' : 'good' },
      element('time', { datetime: fullTime(lastAtMs), title: fullTime(lastAtMs) }, clockTime(lastAtMs)),
      element('span', { class: 'step' }, count > 1 ? `${reason} (${count} times)` : reason),
      element('span', { class: 'notes' }, message),
    ),
  );
  return element('ol', { class: 'timeline events' }, ...items.toReversed());
}
